"""``stablepred fit``: train a model on a table as it comes."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from stablepred.cli.estimators import GRIDS, make_estimator
from stablepred.cli.guard import plain_errors, warnings_as_lines
from stablepred.cli.options import (
    DebugOption,
    DropOption,
    ForceOption,
    Method,
    OverlapOption,
    SeedOption,
    TableArgument,
)
from stablepred.cli.screen import say, show_table, working
from stablepred.cli.tables import dropped_columns, read
from stablepred.cli.unfinished import check_unfinished, checkpoint_beside, interruptible
from stablepred.exceptions import InputError
from stablepred.tables.files import TableFile, open_table
from stablepred.tables.messages import unknown_column
from stablepred.tables.table_model import (
    EncodedTable,
    TableModel,
    check_model_folder,
    encode_counted,
    encode_table,
)

SHOWN = 15  # features in the printed table


def fit(
    table: TableArgument,
    target: Annotated[str, typer.Option(help="Outcome column; it must have two values.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model.")],
    method: Annotated[
        Method,
        typer.Option(help="lr and dlr do not balance, gbr and dgbr do; dgbr-paper to the letter."),
    ] = "dgbr",
    tune: Annotated[
        bool, typer.Option("--tune", help="Search a small grid on environments made of the table.")
    ] = False,
    drop: DropOption = None,
    positive: Annotated[
        str | None, typer.Option(help="Value of the target that is 1; else the last one sorted.")
    ] = None,
    overlap: OverlapOption = None,
    seed: SeedOption = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a fit that was interrupted.")
    ] = False,
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Train a model on one table, so that it predicts as well in other environments.

    Columns are taken as they come: numbers are cut at their mean, texts become one 0/1 feature per
    value, missing values get a feature of their own. The encoding is stored with the model. A long
    fit keeps a checkpoint beside the output; with --resume an interrupted one goes on from there.
    """
    with plain_errors(debug):
        check_model_folder(output, force=force)
        estimator = make_estimator(method, seed, tune=tune)
        checkpoint = checkpoint_beside(output)
        if hasattr(estimator, "checkpoint"):
            estimator.set_params(checkpoint=checkpoint)
        elif resume:
            raise InputError("a search (--tune) and --method lr keep no checkpoint to --resume.")
        check_unfinished(checkpoint, resume=resume, force=force)
        file = open_table(table)
        if target not in file.columns:
            raise unknown_column(target, file.columns, "target")
        dropped = dropped_columns(drop, file.columns, target)
        encoded = _encoded(file, target, dropped, positive, overlap, estimator)
        _describe_columns(encoded, file.columns)
        # A search has a bar of its own.
        shown = nullcontext() if tune else working(f"fitting {method}")
        with warnings_as_lines(), shown, interruptible(checkpoint):
            model = encoded.fit(estimator)
        _describe_model(model)
        if tune:
            chosen = model.estimator.get_params()
            say("tuned: " + ", ".join(f"{name} = {chosen[name]:g}" for name in GRIDS[method]))
        model.save(output, force=force)
        say(f"written: {output} (model.safetensors, summary.json)")


def _encoded(
    file: TableFile,
    target: str,
    dropped: list[str],
    positive: str | None,
    overlap: float | None,
    estimator: Any,
) -> EncodedTable:
    """The table as 0/1 features: counted where it lies if that will do, else read."""
    columns = [name for name in file.columns if name not in dropped]
    counted = None
    if hasattr(estimator, "fit_table") and overlap is None:
        with warnings_as_lines(), working("counting rows"):
            counted = encode_counted(file, columns, target, positive)
    if counted is not None:
        _describe_file(file, "counted", counted.rows, dropped)
        return counted
    frame = read(file, columns)
    _describe_file(file, "read", len(frame), dropped)
    with warnings_as_lines(), working("encoding columns"):
        return encode_table(frame, target, positive=positive, overlap=overlap)


def _describe_file(file: TableFile, done: str, rows: int, dropped: list[str]) -> None:
    say(f"{done} {file.path}: {rows:,} rows, {len(file.columns)} columns ({file.format})")
    if dropped:
        say(f"left out as asked: {', '.join(dropped)}")


def _describe_columns(encoded: EncodedTable, columns: list[str]) -> None:
    """Say what became of the columns."""
    outcome = encoded.target
    say(
        f"target {outcome.name}: {outcome.positive!r} is 1 ({encoded.base_rate:.1%} of the rows), "
        f"{outcome.negative!r} is 0"
    )
    like = [n for n in columns if n.lower() == outcome.name.lower() and n != outcome.name]
    if like:
        say(f"named like the target, drop it if it is the same thing: {', '.join(like)}")
    for line in encoded.encoder.notes_:
        say(line)
    used = len(encoded.encoder.used_columns)
    names = encoded.encoder.get_feature_names_out()
    say(f"{len(names)} features from {used} columns")


def _describe_model(model: TableModel) -> None:
    """Say what was found."""
    report = getattr(model.estimator, "balance_report_", None)
    if report is not None:
        say(
            f"effective sample size: {report.effective_share * model.rows:,.0f} rows "
            f"({report.effective_share:.1%})"
        )
    effects = getattr(model.estimator, "feature_effects_", None)
    if effects is not None:
        show_effects(effects)
    used = getattr(model.estimator, "used_features_", None)
    if used is not None:
        count = "all" if used.all() else f"{used.sum()} of the"
        say(f"the model uses {count} {len(used)} features")


def show_effects(effects: pd.DataFrame) -> None:
    """Print the largest effects, with their intervals and verdicts."""
    order = effects["effect"].abs().sort_values(ascending=False, kind="stable").index
    top = effects.loc[order].head(SHOWN)
    show_table(
        f"Effect on the target with the other features balanced, {len(top)} largest of "
        f"{len(effects)}",
        ["feature", "effect", "95% interval", "stable"],
        [_effect_cells(row) for _, row in top.iterrows()],
    )


def _effect_cells(row: Any) -> list[str]:
    interval = f"{row['low']:+.3f} to {row['high']:+.3f}"
    return [row["feature"], f"{row['effect']:+.3f}", interval, "yes" if row["stable"] else "no"]
