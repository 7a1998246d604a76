"""``stablepred report``: one HTML page on how stable a model is, from a user's own tables."""

from pathlib import Path
from typing import Annotated

import typer

from stablepred._extras import require
from stablepred.cli import options
from stablepred.cli.guard import warnings_as_lines
from stablepred.cli.screen import say, working


def report(
    model: options.Model,
    tables: options.Tables,
    target: options.Target = None,
    by: options.By = None,
    bins: options.Bins = None,
    train: Annotated[
        Path | None,
        typer.Option(help="The training table, for reference models fitted on it."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file to write; - is stdout.")
    ] = Path("report.html"),
    seed: options.Seed = 0,
    force: options.Force = False,
) -> None:
    """Write a report: errors by environment, what breaks the model, and how it was balanced.

    Environments are the values of one column (--by), or files: each file is one. The page needs
    nothing but itself and holds no rows of the tables.

    Example: stablepred report model test.csv --by region --train train.csv -o report.html
    """
    import numpy as np

    from stablepred.cli.tables import check_file, load_environments, new_file
    from stablepred.evaluation.reports import stability_report

    require("jinja2", "a report")  # before any work is done
    check_file(output, force=force)
    fitted, found = load_environments(model, tables, target, by, bins, comparing="a report")
    constant = {"constant": lambda X: np.full(len(X), fitted.base_rate)}
    trained = None if train is None else load_environments(model, [train], target)[1][0]
    with warnings_as_lines(), working("comparing environments"):
        result = stability_report(
            fitted.estimator,
            found,
            train=trained,
            baselines=constant if train is None else None,
            random_state=seed,
        )
    with new_file(output, force=force) as temporary:
        result.to_html(temporary)
    say(f"worst in {result.worst}, best in {result.best}")
    say(f"written: {output}")
