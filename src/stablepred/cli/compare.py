"""``stablepred compare``: many methods on the same tables, in one table of errors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stablepred.cli import options
from stablepred.cli.screen import say, show_table, working

RECORDS, TABLE, ERRORS, PICTURE = "records.jsonl", "comparison.csv", "errors.csv", "comparison.png"
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
    single file, methods are tested in each environment in turn, trained on all others. If -o names
    the folder of an interrupted run, finished methods are not run again.

    Example: stablepred compare train.csv --target y --by region --methods lr,boosting,stable
    """
    import stablepred
    from stablepred._extras import require
    from stablepred.cli.tables import check_file, distinct_name, new_file, write_csv
    from stablepred.tables.messages import listed
    from stablepred.tables.target import learn_target
    from stablepred.tables.types import to_categories

    if not tests and by is None:
        raise options.UsageError(
            "there is nothing to test on. Give a second file, or name a column with --by."
        )
    checkpoint = None
    if output is not None:  # before any work is done
        require("matplotlib", "the picture in the folder")
        checkpoint = output / RECORDS  # of a run that was interrupted, perhaps
        check_file(output / TABLE, force=force or checkpoint.exists())
    frame, labels = _read(train, target, by, drop)
    several = len(to_categories(frame[target]).values) > 2
    outcome = learn_target(frame[target], number=several or None)
    X, y = frame.drop(columns=target), outcome.encode(frame[target])
    chosen = None if methods is None else [name.strip() for name in methods.split(",")]
    run: dict[str, Any] = {"methods": chosen, "random_state": seed, "checkpoint": checkpoint}
    if tests:
        others: dict[str, Any] = {}
        for path in tests:
            frame, _ = _read(path, target)
            if extra := [name for name in frame if name not in {*X, *(drop or ()), by, target}]:
                say(f"ignored in {path}, not in {train}: {listed(extra)}")
            features = frame[[name for name in X if name in frame]]
            others[distinct_name(path, tests)] = features, outcome.encode(frame[target])
        with working("fitting the methods"):
            found = stablepred.compare((X, y), others, environment=labels, **run)
    else:
        groups = {group: (X[labels == group], y[labels == group]) for group in sorted(set(labels))}
        if len(groups) < 2:
            raise options.UsageError(
                f"column {by!r} names one environment only, {min(groups)!r}, so that none is left "
                "to test on. Give a second file, or name another column with --by."
            )
        with working("fitting the methods"):
            found = stablepred.compare(groups, leave_one_out=True, **run)
    if output is not None:
        write_csv(found.table, output / TABLE, force=True)
        write_csv(found.errors, output / ERRORS, force=True, index_label="method")
        with new_file(output / PICTURE, force=True) as temporary:
            found.plot().savefig(temporary, dpi=150)
    columns = ["method", "average", "stability", "worst", "95% of average", "seconds"]
    fitted = found.table[found.table["message"] == ""]
    rows = [
        [str(name), *ROW.format(**row).split("|"), f"{row['seconds']:.1f}"]
        for name, row in fitted.iterrows()
    ]
    show_table(found.title, columns, rows)
    say("average and stability: mean and standard deviation of the errors over environments")
    for method, message in found.table["message"].items():
        if message:
            say(f"{method} failed: {message}")
    for line in found.notes:
        say(line)
    if output is not None:
        say(f"written: {output} ({TABLE}, {ERRORS}, {PICTURE})")


def _read(
    path: Path, target: str, by: str | None = None, drop: Sequence[str] | None = None
) -> tuple[Any, Any]:
    """The rows of a file, and the environment of each if a column names it."""
    from stablepred.cli.tables import open_input, read, select_columns
    from stablepred.tables.groups import group_rows
    from stablepred.tables.messages import check_known

    file = open_input(path)
    columns, dropped = select_columns(file, drop, target)
    if by is None:
        return read(file, columns), None
    check_known(by, file.columns, f"{path}: column")
    frame = read(file, [*columns, *(name for name in dropped if name == by)])
    groups = group_rows(frame.pop(by))
    for line in groups.notes:
        say(line)
    return frame[groups.labels != ""], groups.labels[groups.labels != ""]
