"""The methods of the field beside this library's, in eleven worlds, as a study."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from studies import plots
from studies.peers.cases import NAME, ORACLE, OURS, Case, list_cases, run_case
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
        """Both errors of every method, a panel per world."""
        means = self.tables(records)[""]
        panels = {str(world): own for world, own in means.groupby("world", sort=False)}
        path = folder / f"{NAME}.png"
        title = "Average error over the test environments, with a Stability_Error to either side"
        plots.plot_spread(panels, title, 4, path, oracle=ORACLE)
        return [path]

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """How it was run, the errors side by side, and what they do not say."""
        parts = [
            "# The methods of the field",
            f"`{self.command}`",
            "Average_Error / Stability_Error (RMSE of the probability, or of the number) over the "
            f"test environments of each world; means over {seed_text(self.seeds)}. Every method is "
            f"trained on {self.cases[0].n:,} rows of one environment, with its default parameters, "
            "under the names of `stablepred.compare`. The references are `constant`, which "
            "predicts the mean of the training rows, and `oracle`, which is LR with a chosen "
            "penalty, or OLS, on the stable features alone. It is linear, so a method that finds "
            "the stable features and fits products of them can be better.",
            _ranking_text(tables[""]),
            markdown(tables["side-by-side"]),
            *(f"![Errors of every method]({path.name})" for path in pictures),
            "The dotted line is the constant, the dashed one the oracle. A Stability_Error is "
            "small also where a method has learned little, so read it beside the average: the "
            "constant has nearly none in most worlds. `stable` was developed on these worlds, with "
            "other seeds, and every one of them meets its assumption that noisy variables are tied "
            "to the outcome by selection. On real tables there is much less to gain; see the study "
            "`natural`.",
        ]
        return join(parts)


def _ranking_text(means: pd.DataFrame) -> str:
    """In how many worlds ``stable`` comes first, and which method is first in the others."""
    rivals = means[means["method"] != ORACLE].groupby("world", sort=False)
    best = {
        str(world): str(own.set_index("method")["Average_Error"].idxmin()) for world, own in rivals
    }
    others = [f"`{method}` in {world}" for world, method in best.items() if method != OURS]
    text = f"`{OURS}` has the smallest Average_Error in {len(best) - len(others)} of {len(best)}"
    return f"{text} worlds{'; ' if others else ''}{', '.join(others)}."


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
