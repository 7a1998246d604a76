"""``stablepred evaluate``: errors of a model by environment, beside those of a constant."""

from typing import Annotated, Any

import typer

from stablepred.cli import options
from stablepred.cli.guard import FAILED_CHECK, warnings_as_lines
from stablepred.cli.screen import say, show_table, working


def evaluate(
    model: options.Model,
    tables: options.Tables,
    target: options.Target = None,
    by: options.By = None,
    bins: options.Bins = None,
    max_stability: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Exit code 1 if Stability_Error is larger, or if the model is no better on "
            "average than a constant, which is always stable.",
        ),
    ] = None,
    output: options.OptionalCSV = None,
    seed: options.Seed = 0,
    force: options.Force = False,
) -> None:
    """Measure the error (RMSE of the probability) in each environment, its average and its spread.

    Environments are the values of one column (--by), or files: each file is one.

    Example: stablepred evaluate model test.csv --by age --bins 20,30,40,50,100
    """
    from stablepred.cli.tables import check_file, load_environments, write_csv

    check_file(output, force=force)
    comparing = "" if max_stability is None else "--max-stability"
    fitted, found = load_environments(model, tables, target, by, bins, comparing=comparing)
    with warnings_as_lines(), working("resampling rows for the intervals"):
        errors = _errors(fitted, found, seed)
    write_csv(errors, output, force=force, index_label="environment")
    _show(errors, len(found), by)
    passed = _verdict(errors, fitted.base_rate, max_stability)
    if output is not None:
        say(f"written: {output}")
    if not passed:
        raise typer.Exit(FAILED_CHECK)


def _errors(model: Any, found: Any, seed: int) -> Any:
    """Errors with intervals by environment and in summary; rows, rate of 1 and the constant's."""
    import numpy as np
    import pandas as pd

    from stablepred.evaluation import metrics

    predicted = {e.name: model.expected(e.X) for e in found}
    constants = {e.name: np.full(len(e), model.base_rate) for e in found}
    constant = metrics.environment_errors(constants, found)
    frame = metrics.error_interval(predicted, found, random_state=seed)
    names = ("Average_Error", "Stability_Error", "Worst_Error") if len(found) > 1 else ()
    summary = {name: getattr(metrics, name.lower())(constant) for name in names}
    frame["constant"] = pd.concat([constant, pd.Series(summary, dtype=np.float64)])
    frame.insert(0, "rows", pd.Series({e.name: len(e) for e in found}, dtype="Int64"))
    frame.insert(1, "rate", pd.Series({e.name: e.y.mean() for e in found}))
    return frame


def _show(errors: Any, environments: int, by: str | None) -> None:
    show_table(
        f"RMSE by {by or 'file'}, beside that of always predicting the training rate",
        [by or "file", "rows", "rate of 1", "error", "95% interval", "constant"],
        [
            [
                str(name),
                *((f"{row['rows']:,.0f}", f"{row['rate']:.3f}") if k < environments else ("", "")),
                f"{row['error']:.4f}",
                f"{row['low']:.4f} to {row['high']:.4f}",
                f"{row['constant']:.4f}",
            ]
            for k, (name, row) in enumerate(errors.iterrows())
        ],
        rule_before=environments,
    )


def _verdict(errors: Any, base_rate: float, most: float | None) -> bool:
    """Say whether the model is better than a constant, and stable; whether the check passes."""
    summary = "Average_Error" if "Average_Error" in errors.index else errors.index[0]
    average, constant = errors["error"][summary], errors["constant"][summary]
    useful = bool(average < constant)
    word, rest = (
        ("better", "") if useful else ("NO BETTER", ": stable or not, it is of no use here")
    )
    say(
        f"On average {word} than a constant of {base_rate:.3f}, the training rate "
        f"({average:.4f} against {constant:.4f}){rest}."
    )
    single = errors[errors["rows"].notna()]
    worse = [str(name) for name in single.index[single["error"] >= single["constant"]]]
    if useful and worse:
        say(f"No better than the constant in: {', '.join(worse)}.")
    if most is None:
        return True
    stability = float(errors["error"]["Stability_Error"])
    stable = stability <= most
    word = "within" if stable else "ABOVE"
    say(f"Stability_Error {stability:.4f} is {word} the {most:g} that was asked for.")
    say("passed" if stable and useful else "FAILED")
    return stable and useful
