"""Records of the paper's figures -> tables and pictures."""

from collections.abc import Sequence
from pathlib import Path

from stablepred.lab.paper import Figure, StrengthFigure
from stablepred.lab.records import Records
from stablepred.lab.tables import markdown, readable, runs_table, summary_table


def write(
    name: str,
    figures: Sequence[Figure],
    seeds: Sequence[int],
    records: Records,
    folder: Path,
    command: str,
) -> list[Path]:
    """Write everything that the records of these figures show; give the paths."""
    panels = [p for f in figures if not isinstance(f, StrengthFigure) for p in f.panels]
    runs = runs_table(panels, seeds, records)
    summary = summary_table(runs)
    folder.mkdir(parents=True, exist_ok=True)
    report, table = folder / f"{name}.md", folder / f"{name}.csv"
    report.write_text(f"`{command}`\n\n{markdown(readable(summary))}\n", encoding="utf-8")
    summary.to_csv(table, index=False)
    return [report, table]
