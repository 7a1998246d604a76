"""The page of a stress test: what happens when one feature at a time changes its link."""

from typing import Any

import pandas as pd

from stablepred._text import error_name, interval, label, number, percent
from stablepred.evaluation.stress import StressReport
from stablepred.html.model import run_section
from stablepred.html.page import Block, Page, Section, make_figure, table_of
from stablepred.plotting.rows import MOST_ROWS, QUIET, ROLES, Display, Marks, draw_rows


def stress_page(report: StressReport) -> Page:
    """All that a stress test has to show."""
    name, top = label(report.errors.index[0]), report.errors.iloc[0]
    error, model = error_name(report.error), label(report.facts.name)
    verdict = (
        f"The {error} of {model} is {number(report.observed)} as observed and rises to "
        f"{number(top['worst'])} when {name} comes to agree with the outcome in "
        f"{percent(top['worst_rate'])} of the rows."
    )
    numbers = [
        ("As observed", number(report.observed), error),
        ("Worst", number(top["worst"]), f"{name} at {percent(top['worst_rate'])}"),
        ("Features tested", f"{len(report.errors):,}", f"{len(report.skipped):,} not tested"),
    ]
    sections = [_stress_section(report), run_section(report.facts, report.run, [])]
    return Page(f"Stress test of {model}", verdict, numbers, sections, report.run.made)


def _stress_section(report: StressReport) -> Section:
    """Worst errors per feature."""
    errors, error = report.errors.rename_axis("feature"), error_name(report.error)
    agreement = f"it agrees with the outcome in {percent(errors['agreement'].iloc[0])} of the rows"
    title = f"{label(errors.index[0], 60)} breaks it most; {agreement} now"
    text = [
        "Rows are resampled so that one feature at a time agrees with the outcome in a share r of "
        "both classes, from against it to with it.",
        *(f"{label(name)} was not tested: {why}." for name, why in report.skipped.items()),
    ]
    frame = pd.DataFrame(
        {
            "worst": errors["worst"],
            "interval": list(map(interval, errors["low"], errors["high"])),
            "at rate": errors["worst_rate"].map(percent),
            "agreement now": errors["agreement"].map(percent),
            "spread": errors["stability"],
            "effective rows": errors["effective_rows"].map("{:,.0f}".format),
        }
    )
    caption = f"Worst {error} per feature, and its spread over the rates"
    by_rate = errors.filter(like="r=")
    rates = table_of(by_rate, f"{error} by rate of agreement r")
    top, shown = report.errors.head(MOST_ROWS), by_rate.head(MOST_ROWS)
    series = [
        Marks("largest error", top["worst"], ROLES["model"], top["low"], top["high"]),
        Marks("smallest error", shown.min(axis=1), ("o", QUIET), hollow=True),
    ]

    def draw(ax: Any) -> Display:
        ax.axvline(report.observed, color=QUIET, lw=1, ls=(0, (3, 3)))
        return draw_rows(Display(), ax, list(top.index), series, error)

    figure = make_figure(
        draw,
        f"{error} by feature, the largest first",
        f"The dashed line is the error as observed, {number(report.observed)}; the line through a "
        f"mark is the {percent(report.level)} interval of the largest error.",
        len(report.errors),
    )
    blocks: list[Block] = [figure, table_of(frame, caption)]
    return Section("stress", "Stress", title, text, [blocks, [rates]])
