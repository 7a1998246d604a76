"""``stablepred weights``: balancing weights alone, for use in another tool."""

from pathlib import Path
from typing import Any, Literal

from stablepred.cli import options
from stablepred.cli.screen import say, warnings_as_lines, working


def weights(
    table: Path,
    output: Path = Path("weights.csv"),
    target: str | None = None,
    method: Literal["gbr", "dgbr"] = "gbr",
    drop: list[str] | None = None,
    settings: list[str] | None = None,
    seed: int = 0,
    force: bool = False,
) -> None:
    """Find weights under which every feature is balanced against all others.

    One line per row, in order, with the column 'weight', whose mean is 1. Pass it as sample weight
    to whatever fits your model.

    Example: stablepred weights train.csv --target bought -o weights.csv
    """
    import pandas as pd

    import stablepred as sp
    from stablepred.cli.estimators import set_parameters
    from stablepred.cli.tables import check_file, open_input, read, select_columns, write_csv
    from stablepred.tables.encoder import TableEncoder
    from stablepred.tables.target import learn_target

    check_file(output, force=force)
    if method == "dgbr" and target is None:
        raise options.UsageError("--method dgbr needs the outcome: name --target.")
    balancer: Any = sp.GlobalBalancer()
    if method == "dgbr":
        balancer = sp.DGBRClassifier(l1=0.0, refit=False, random_state=seed)
    set_parameters(balancer, settings or [])
    file = open_input(table)
    frame = read(file, select_columns(file, drop, target)[0])
    say(f"read {table}: {len(frame):,} rows, {len(file.columns)} columns ({file.format})")
    if target is None:
        say("no --target was named: every column is balanced, an outcome among them too")
    with warnings_as_lines(balancer), working("balancing"):
        features = frame if target is None else frame.drop(columns=target)
        encoder = TableEncoder(dichotomize=balancer.dichotomize).fit(features)
        outcome = () if method == "gbr" else (learn_target(frame[target]).encode(frame[target]),)
        balancer.fit(encoder.encode(features)[0], *outcome)
    w = getattr(balancer, "weights_" if method == "gbr" else "sample_weight_")
    write_csv(pd.DataFrame({"weight": w / w.mean()}), output, force=force, index=False)
    for line in encoder.notes_:
        say(line)
    report, share = balancer.balance_report_, balancer.balance_report_.effective_share
    say(f"effective sample size: {share * len(w):,.0f} of {len(w):,} rows ({share:.1%})")
    before, after = (
        f"{abs(worst.imbalance):.3f} {when} ({worst.treatment}, {worst.covariate})"
        for worst, when in ((report.worst_before, "before"), (report.worst_after, "after"))
    )
    say(f"worst imbalance: {before}, {after}")
    say(f"written: {output} ({len(w):,} rows)")
