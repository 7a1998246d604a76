"""``stablepred weights``: balancing weights alone, for use in another tool."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from stablepred.cli.guard import plain_errors, warnings_as_lines
from stablepred.cli.options import (
    DebugOption,
    DropOption,
    ForceOption,
    OverlapOption,
    SeedOption,
    TableArgument,
)
from stablepred.cli.output import check_file, new_file
from stablepred.cli.screen import say, working
from stablepred.cli.tables import dropped_columns, read
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.exceptions import InputError
from stablepred.models.balancer import GlobalBalancer
from stablepred.models.dgbr import DGBRClassifier
from stablepred.tables.encoder import TableEncoder
from stablepred.tables.files import open_table
from stablepred.tables.messages import unknown_column
from stablepred.tables.target import learn_target


def weights(
    table: TableArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV file to write.")] = Path(
        "weights.csv"
    ),
    target: Annotated[
        str | None, typer.Option(help="Outcome column: it is no feature to be balanced.")
    ] = None,
    method: Annotated[
        Literal["gbr", "dgbr"],
        typer.Option(help="Balance the features, or (with --target) an embedding learned from it."),
    ] = "gbr",
    drop: DropOption = None,
    overlap: OverlapOption = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Find weights under which every feature is balanced against all others.

    One line per row, in order, with the column 'weight', whose mean is 1. Pass it as sample weight
    to whatever fits your model.
    """
    with plain_errors(debug):
        check_file(output, force=force)
        if method == "dgbr" and target is None:
            raise InputError("--method dgbr learns an embedding from the outcome: name --target.")
        file = open_table(table)
        if target is not None and target not in file.columns:
            raise unknown_column(target, file.columns, "target")
        dropped = dropped_columns(drop, file.columns, target)
        frame = read(file, [name for name in file.columns if name not in dropped])
        say(f"read {table}: {len(frame):,} rows, {len(file.columns)} columns ({file.format})")
        if target is None:
            say("no --target was named: every column is balanced, an outcome among them too")
        with warnings_as_lines(), working("balancing"):
            found, notes, report = _weights(frame, target, method, overlap, seed)
        for line in notes:
            say(line)
        with new_file(output, force=force) as temporary:
            pd.DataFrame({"weight": found}).to_csv(temporary, index=False)
        _describe(report, len(found))
        say(f"written: {output} ({len(found):,} rows)")


def _weights(
    frame: pd.DataFrame, target: str | None, method: str, overlap: float | None, seed: int
) -> tuple[NDArray[np.float64], list[str], BalanceReport]:
    """Weights of mean one, what became of the columns, and how balanced the features are."""
    features = frame if target is None else frame.drop(columns=target)
    encoder = TableEncoder(overlap=overlap).fit(features)
    X, _ = encoder.encode(features)
    if method == "dgbr":
        y = learn_target(frame[target]).encode(frame[target])
        model = DGBRClassifier(l1=0.0, refit=False, random_state=seed).fit(X, y)
        w = model.sample_weight_
    else:
        model = GlobalBalancer().fit(X)
        w = model.weights_
    return w / np.mean(w), encoder.notes_, model.balance_report_


def _describe(report: BalanceReport, rows: int) -> None:
    say(
        f"effective sample size: {report.effective_share * rows:,.0f} of {rows:,} rows "
        f"({report.effective_share:.1%})"
    )
    before, after = report.worst_before, report.worst_after
    say(
        f"worst imbalance: {abs(before.imbalance):.3f} before ({before.treatment}, "
        f"{before.covariate}), {abs(after.imbalance):.3f} after ({after.treatment}, "
        f"{after.covariate})"
    )
