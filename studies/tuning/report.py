"""The tuning study's records -> tables."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from studies.methods import CONSTANT, LR, ORACLE
from studies.records import Records
from studies.tables import SETTINGS, markdown, seed_text
from studies.tuning.cases import SEARCH, Case
from studies.tuning.truth import BEST, STABILITY_WEIGHT

NUMBERS = [
    "regret",
    "rank_correlation",
    "regret unguarded",
    "regret by worst",
    "noisy",
    "stable_called_noisy",
]


def long_table(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    """One row per case and way of tuning."""
    rows = []
    for case in cases:
        result = records[case.definition]
        references = {
            f"{name} {label}": value
            for name, both in result["references"].items()
            for label, value in zip(("average", "stability"), both, strict=True)
        }
        world = {name: getattr(case, name) for name in ("setting", "bias_on", "stable", "seed")}
        for way, found in result["ways"].items():
            ranking, count, kind = way.split(" | ")
            chosen = dict(zip(("chosen average", "chosen stability"), found["chosen"], strict=True))
            rows.append(
                world
                | {"ranking": ranking, "called noisy": count, "validation": kind}
                | {name: found.get(name) for name in NUMBERS}
                | chosen
                | references
            )
    frame = pd.DataFrame(rows)
    frame[NUMBERS] = frame[NUMBERS].astype(np.float64)
    return frame


def ways_table(long: pd.DataFrame) -> pd.DataFrame:
    """Regret and rank correlation of every way, medians over cases, the least regret first."""
    groups = long.groupby(["ranking", "called noisy", "validation"], sort=False)
    table = pd.DataFrame(
        {
            "regret": groups["regret"].median(),
            "upper quartile": groups["regret"].quantile(0.75),
            "rank correlation": groups["rank_correlation"].median(),
            "unguarded": groups["regret unguarded"].median(),
            "by worst": groups["regret by worst"].median(),
        }
    )
    for column in ("setting", "bias_on", "stable"):
        for value in long[column].unique():
            part = long[long[column] == value].groupby(table.index.names, sort=False)
            title = f"stable {value}" if column == "stable" else SETTINGS.get(value, value)
            table[title] = part["regret"].median()
    return table.sort_values(["regret", "upper quartile"], kind="stable").reset_index()


def worlds_table(long: pd.DataFrame, ranking: str = SEARCH) -> pd.DataFrame:
    """The search in every world: medians over seeds, errors as average / stability."""
    rows = long[long["ranking"] == ranking]
    groups = rows.groupby(["setting", "bias_on", "stable"], sort=False)
    table = pd.DataFrame({"regret": groups["regret"].median().map("{:.2f}".format)})
    for name in (LR, CONSTANT, ORACLE, BEST, "chosen"):
        medians = (groups[f"{name} {label}"].median() for label in ("average", "stability"))
        average, stability = (column.map("{:.3f}".format) for column in medians)
        table[name] = average + " / " + stability
    return table.reset_index()


def auc_table(records: Records, cases: Sequence[Case]) -> pd.DataFrame:
    """How well every ranking separates stable from noisy features: mean area under the ROC."""
    rows = [
        {"world": f"{SETTINGS[case.setting]} {case.bias_on}", **records[case.definition]["auc"]}
        for case in cases
    ]
    return pd.DataFrame(rows).groupby("world", sort=False).mean().T.rename_axis("ranking").round(2)


def page_parts(long: pd.DataFrame, aucs: pd.DataFrame, cases: Sequence[Case]) -> list[str]:
    """How well the search chooses, and all other ways of tuning."""
    seeds = seed_text({case.seed for case in cases})
    sizes = sorted({(case.n, case.n_features, case.test_rows) for case in cases})
    search = long.loc[long["ranking"] == SEARCH]
    above = (search["chosen average"] > search["constant average"]).mean()
    return [
        f"{len(cases)} cases, {seeds}, rows, features and test rows "
        f"per environment {', '.join(map(str, sizes))}, training r = {cases[0].train_rate:g}, test "
        "r = .1 ... .9. Candidates: logistic regressions without weights, with weights that "
        "balance the features, and with weights that balance embeddings, over a path of lambda 5 "
        "and all refits; constant predictors excluded. Regret is (test score of the chosen - "
        "best candidate's) / (LR's - best candidate's), the score Average_Error + "
        f"{STABILITY_WEIGHT:g} Stability_Error.",
        f"**{SEARCH} with its defaults: median regret {search['regret'].median():.2f}**, median "
        f"rank correlation {search['rank_correlation'].median():.2f}; in {above:.0%} of the cases "
        "the average error of its choice is above the constant predictor's.",
        "## Ways of tuning",
        "Medians over seeds and worlds, the least regret first. *Ranking*: by the effect of a "
        "feature on the outcome under no weights, weights on raw features, on the embedding of "
        "one encoder or of several; by explaining away; or by the smaller of the last two. "
        "*Called noisy*: the lower half, or all below the threshold of the test. *Unguarded*: the "
        "regret when candidates whose average error is no better than a constant's are not put "
        "last. *By worst*: the regret when the worst environment is the criterion.",
        markdown(ways_table(long).round(2)),
        f"## {SEARCH} by world",
        "Medians over seeds; errors as Average_Error / Stability_Error.",
        markdown(worlds_table(long)),
        "## Rankings",
        "Area under the ROC curve, stable against noisy features, means over cases.",
        markdown(aucs.reset_index()),
    ]
