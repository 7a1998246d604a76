"""Help pages, their examples, and completion in the shell."""

import re
import shlex

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from stablepred.cli import COMMANDS, app

NAMES = [command.__name__ for command in COMMANDS]


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


def test_every_command_of_the_product_is_there():
    required = {"demo", "fit", "predict", "evaluate", "stress", "weights", "report", "reproduce"}
    assert required | {"datasets"} <= set(NAMES)
    page = invoke("--help").output
    for name in NAMES:
        assert f"│ {name} " in page


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_shows_an_example(name):
    result = invoke(name, "--help")
    assert result.exit_code == 0
    page = re.sub(r"\s+", " ", result.output)
    assert f"Example: stablepred {name}" in page


@pytest.mark.parametrize("example", COMMANDS.values(), ids=NAMES)
def test_every_example_can_be_parsed(example):
    program, name, *arguments = shlex.split(example)
    assert program == "stablepred"
    command = get_command(app).commands[name]
    command.make_context(name, list(arguments))


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
