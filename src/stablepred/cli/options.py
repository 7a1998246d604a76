"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Method = Literal["stable", "lr", "dlr", "gbr", "dgbr", "dgbr-paper"]

TableArgument = Annotated[
    Path, typer.Argument(help="CSV (also .gz) or Parquet file; - is standard input.")
]
TablesArgument = Annotated[
    list[Path], typer.Argument(help="CSV or Parquet files with the outcome.")
]
ModelArgument = Annotated[Path, typer.Argument(help="Folder that 'stablepred fit' wrote.")]
TargetOption = Annotated[
    str | None, typer.Option(help="Outcome column, if its name is not that of training.")
]
ByOption = Annotated[
    str | None, typer.Option(help="Column whose values are the environments; numbers are cut.")
]
BinsOption = Annotated[
    str | None,
    typer.Option(
        help="Edges for a numeric --by column, for example 20,30,40,50,100 for [20, 30) and so on; "
        "without them quartiles."
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out; repeat it, or give several with commas."),
]
OverlapOption = Annotated[
    float | None,
    typer.Option(help="Leave out features with a share of ones under this, or over 1 - this."),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an older output.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show a traceback on errors.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A parameter of the method, for example --set max_iter=200; repeat it."
    ),
]
