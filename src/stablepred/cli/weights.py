"""``stablepred weights``: balancing weights alone, for use in another tool."""

from pathlib import Path

from stablepred.cli.screen import say, warnings_as_lines, working


def weights(
    table: Path,
    output: Path = Path("weights.csv"),
    target: str | None = None,
    drop: list[str] | None = None,
    settings: list[str] | None = None,
    force: bool = False,
) -> None:
    """Find weights under which every feature is balanced against all others.

    One line per row, in order, with the column 'weight', whose mean is 1. Pass it as sample weight
    to whatever fits your model.

    Example: stablepred weights train.csv --target bought -o weights.csv
    """
    import pandas as pd

    from stablepred import GlobalBalancer
    from stablepred.cli import tables
    from stablepred.tables.encoder import TableEncoder

    tables.check_file(output, force=force)
    balancer = GlobalBalancer()
    tables.set_parameters(balancer, settings or [])
    file = tables.open_input(table)
    columns = [name for name in tables.select_columns(file, drop, target)[0] if name != target]
    frame = tables.read(file, columns)
    say(f"read {table}: {len(frame):,} rows, {len(file.columns)} columns ({file.format})")
    if target is None:
        say("no --target was named: every column is balanced, an outcome among them too")
    with warnings_as_lines(balancer), working("balancing"):
        encoder = TableEncoder(dichotomize=balancer.dichotomize).fit(frame)
        w = balancer.fit(encoder.encode(frame)[0]).weights_
    tables.write_csv(pd.DataFrame({"weight": w / w.mean()}), output, index=False)
    for line in encoder.notes_:
        say(line)
    report = balancer.balance_report_.between(encoder.variable_of)
    share = report.effective_share
    say(f"effective sample size: {share * len(w):,.0f} of {len(w):,} rows ({share:.1%})")
    before, after = (
        f"{abs(worst.imbalance):.3f} {when} ({worst.treatment}, {worst.covariate})"
        for worst, when in ((report.worst_before, "before"), (report.worst_after, "after"))
    )
    say(f"worst imbalance: {before}, {after}")
    say(f"written: {output} ({len(w):,} rows)")
