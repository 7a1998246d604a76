"""``stablepred compare``: many methods on the same tables, in one table of errors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from stablepred.cli import options
from stablepred.cli.screen import say, show_table, working

RECORDS, TABLE, ERRORS, PICTURE = "records.jsonl", "comparison.csv", "errors.csv", "comparison.png"


def compare(
    train: Annotated[Path, typer.Argument(help="CSV or Parquet file to train on.")],
    tests: Annotated[
        list[Path] | None, typer.Argument(help="Files to test on; each is an environment.")
    ] = None,
    target: Annotated[str, typer.Option(help="Outcome column: two values, or a number.")] = ...,  # type: ignore[assignment]
    by: options.By = None,
    drop: options.Drop = None,
    methods: Annotated[
        str | None, typer.Option(help="Names with commas between them; all without this option.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for tables, a picture, and the finished methods."
        ),
    ] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
) -> None:
    """Train many methods on one table and compare their errors in other environments.

    With test files, --by names the training environments, for the methods that use them. With a
    single file every environment that --by names is tested by methods trained on all others.
    Where -o names the folder of an interrupted run, the methods that are done are not run again.

    Example: stablepred compare train.csv --target y --by region --methods lr,boosting,stable
    """
    import stablepred
    from stablepred._extras import require

    if output is not None:
        require("matplotlib", "the picture in the folder")  # before any work is done
    if not tests and by is None:
        raise options.UsageError(
            "there is nothing to test on. Give a second file, or name a column with --by."
        )
    checkpoint = None if output is None else _open_folder(output, force=force)
    trained, labels = _read(train, target, by, drop)
    others: dict[str, Any] | None = None
    if tests:
        same = [path.name for path in tests]
        others = {
            p.name if same.count(p.name) == 1 else str(p): _read(p, target, None, drop, by)[0]
            for p in tests
        }
    chosen = None if methods is None else [name.strip() for name in methods.split(",")]
    run: dict[str, Any] = {"methods": chosen, "random_state": seed, "checkpoint": checkpoint}
    with working("fitting the methods"):
        if others is not None:
            found = stablepred.compare(trained, others, environment=labels, **run)
        else:
            X, y = trained
            groups = {g: (X[labels == g], y[labels == g]) for g in sorted(set(labels))}
            found = stablepred.compare(groups, leave_one_out=True, **run)
    if output is not None:
        found.table.to_csv(output / TABLE)
        found.errors.to_csv(output / ERRORS, index_label="method")
        found.plot().savefig(output / PICTURE, dpi=150)
    _show(found)
    if output is not None:
        say(f"written: {output} ({TABLE}, {ERRORS}, {PICTURE})")


def _open_folder(output: Path, *, force: bool) -> Path:
    """Make the folder, or go on in the one of an earlier run; the path of its records."""
    from stablepred.exceptions import InputError

    records = output / RECORDS
    if output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file. Name a folder.")
    if output.exists() and any(output.iterdir()) and not records.exists() and not force:
        raise InputError(
            f"{output} is not empty. Name another folder, or write there with --force."
        )
    output.mkdir(parents=True, exist_ok=True)
    return records


def _read(
    path: Path,
    target: str,
    by: str | None,
    drop: Sequence[str] | None,
    left_out: str | None = None,
) -> tuple[tuple[Any, Any], Any]:
    """Features and outcome of a file, and the environment of every row if a column names it."""
    import numpy as np

    from stablepred.cli.tables import opened, read, select_columns
    from stablepred.tables.groups import group_rows
    from stablepred.tables.messages import unknown_column

    with opened(path) as file:
        if by is not None and by not in file.columns:
            raise unknown_column(by, file.columns, f"{path}: column")
        columns, dropped = select_columns(file, drop, target)
        frame = read(file, [*columns, *(name for name in dropped if name == by)])
    labels = None
    if by is not None:
        groups = group_rows(frame[by])
        for line in groups.notes:
            say(line)
        labels = np.full(len(frame), "", dtype=object)
        for name, rows in groups.rows.items():
            labels[rows] = name
        frame, labels = frame[labels != ""], labels[labels != ""]
    y = _outcome(frame[target])
    return (frame.drop(columns=[target, *({by, left_out} & set(frame.columns))]), y), labels


def _outcome(column: Any) -> Any:
    """Numbers where the outcome has more than two, else its two values as text."""
    import numpy as np

    from stablepred.tables.learning import number_style
    from stablepred.tables.target import missing_target
    from stablepred.tables.types import to_categories, to_text

    found = to_categories(column)
    if found.missing.any():
        raise missing_target(str(column.name), found.missing)
    if len(found.values) > 2:
        _, numbers, _ = number_style(column, to_text(column))
        if numbers.finite.all():
            return numbers.values
    return np.array(found.values, dtype=object)[found.codes]


def _show(found: Any) -> None:
    rows = [
        [str(name), *(f"{row[what]:.3f}" for what in ("average", "stability", "worst")),
         f"{row['average low']:.3f} to {row['average high']:.3f}", f"{row['seconds']:.1f}"]
        for name, row in found.table.iterrows()
        if not row["message"]
    ]  # fmt: skip
    columns = ["method", "average", "stability", "worst", "95% of average", "seconds"]
    show_table(found.title, columns, rows)
    for name, message in found.table["message"].items():
        if message:
            say(f"{name} failed: {message}")
    for line in found.notes:
        say(line)
