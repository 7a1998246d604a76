"""The methods of the field beside this library's, in eleven worlds, as a study."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from studies import plots
from studies.peers.cases import ORACLE, OURS, list_cases, run_case
from studies.records import Records
from studies.study import Tables
from studies.tables import ERRORS, join, markdown, seed_text
from studies.worlds import WorldStudy


class PeersStudy(WorldStudy):
    """Every method that one training environment is enough for, in every world."""

    folder = "peers"
    run = staticmethod(run_case)
    list_cases = staticmethod(list_cases)
    key = ("world", "method")

    def tables(self, records: Records) -> Tables:
        """One row per run; means over seeds; one row per method with average / stability."""
        tables = super().tables(records)
        return tables | {"side-by-side": _side_by_side(tables[""])}

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """Both errors of every method, a panel per world."""
        means = self.tables(records)[""]
        panels = {str(world): own for world, own in means.groupby("world", sort=False)}
        path = folder / "peers.png"
        title = "Average error over the test environments, with a Stability_Error to either side"
        plots.plot_spread(panels, title, 4, path, oracle=ORACLE)
        return [path]

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """How it was run, the errors side by side, and what they do not say."""
        seconds = tables[""].groupby("method", sort=False)["seconds"].mean()
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
            markdown(tables["side-by-side"].assign(seconds=seconds.round(2).to_numpy())),
            *(f"![Errors of every method]({path.name})" for path in pictures),
            "The dotted line is the constant, the dashed one the oracle. A Stability_Error is "
            "small also where a method has learned little, so read it beside the average: the "
            "constant has nearly none in most worlds. `stable` was developed on these worlds, with "
            "other seeds, and every one of them meets its assumption that noisy variables are tied "
            "to the outcome by selection. On real tables there is much less to gain; see the study "
            "`natural`. *seconds* are those of a fit on one thread beside other programs: the "
            "median over seeds, then the mean over worlds.",
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


def _side_by_side(means: pd.DataFrame) -> pd.DataFrame:
    """A row per method, a column per world."""
    average, stability = (means[title].map("{:.3f}".format) for title in ERRORS.values())
    text = means.assign(errors=average + " / " + stability)
    wide = text.pivot(index="method", columns="world", values="errors")
    order = [means[name].unique() for name in ("method", "world")]
    return wide.reindex(index=order[0], columns=order[1]).reset_index().fillna("")
