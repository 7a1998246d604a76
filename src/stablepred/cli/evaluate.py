"""``stablepred evaluate``: errors of a model by environment, beside those of the references."""

import math
from pathlib import Path
from typing import Any

import typer

from stablepred.cli.screen import say, show_table, warnings_as_lines, working


def evaluate(
    model: Path,
    tables: list[Path],
    target: str | None = None,
    by: str | None = None,
    bins: str | None = None,
    min_rows: int = 30,
    max_stability: float | None = None,
    output: Path | None = None,
    seed: int = 0,
    force: bool = False,
) -> None:
    """Measure the error (RMSE) in each environment, its average and its spread.

    Environments are the values of one column (--by), or files: each file is one. Beside the model
    stand logistic regression and a constant, which were fitted with it.

    Example: stablepred evaluate model test.csv --by age --bins 20,30,40,50,100
    """
    from stablepred.cli.tables import check_file, load_environments, write_csv
    from stablepred.tables.target import NumberTarget

    check_file(output, force=force)
    comparing = "" if max_stability is None else "--max-stability"
    fitted, found, beside = load_environments(model, tables, target, by, bins, min_rows, comparing)
    with warnings_as_lines(), working("resampling rows for the intervals"):
        errors, verdict = _errors(fitted, found, beside, seed)
    write_csv(errors, output, index_label="environment")
    _show(errors, len(found), by or "file")
    say(verdict)
    kind = "mean" if isinstance(fitted.target, NumberTarget) else "rate"
    passed = _verdict(errors, f"{fitted.base_rate:.3f}, the training {kind}", max_stability)
    if output is not None:
        say(f"written: {output}")
    if not passed:
        raise typer.Exit(1)


def _errors(fitted: Any, found: Any, references: Any, seed: int) -> tuple[Any, str]:
    """Errors, calibration and references by environment and in summary; the verdict."""
    import pandas as pd

    from stablepred.evaluation.diagnostics import model_facts
    from stablepred.evaluation.metrics import Metric, add_summaries
    from stablepred.evaluation.verdict import compare_errors, stability_verdict

    facts, metric = model_facts(fitted.estimator), Metric.of("rmse")
    predicted = {e.name: fitted.expected(e.X) for e in found}
    methods = {facts.name: predicted}
    comparison = compare_errors(methods, references, found, metric, 0.95, 500, seed)
    frame = comparison.intervals.copy()
    for name, errors in list(comparison.errors.iterrows())[1:]:
        frame[name] = add_summaries(errors.to_numpy())
    frame.insert(0, "rows", pd.Series({e.name: len(e) for e in found}, dtype="Int64"))
    frame.insert(1, "rate", pd.Series({e.name: e.y.mean() for e in found}))
    frame.insert(2, "predicted", pd.Series({name: p.mean() for name, p in predicted.items()}))
    return frame, stability_verdict(comparison, "rmse", 0.95, False, facts.effective_share)


def _show(errors: Any, environments: int, by: str) -> None:
    short = errors.rename(columns={"constant": "const."})
    references = list(short.columns[6:])
    rows, size = [], math.floor(math.log10(max(1e-9, errors["error"].max())))
    form = ".1e" if size < -2 else f".{3 if size < 1 else max(0, 2 - size)}f"
    for k, (name, row) in enumerate(short.iterrows()):
        single = k < environments
        parts = f"{{rows:,.0f}}|{{rate:{form}}}|{{predicted:{form}}}" if single else "||"
        parts += f"|{{error:{form}}}|{{low:{form}}}–{{high:{form}}}"
        cells = parts.format(**row).replace("nan–nan", "–").split("|")
        shown = str(name) if single else str(name).removesuffix("_Error")
        rows.append([shown, *cells, *(f"{row[reference]:{form}}" for reference in references)])
    title = f"RMSE by {by} with 95% intervals, beside the references; mean outcome and prediction"
    columns = [by, "rows", "mean", "pred.", "RMSE", "95%", *references]
    show_table(title, columns, rows, rule_before=environments)


def _verdict(errors: Any, constant: str, most: float | None) -> bool:
    """Say whether the model is better than a constant, and stable; whether the check passes."""
    summary = errors.loc["Average_Error" if "Average_Error" in errors.index else errors.index[0]]
    useful = bool(summary["error"] < summary["constant"])
    say(
        f"On average {'better' if useful else 'NO BETTER'} than a constant of {constant} "
        f"({summary['error']:.4f} against {summary['constant']:.4f})"
        f"{'' if useful else ': stable or not, it is of no use here'}."
    )
    worse = errors[errors["rows"].notna() & (errors["error"] >= errors["constant"])]
    if useful and len(worse):
        say(f"No better than the constant in: {', '.join(map(str, worse.index))}.")
    if most is None:
        return True
    stability = float(errors["error"]["Stability_Error"])
    stable = stability <= most
    word = "within" if stable else "ABOVE"
    say(f"Stability_Error {stability:.4f} is {word} the {most:g} that was asked for.")
    say("passed" if stable and useful else "FAILED")
    return stable and useful
