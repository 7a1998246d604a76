"""Worlds with two and three training environments: what their labels are good for, as a study."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from studies import plots
from studies.environments.cases import (
    LABELLED,
    NAME,
    TRAIN_RATES,
    WIDE_TRAIN_RATES,
    Case,
    list_cases,
    run_case,
)
from studies.peers.cases import ORACLE
from studies.records import Definition, Records
from studies.study import Study, Tables
from studies.tables import ERRORS, join, markdown, mean_interval, seed_text

KEY = ["environments", "world", "method"]


class EnvironmentsStudy(Study):
    """Six worlds, two or three training environments, eight methods."""

    folder = NAME
    run = staticmethod(run_case)

    @cached_property
    def cases(self) -> list[Case]:
        """Every method in every world for every seed."""
        return list_cases(self.seeds, quick=self.quick)

    @property
    def definitions(self) -> list[Definition]:
        """What the records are keyed by."""
        return [case.definition for case in self.cases]

    def tables(self, records: Records) -> Tables:
        """One row per run; means over seeds."""
        rows = []
        for case in self.cases:
            result, own = records[case.definition], {name: getattr(case, name) for name in KEY}
            numbers = {name: result[name] for name in (*ERRORS, "f1", "fit_seconds")}
            rows.append(own | {"seed": case.seed} | numbers)
        runs = pd.DataFrame(rows)
        return {"runs": runs, "": _means(runs)}

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """Both errors of every method, a panel per world and a picture per number."""
        paths = []
        for number, part in self.tables(records)[""].groupby("environments"):
            panels = {str(world): own for world, own in part.groupby("world", sort=False)}
            paths.append(folder / f"{NAME}-{number}.png")
            title = f"{number} training environments: average error ± Stability_Error"
            plots.plot_spread(panels, title, 3, paths[-1], oracle=ORACLE)
        return paths

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """How it was run, the pictures, and the table."""
        rates, wide = (
            " and ".join(", ".join(map(str, r)) for r in given.values())
            for given in (TRAIN_RATES, WIDE_TRAIN_RATES)
        )
        shown = tables[""].assign(**{name: tables[""][name].round(4) for name in _numbers()})
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
            markdown(shown),
        ]
        return join(parts)


def _numbers() -> list[str]:
    return [*(f"{title}{end}" for title in ERRORS.values() for end in ("", " ±")), "f1", "seconds"]


def _means(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, with half the width of their intervals."""
    rows = []
    for key, own in runs.groupby(KEY, sort=False):
        row = dict(zip(KEY, key, strict=True))
        for name, title in ERRORS.items():
            row[title], row[f"{title} ±"] = mean_interval(own[name])
        rows.append(row | {"f1": own["f1"].mean(), "seconds": own["fit_seconds"].mean()})
    return pd.DataFrame(rows)


def _labels_text(means: pd.DataFrame) -> str:
    """What the labels change for Stable, in thousandths of the average error."""
    average = means.pivot(index=["environments", "world"], columns="method", values="Average_Error")
    change = 1000 * (average[LABELLED] - average["stable"])
    rows = change.rename("change").reset_index().to_dict("records")
    listed = [f"{row['world']}, {row['environments']}: {row['change']:+.0f}" for row in rows]
    return (
        f"The labels lower the Average_Error of `stable` in {int((change < 0).sum())} of "
        f"{len(change)} cases; the change in thousandths is " + "; ".join(listed) + "."
    )
