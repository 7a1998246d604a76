"""Help pages, their examples, and completion in the shell."""

import json
import re
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from stablepred import __version__
from stablepred.cli import COMMANDS, app, load_command

NAMES = list(COMMANDS)
EXAMPLES = {name: load_command(name).help.split("Example: ")[1].strip() for name in NAMES}


def invoke(*arguments, **env):
    return CliRunner().invoke(
        app, arguments, prog_name="stablepred", env={"COLUMNS": "80", "TERM": "dumb"} | env
    )


def completions(words):
    """What the shell is offered after these words."""
    env = {
        "_STABLEPRED_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    return invoke(**env).output.split()


def test_the_version_is_shown():
    assert invoke("--version").output == f"{__version__}\n"


def test_every_command_of_the_product_is_there():
    required = {"demo", "fit", "predict", "evaluate", "stress", "weights", "report", "reproduce"}
    assert required | {"datasets"} <= set(NAMES)
    page = invoke("--help").output
    for name, line in COMMANDS.items():
        assert f"│ {name} " in page
        assert len(line) < 90
        assert line.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_shows_an_example(name):
    result = invoke(name, "--help")
    assert result.exit_code == 0
    page = re.sub(r"\s+", " ", result.output)
    assert f"Example: stablepred {name}" in page


@pytest.mark.parametrize("name", NAMES)
def test_every_example_can_be_parsed(name):
    program, command, *arguments = shlex.split(EXAMPLES[name])
    assert (program, command) == ("stablepred", name)
    load_command(name).make_context(name, list(arguments))


HELP = """
import contextlib, io, json, sys
from stablepred.cli import COMMANDS, app
def pages(*commands):
    for command in commands:
        with contextlib.redirect_stdout(io.StringIO()) as page, contextlib.suppress(SystemExit):
            app([*command, "--help"])
        assert "Usage: " in page.getvalue()
    return sorted(sys.modules)
print(json.dumps([pages([]), pages(["fit"]), pages(*([name] for name in COMMANDS))]))
"""


def test_help_pages_load_nothing_that_is_slow_to_load():
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    listed, one, every = map(set, json.loads(done.stdout))
    assert not {"torch", "matplotlib", "pandas", "sklearn", "pyarrow", "jinja2"} & every
    commands = {f"stablepred.cli.{name}" for name in COMMANDS}
    assert not commands & listed
    assert commands & one == {"stablepred.cli.fit"}
    assert commands <= every


def test_commands_are_completed():
    assert completions("stablepred ") == NAMES
    assert completions("stablepred ev") == ["evaluate"]


def test_options_and_their_values_are_completed():
    assert completions("stablepred fit --tar") == ["--target"]
    assert completions("stablepred fit --method d") == ["dlr", "dgbr", "dgbr-paper"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_is_given_a_script(shell):
    result = invoke(_STABLEPRED_COMPLETE=f"source_{shell}")
    assert result.exit_code == 0
    assert "_STABLEPRED_COMPLETE=complete_" in result.output


def test_completion_can_be_installed():
    assert "--install-completion" in invoke("--help").output


def test_an_unknown_command_is_bad_usage():
    result = invoke("conjure")
    assert result.exit_code == 2
    assert "conjure" in result.output
