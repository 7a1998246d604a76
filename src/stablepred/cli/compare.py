"""``stablepred compare``: many methods on the same tables, in one table of errors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stablepred.cli import options
from stablepred.cli.screen import say, show_table, working

TABLE, ERRORS = "comparison.csv", "errors.csv"
ROW = "{average:.3f}|{stability:.3f}|{worst:.3f}|{average low:.3f} to {average high:.3f}"


def compare(
    train: Path,
    tests: list[Path] | None = None,
    *,
    target: str,
    by: str | None = None,
    drop: list[str] | None = None,
    methods: str | None = None,
    output: Path | None = None,
    seed: int = 0,
    force: bool = False,
) -> None:
    """Train many methods on one table and compare their errors in other environments.

    With test files, --by names the training environments, for the methods that use them. With a
    single file, methods are tested in each environment in turn, trained on all others.

    Example: stablepred compare train.csv --target y --by region --methods lr,boosting,stable
    """
    import stablepred
    from stablepred.cli.tables import write_csv
    from stablepred.tables.learning import number_style
    from stablepred.tables.messages import listed
    from stablepred.tables.target import learn_target
    from stablepred.tables.types import to_categories, to_text

    if not tests and by is None:
        raise options.UsageError(
            "there is nothing to test on. Give a second file, or name a column with --by."
        )
    if output is not None:
        _open_folder(output, force=force)
    (X, column), labels = _read(train, target, by, drop)
    # A number where it has more than two values.
    several = len(to_categories(column).values) > 2
    styled = several and number_style(str(column.name), to_text(column))[1].finite.all()
    outcome = learn_target(column, number=bool(styled) or None)
    trained = X, outcome.encode(column)
    others: dict[str, Any] | None = None
    if tests:
        same, others = [path.name for path in tests], {}
        for p in tests:
            (features, column), _ = _read(p, target, None, None)
            if extra := [one for one in features if one not in {*X.columns, *(drop or ()), by}]:
                say(f"ignored in {p}, not in {train}: {listed(extra)}")
            features = features[[one for one in X.columns if one in features]]
            name = p.name if same.count(p.name) == 1 else str(p)
            others[name] = features, outcome.encode(column)
    chosen = None if methods is None else [name.strip() for name in methods.split(",")]
    run: dict[str, Any] = {"methods": chosen, "random_state": seed}
    with working("fitting the methods"):
        if others is not None:
            found = stablepred.compare(trained, others, environment=labels, **run)
        else:
            X, y = trained
            groups = {g: (X[labels == g], y[labels == g]) for g in sorted(set(labels))}
            if len(groups) < 2:
                raise options.UsageError(
                    f"column {by!r} names one environment only, {min(groups)!r}, so that none is "
                    "left to test on. Give a second file, or name another column with --by."
                )
            found = stablepred.compare(groups, leave_one_out=True, **run)
    if output is not None:
        write_csv(found.table, output / TABLE, force=True)
        write_csv(found.errors, output / ERRORS, force=True, index_label="method")
    columns = ["method", "average", "stability", "worst", "95% of average", "seconds"]
    fitted = found.table[found.table["message"] == ""]
    rows = [
        [str(name), *ROW.format(**row).split("|"), f"{row['seconds']:.1f}"]
        for name, row in fitted.iterrows()
    ]
    show_table(found.title, columns, rows)
    for method, message in found.table["message"].items():
        if message:
            say(f"{method} failed: {message}")
    for line in found.notes:
        say(line)
    if output is not None:
        say(f"written: {output} ({TABLE}, {ERRORS})")


def _open_folder(output: Path, *, force: bool) -> None:
    """Make the folder; one with files in it is refused."""
    if output.exists() and not output.is_dir():
        raise options.UsageError(f"{output} is a file. Name a folder.")
    if output.exists() and any(output.iterdir()) and not force:
        raise options.UsageError(
            f"{output} is not empty. Name another folder, or write there with --force."
        )
    output.mkdir(parents=True, exist_ok=True)


def _read(
    path: Path, target: str, by: str | None, drop: Sequence[str] | None
) -> tuple[tuple[Any, Any], Any]:
    """Features and raw outcome of a file, and the environment of every row if a column names it."""
    from stablepred.cli.tables import open_input, read, select_columns
    from stablepred.tables.groups import group_rows
    from stablepred.tables.messages import check_known

    file = open_input(path)
    if by is not None:
        check_known(by, file.columns, f"{path}: column")
    columns, dropped = select_columns(file, drop, target)
    frame = read(file, [*columns, *(name for name in dropped if name == by)])
    labels = None
    if by is not None:
        groups = group_rows(frame[by])
        for line in groups.notes:
            say(line)
        labels = groups.labels
        frame, labels = frame[labels != ""], labels[labels != ""]
    y = frame[target]
    return (frame.drop(columns=[target, *({by} & set(frame.columns))]), y), labels
