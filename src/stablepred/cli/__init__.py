"""The command line: a table of commands; each is imported from its file when it is called."""

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from stablepred._version import __version__

# Every command in one line; the module of its name has the function of its name.
COMMANDS = {
    "demo": "Train all methods in one environment and compare them in nine others.",
    "fit": "Train a model on one table, for use in other environments as well.",
    "predict": "Predict for new rows: one line per row, in order.",
    "evaluate": "Measure the error in each environment, its average and its spread.",
    "compare": "Train many methods on one table and compare their errors in other environments.",
    "stress": "Find what breaks a model: let each feature follow or oppose the outcome.",
    "weights": "Find weights under which every feature is balanced against all others.",
    "report": "Write an HTML page on how stable a model is, and what breaks it.",
    "reproduce": "Run the paper's experiments and other studies, from a clone of the repository.",
    "datasets": "List the real tables that can be loaded by name.",
}
LOOKS: dict[str, Any] = {"rich_markup_mode": "markdown", "pretty_exceptions_enable": False}


def load_command(name: str) -> Any:
    from stablepred.cli.screen import guard

    single = typer.Typer(add_completion=False, **LOOKS)
    function = getattr(import_module(f"stablepred.cli.{name}"), name)
    single.command(name)(guard(function))
    return typer.main.get_command(single)


class Commands(TyperGroup):
    """Lists commands from the table, and imports the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, entry, rest = super().resolve_command(ctx, args)
        return name, entry and load_command(str(name)), rest


app = typer.Typer(name="stablepred", cls=Commands, no_args_is_help=True, **LOOKS)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print it."),
    ] = False,
) -> None:
    """Stable prediction across unknown environments.

    Exit codes: 0 success, 1 a check failed, 2 bad usage or input, 141 the output was closed early.
    """


for _name, _line in COMMANDS.items():
    app.command(_name, help=_line)(lambda: None)
