"""The methods of the field beside this library's, in eleven worlds, as a study."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from studies.peers.cases import NAME, Case, list_cases, run_case
from studies.records import Definition, Records
from studies.study import Study, Tables
from studies.tables import ERRORS, join, markdown, mean_interval, seed_text


class PeersStudy(Study):
    """Every method that one training environment is enough for, in every world."""

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
        """One row per run; means over seeds; one row per method with average / stability."""
        found = [(case, records[case.definition]) for case in self.cases]
        runs = pd.DataFrame(
            [
                {"world": case.world, "method": case.method, "seed": case.seed}
                | {name: result[name] for name in (*ERRORS, "fit_seconds")}
                for case, result in found
            ]
        )
        means = _means(runs)
        return {"runs": runs, "": means, "side-by-side": _side_by_side(means)}

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """No picture."""
        return []

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """How it was run, and the errors side by side."""
        parts = [
            "# The methods of the field",
            f"`{self.command}`",
            "Average_Error / Stability_Error (RMSE of the probability, or of the number) over the "
            f"test environments of each world; means over {seed_text(self.seeds)}.",
            markdown(tables["side-by-side"]),
        ]
        return join(parts)


def _means(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, with half the width of their intervals."""
    rows = []
    for (world, method), own in runs.groupby(["world", "method"], sort=False):
        row = {"world": world, "method": method}
        for name, title in ERRORS.items():
            row[title], row[f"{title} ±"] = mean_interval(own[name])
        rows.append(row | {"seconds": own["fit_seconds"].mean()})
    return pd.DataFrame(rows)


def _side_by_side(means: pd.DataFrame) -> pd.DataFrame:
    """A row per method, a column per world."""
    average, stability = (means[title].map("{:.3f}".format) for title in ERRORS.values())
    text = means.assign(errors=average + " / " + stability)
    wide = text.pivot(index="method", columns="world", values="errors")
    order = [means[name].unique() for name in ("method", "world")]
    return wide.reindex(index=order[0], columns=order[1]).reset_index().fillna("")
