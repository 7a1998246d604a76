"""``stablepred report``: one HTML page on how stable a model is, from a user's own tables."""

from pathlib import Path
from typing import Annotated

import typer

from stablepred._extras import require
from stablepred.cli import options
from stablepred.cli.screen import say, warnings_as_lines, working


def report(
    model: options.Model,
    tables: options.Tables,
    target: options.Target = None,
    by: options.By = None,
    bins: options.Bins = None,
    min_rows: options.MinRows = 30,
    train: Annotated[
        Path | None,
        typer.Option(
            help="Fit the references on this table, instead of using those stored with the model."
        ),
    ] = None,
    against: options.Against = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file to write; - is standard output.")
    ] = Path("report.html"),
    seed: options.Seed = 0,
    force: options.Force = False,
) -> None:
    """Write a report: errors by environment, what breaks the model, and how it was balanced.

    Environments are the values of one column (--by), or files: each file is one. The page is
    a single file, and holds no rows of the tables.

    Example: stablepred report model test.csv --by region -o report.html
    """
    from stablepred.cli.tables import check_file, explain_change, load_environments, new_file
    from stablepred.evaluation.reports import stability_report

    require("jinja2", "a report")  # before any work is done
    check_file(output, force=force)
    loaded = load_environments(
        model, tables, target, by, bins, comparing="a report", min_rows=min_rows
    )
    trained = None if train is None else load_environments(model, [train], target).environments[0]
    with warnings_as_lines(), working("comparing environments"):
        result = stability_report(
            loaded.model.estimator,
            loaded.environments,
            train=trained,
            references=loaded.references if train is None else None,
            random_state=seed,
        )
    drop = None
    if against is not None:
        drop = explain_change(loaded, model, against, target, seed)
    with new_file(output, force=force) as temporary:
        result.to_html(temporary, drop)
    say(result.verdict)
    say(f"worst in {result.worst}, best in {result.best}")
    say(f"written: {output}")
