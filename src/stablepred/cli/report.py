"""``stablepred report``: one HTML page on how stable a model is, from a user's own tables."""

from pathlib import Path
from typing import Annotated

import typer

from stablepred.cli import options
from stablepred.cli.guard import plain_errors, warnings_as_lines
from stablepred.cli.output import check_file, new_file
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
    debug: options.Debug = False,
) -> None:
    """Write a report: errors by environment, what breaks the model, and how it was balanced.

    Environments are the values of one column (--by), or files: each file is one. The page needs
    nothing but itself and holds no rows of the tables.

    Example: stablepred report model test.csv --by region --train train.csv -o report.html
    """
    with plain_errors(debug, output):
        import numpy as np

        from stablepred.cli.tables import environments, labelled, load_model
        from stablepred.evaluation.reports import stability_report
        from stablepred.worlds.environment import Environment

        check_file(output, force=force)
        fitted = load_model(model)
        found = environments(fitted, tables, target, by, bins)
        if len(found) < 2:
            raise options.UsageError(
                "a report compares environments, but there is only one. Name a column with --by, "
                "or give several files."
            )
        trained, baselines = None, None
        if train is None:
            baselines = {"constant": lambda X: np.full(len(X), fitted.base_rate)}
        else:
            rows = labelled(fitted, train, target)
            trained = Environment(train.name, rows.features, rows.y)
        with warnings_as_lines(), working("comparing environments"):
            result = stability_report(
                fitted.estimator, found, train=trained, baselines=baselines, random_state=seed
            )
        with new_file(output, force=force) as temporary:
            result.to_html(temporary)
        say(f"worst in {result.worst}, best in {result.best}")
        say(f"written: {output}")
