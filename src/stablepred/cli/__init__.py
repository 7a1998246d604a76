"""The command line: each command parses its arguments and delegates."""

import typer

from stablepred.cli.demo import demo
from stablepred.cli.reproduce import reproduce

app = typer.Typer(
    name="stablepred",
    help="Stable prediction across unknown environments.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def main() -> None:
    """Stable prediction across unknown environments."""


app.command()(demo)
app.command()(reproduce)
