"""The command line: each command parses its arguments and delegates."""

from collections.abc import Callable
from typing import Any

import typer

from stablepred.cli.datasets import datasets
from stablepred.cli.demo import demo
from stablepred.cli.evaluate import evaluate
from stablepred.cli.fit import fit
from stablepred.cli.predict import predict
from stablepred.cli.report import report
from stablepred.cli.reproduce import reproduce
from stablepred.cli.stress import stress
from stablepred.cli.weights import weights

# Every command with an example of its use.
COMMANDS: dict[Callable[..., Any], str] = {
    demo: "stablepred demo --rate 0.65",
    fit: "stablepred fit train.csv --target bought --drop customer_id -o model",
    predict: "stablepred predict model new.csv -o predictions.csv",
    evaluate: "stablepred evaluate model test.csv --by age --bins 20,30,40,50,100",
    stress: "stablepred stress model train.csv",
    weights: "stablepred weights train.csv --target bought -o weights.csv",
    report: "stablepred report model test.csv --by region --train train.csv -o report.html",
    reproduce: "stablepred reproduce tuning-study --seeds 3",
    datasets: "stablepred datasets",
}

app = typer.Typer(
    name="stablepred",
    help="Stable prediction across unknown environments.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def main() -> None:
    """Stable prediction across unknown environments.

    Exit codes: 0 fine, 1 a check failed, 2 bad usage or input.
    """


for _command, _example in COMMANDS.items():
    app.command(epilog=f"Example: {_example}")(_command)
