"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

STANDARD = Path("-")  # standard input or output

Method = Literal["stable", "lr", "dlr", "gbr", "dgbr", "dgbr-paper"]

Table = Annotated[Path, typer.Argument(help="CSV (also .gz) or Parquet file; - is standard input.")]
Tables = Annotated[list[Path], typer.Argument(help="CSV or Parquet files with the outcome.")]
Model = Annotated[Path, typer.Argument(help="Folder that 'stablepred fit' wrote.")]
Target = Annotated[
    str | None, typer.Option(help="Outcome column, if its name differs from that in training.")
]
By = Annotated[
    str | None,
    typer.Option(help="Column whose values are the environments; numbers are cut into bins."),
]
Against = Annotated[
    Path | None,
    typer.Option(
        help="A table to compare with, such as that of training: how much of the change in loss "
        "comes from X moving, and how much from Y given X changing."
    ),
]
Bins = Annotated[
    str | None,
    typer.Option(
        help="Edges for a numeric --by column, for example 20,30,40,50,100 for [20, 30) and so on; "
        "without them quartiles."
    ),
]
MinRows = Annotated[
    int,
    typer.Option(min=1, help="With --by, leave out environments with fewer rows."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out; may be repeated, or several separated by commas."),
]
Overlap = Annotated[
    float | None,
    typer.Option(help="Leave out features whose share of ones is below this, or above 1 - this."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything that is random.")]
_CSV = typer.Option("--output", "-o", help="CSV file to write; - is standard output.")
CSV = Annotated[Path, _CSV]
OptionalCSV = Annotated[Path | None, _CSV]
Force = Annotated[bool, typer.Option("--force", help="Replace an older output.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback on errors.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A parameter of the method, for example --set max_iter=200; may be repeated."
    ),
]


class UsageError(Exception):
    """The options do not go together, or not with what is there; the message says what to do."""
