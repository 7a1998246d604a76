"""``stablepred compare``: many methods on the same tables, in one table of errors."""

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
    from stablepred.cli.tables import check_file, new_file, write_csv

    if not tests and by is None:
        raise options.UsageError(
            "there is nothing to test on. Give a second file, or name a column with --by."
        )
    checkpoint = None
    if output is not None:  # before any work is done
        require("matplotlib", "the picture in the folder")
        checkpoint = output / RECORDS  # of a run that was interrupted, perhaps
        check_file(output / TABLE, force=force or checkpoint.exists())
    data = _read_tables(train, tests or [], target, by, drop)
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    with working("fitting the methods"):
        found = stablepred.compare(**data, methods=names, random_state=seed, checkpoint=checkpoint)
    if output is not None:
        write_csv(found.table, output / TABLE)
        write_csv(found.errors, output / ERRORS, index_label="method")
        with new_file(output / PICTURE) as temporary:
            found.plot().savefig(temporary, dpi=150)
    failed = found.table["message"] != ""
    rows = [
        [str(name), *ROW.format(**row).split("|"), f"{row['seconds']:.1f}"]
        for name, row in found.table[~failed].iterrows()
    ]
    columns = ["method", "average", "stability", "worst", "95% of average", "seconds"]
    show_table(found.title, columns, rows)
    say("average and stability: mean and standard deviation of the errors over environments")
    for method, message in found.table["message"][failed].items():
        say(f"{method} failed: {message}")
    for line in found.notes:
        say(line)
    if output is not None:
        say(f"written: {output} ({TABLE}, {ERRORS}, {PICTURE})")


def _read_tables(
    path: Path, tests: list[Path], target: str, by: str | None, drop: list[str] | None
) -> dict[str, Any]:
    """Training and test rows, and the environments of the former, as ``compare`` takes them."""
    from stablepred.cli.tables import distinct_name, open_input, read, select_columns
    from stablepred.tables.groups import group_rows
    from stablepred.tables.messages import check_known, listed
    from stablepred.tables.target import learn_target
    from stablepred.tables.types import to_categories

    file = open_input(path)
    labels: Any = None
    columns, dropped = select_columns(file, drop, target)
    if by is not None:
        check_known(by, file.columns, f"{path}: column")
    frame = read(file, [*columns, *(name for name in dropped if name == by)])
    if by is not None:
        groups = group_rows(frame.pop(by))
        for line in groups.notes:
            say(line)
        frame, labels = (rows[groups.labels != ""] for rows in (frame, groups.labels))
    several = len(to_categories(frame[target]).values) > 2
    outcome = learn_target(frame[target], number=several or None)
    X, y = frame.drop(columns=target), outcome.encode(frame[target])
    if not tests:
        parts = {group: (X[labels == group], y[labels == group]) for group in sorted(set(labels))}
        if len(parts) < 2:
            raise options.UsageError(
                f"column {by!r} names one environment only, {min(parts)!r}, so that none is left "
                "to test on. Give a second file, or name another column with --by."
            )
        return {"train": parts, "leave_one_out": True}
    others = {}
    for test in tests:
        file = open_input(test)
        rows = read(file, select_columns(file, None, target)[0])
        if extra := [name for name in rows if name not in {*X, *dropped, by, target}]:
            say(f"ignored in {test}, not in {path}: {listed(extra)}")
        features = rows[[name for name in X if name in rows]]
        others[distinct_name(test, tests)] = features, outcome.encode(rows[target])
    return {"train": (X, y), "tests": others, "environment": labels}
