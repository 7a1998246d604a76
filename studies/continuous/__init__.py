"""The continuous worlds of the field as a study: regression with one feature tied by selection."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from studies import plots
from studies.continuous.cases import (
    BALANCED,
    NAME,
    OLS,
    ORACLE_OLS,
    OURS,
    OURS_BOOSTING,
    list_cases,
    run_case,
)
from studies.methods import CONSTANT
from studies.records import Records
from studies.study import Tables
from studies.tables import ERRORS, SETTINGS, join, markdown, mean_interval, seed_text
from studies.worlds import WorldStudy


class ContinuousStudy(WorldStudy):
    """Four settings, three numbers of rows, nine methods."""

    folder = NAME
    run = staticmethod(run_case)
    list_cases = staticmethod(list_cases)
    key = ("setting", "n", "method")

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """RMSE over the test environments, a picture per number of rows."""
        errors = pd.DataFrame(
            [
                {"setting": c.setting, "n": c.n, "method": c.method, "environment": r, "error": e}
                for c in self.cases
                for r, e in zip(c.rates, records[c.definition]["errors"], strict=True)
            ]
        )
        paths = []
        for n, part in errors.groupby("n"):
            panels = {
                SETTINGS.get(str(setting), str(setting)): _curves(own)
                for setting, own in part.groupby("setting", sort=False)
            }
            paths.append(folder / f"{NAME}-{n}.png")
            plots.plot_curves(panels, f"n = {n}", min(len(panels), 2), paths[-1])
        return paths

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """How it was run, the pictures, and the table."""
        case = self.cases[0]
        head = [
            "# Continuous worlds",
            f"`{self.command}`",
            "Ten numbers, five of which are causes of the outcome, through a linear function and "
            "one product; the noise has a standard deviation of .55, and no method can have a "
            f"smaller error. RMSE over {len(case.rates)} test environments, average and standard "
            f"deviation; means over {seed_text(self.seeds)}. Trained at bias rate 1.7, in the "
            "collinear world 2.5.",
            f"References: `{CONSTANT}`, the mean of the training rows; `{OLS}`; the oracles, which "
            f"are given the causes alone. `{ORACLE_OLS}` cannot represent the product, so a method "
            f"that finds it is better. `{BALANCED}` is OLS under the weights of `GlobalBalancer`, "
            f"and `{OURS_BOOSTING}` is `StableRegressor` around the same boosting that stands "
            "beside it.",
            " ".join(_drawbacks(tables[""], rival) for rival in (OLS, ORACLE_OLS)),
        ]
        shown = [f"![{path.stem}]({path.name})" for path in pictures]
        return join([*head, *shown, "## All means", markdown(tables[""].round(4))])


def _drawbacks(summary: pd.DataFrame, rival: str) -> str:
    """Where `Stable` has a larger error of either kind than a rival."""
    errors = summary.set_index(["method", "setting", "n"])[list(ERRORS.values())]
    larger = (errors.loc[OURS] > errors.loc[rival]).reset_index()
    found = []
    for row in larger.to_dict("records"):
        if titles := [title for title in ERRORS.values() if row[title]]:
            setting = SETTINGS.get(row["setting"], row["setting"])
            found.append(f"{setting}, n = {row['n']} ({' and '.join(titles)})")
    where = "; ".join(found) if found else "none of the settings"
    return f"`{OURS}` has a larger error than `{rival}` in {where}."


def _curves(errors: pd.DataFrame) -> pd.DataFrame:
    rows = [
        (*key, *mean_interval(own["error"]))
        for key, own in errors.groupby(["method", "environment"], sort=False)
    ]
    return pd.DataFrame(rows, columns=["method", "environment", "mean", "half"])
