"""``stablepred report``: one HTML page on how stable a model is, from a user's own tables."""

from pathlib import Path

from stablepred._extras import require
from stablepred.cli.screen import say, warnings_as_lines, working


def report(
    model: Path,
    tables: list[Path],
    target: str | None = None,
    by: str | None = None,
    bins: str | None = None,
    min_rows: int = 30,
    output: Path = Path("report.html"),
    seed: int = 0,
    force: bool = False,
) -> None:
    """Write a report: errors by environment, what breaks the model, and how it was balanced.

    Environments are the values of one column (--by), or files: each file is one. The page is
    a single file, and holds no rows of the tables.

    Example: stablepred report model test.csv --by region -o report.html
    """
    from stablepred.cli.tables import check_file, load_environments, new_file
    from stablepred.evaluation.reports import stability_report

    require("jinja2", "a report")  # before any work is done
    check_file(output, force=force)
    fitted, found, kept = load_environments(model, tables, target, by, bins, min_rows, "a report")
    with warnings_as_lines(), working("comparing environments"):
        result = stability_report(fitted.estimator, found, references=kept, random_state=seed)
    with new_file(output) as temporary:
        result.to_html(temporary)
    say(result.verdict)
    say(f"worst in {result.worst}, best in {result.best}")
    say(f"written: {output}")
