"""``stablepred stress``: which features a model must be able to trust."""

from pathlib import Path

from stablepred.cli.screen import say, show_table, warnings_as_lines, working

SHOWN = 15  # features in the printed table
ROW = "{agreement:.2f}|{worst:.3f}|{low:.3f} to {high:.3f}|{worst_rate:g}|{stability:.3f}"


def stress(
    model: Path,
    table: Path,
    target: str | None = None,
    output: Path | None = None,
    seed: int = 0,
    force: bool = False,
) -> None:
    """Find what breaks a model: make each feature in turn agree or disagree with the outcome.

    Rows are resampled so that a feature equals the outcome in a share of .1, .2 ... .9 of them.
    The features with the largest error at any share come first.

    Example: stablepred stress model train.csv
    """
    from stablepred.cli import tables
    from stablepred.evaluation.stress import stress_test

    tables.check_file(output, force=force)
    fitted, (rows,), _ = tables.load_environments(model, [table], target)
    with warnings_as_lines(), working("resampling rows for each feature"):
        encoded = fitted.encoder.encode(rows.X)[0] if fitted.typed else rows.X
        found = stress_test(fitted.expected(rows.X), encoded, rows.y, random_state=seed)
    tables.write_csv(found.to_frame(), output)
    top = found.errors.head(SHOWN)
    say(f"RMSE as the rows are: {found.observed:.4f}")
    show_table(
        f"RMSE when one feature comes to follow the outcome or to oppose it, "
        f"{len(top)} most dangerous of {len(found.errors)}",
        ["feature", "agrees", "worst", "95% interval", "share", "spread"],
        [[str(name), *ROW.format(**row).split("|")] for name, row in top.iterrows()],
    )
    for name, reason in found.skipped.items():
        say(f"not tested: {name} ({reason})")
    if output is not None:
        say(f"written: {output}")
