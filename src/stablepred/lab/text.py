"""Tables, seeds and times as text."""

from collections.abc import Collection

import pandas as pd

# Development uses seeds below; published tables start here.
PUBLISHED_FROM = 1000


def markdown(frame: pd.DataFrame) -> str:
    """A frame without its index as a Markdown table."""
    rows = [list(map(str, frame.columns)), ["---"] * len(frame.columns)]
    rows += [["" if pd.isna(v) else str(v) for v in row] for row in frame.to_numpy(dtype=object)]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def seed_text(seeds: Collection[int]) -> str:
    """Which seeds, and whether they are for development or for publication."""
    ordered = sorted(seeds)
    kind = "published" if ordered[0] >= PUBLISHED_FROM else "development"
    whole = ordered == list(range(ordered[0], ordered[-1] + 1))
    listed = ", ".join(map(str, ordered))
    if whole and len(ordered) > 1:
        listed = f"{ordered[0]} to {ordered[-1]}"
    return f"seeds {listed} ({kind} seeds)"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
