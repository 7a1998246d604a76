"""Worlds with two and three training environments: what their labels are good for, as a study."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from studies import plots
from studies.peers.cases import (
    LABELLED,
    ORACLE,
    OURS,
    TRAIN_RATES,
    WIDE_TRAIN_RATES,
    list_cases,
    run_case,
)
from studies.records import Records
from studies.study import Tables
from studies.tables import join, markdown, seed_text
from studies.worlds import WorldStudy


class EnvironmentsStudy(WorldStudy):
    """Six worlds, two or three training environments, eight methods."""

    folder = "environments"
    run = staticmethod(run_case)
    list_cases = staticmethod(partial(list_cases, environments=(2, 3)))
    key = ("environments", "world", "method")
    numbers = ("f1",)

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """Both errors of every method, a panel per world and a picture per number."""
        paths = []
        for number, part in self.tables(records)[""].groupby("environments"):
            panels = {str(world): own for world, own in part.groupby("world", sort=False)}
            paths.append(folder / f"environments-{number}.png")
            title = f"{number} training environments: average error ± Stability_Error"
            plots.plot_spread(panels, title, 3, paths[-1], oracle=ORACLE)
        return paths

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """How it was run, the pictures, and the table."""
        rates, wide = (
            " and ".join(", ".join(map(str, given[k])) for k in (2, 3))
            for given in (TRAIN_RATES, WIDE_TRAIN_RATES)
        )
        parts = [
            "# Several training environments",
            f"`{self.command}`",
            f"{self.cases[0].n:,} rows in all, from two or three training environments: bias rates "
            f"{rates}, with numbers {wide}. Errors are those over the test environments of the "
            f"study `peers`, means over {seed_text(self.seeds)}. `{LABELLED}`, `group_dro` and "
            "`anchor` are given the labels of the training environments, all other methods the "
            "pooled rows. The references are `constant`, which predicts the mean of the training "
            "rows, LR or OLS, and `oracle`, which is LR with a chosen penalty, or OLS, on the "
            "stable features alone; it is linear, so that other methods can be better.",
            _labels_text(tables[""]),
            *(f"![Errors of every method]({path.name})" for path in pictures),
            "The dotted line is the constant, the dashed one the oracle. *f1* is that of the "
            "features found stable.",
            "## All means",
            markdown(tables[""].round(4)),
        ]
        return join(parts)


def _labels_text(means: pd.DataFrame) -> str:
    """What the labels change for Stable, in thousandths of the average error."""
    average = means.pivot(index=["environments", "world"], columns="method", values="Average_Error")
    change = 1000 * (average[LABELLED] - average[OURS])
    rows = change.rename("change").reset_index().to_dict("records")
    listed = [f"{row['world']}, {row['environments']}: {row['change']:+.0f}" for row in rows]
    return (
        f"The labels lower the Average_Error of `{OURS}` in {int((change < 0).sum())} of "
        f"{len(change)} cases; the change in thousandths is " + "; ".join(listed) + "."
    )
