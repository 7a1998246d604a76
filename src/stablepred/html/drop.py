"""The section on what a loss comes from: X moving, or Y given X changing."""

from stablepred._text import interval, label, percent, signed
from stablepred.evaluation.drop import DropReport
from stablepred.html.page import Format, Section, table_of
from stablepred.plotting.rows import MOST_ROWS


def drop_section(report: DropReport) -> Section:
    """The parts of the loss, and the variables behind them."""
    parts = report.parts[["loss"]].rename_axis("part").rename(columns={"loss": report.error})
    ends = zip(report.parts["low"], report.parts["high"], strict=True)
    parts[f"{percent(report.level)} interval"] = [interval(low, high) for low, high in ends]
    parts["share"] = report.parts["share"]
    formats: dict[str, Format] = {report.error: signed, "share": percent, "x loss": signed}
    frame = report.variables.sort_values("moved", ascending=False, kind="stable")
    frame = (
        frame.head(MOST_ROWS).rename_axis("variable").rename(columns=lambda c: c.replace("_", " "))
    )
    first, second = map(label, report.names)
    text = (
        "Both tables are weighted to the rows that they share. X moves: the loss changes between "
        f"all rows and the shared ones. Y given X changes: it differs between {first} and {second} "
        "on the shared ones. Moved: how well a variable alone tells the tables apart. Relation: "
        "how far the slope of the model's residuals on it differs."
    )
    tables = [table_of(parts, "Parts of the loss", formats), table_of(frame, "Variables", formats)]
    return Section("drop", "What it comes from", report.verdict, [text], [tables])
