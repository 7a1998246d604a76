"""How well the evidence tells stable from noisy
=============================================

How well two kinds of evidence tell stable features from noisy ones.

Run: python examples/evidence.py
"""

import sys
import warnings

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from stablepred import StableFeatureSelector
from stablepred.data import SyntheticWorld
from stablepred.exceptions import StablepredWarning

WORLDS = [
    ("s_indep_v", "outcome", 0.65),
    ("s_indep_v", "outcome", 0.75),
    ("s_indep_v", "outcome", 0.85),
    ("s_indep_v", "signal", 0.75),
    ("s_indep_v", "signal", 0.85),
    ("s_to_v", "outcome", 0.75),
    ("v_to_s", "outcome", 0.75),
    ("s_to_v", "signal", 0.75),
    ("v_to_s", "signal", 0.75),
    # Here P(V|S) shifts, and selection does not look at the outcome.
    ("s_indep_v", None, 0.85),
    ("s_to_v", None, 0.85),
    ("v_to_s", None, 0.85),
]


def main(seeds: range = range(5), rows: int = 2000) -> None:
    """Print the area under the ROC curve of each evidence, the F1 of the verdict, and its use."""
    print("world      bias on   r    AUC effect  AUC away  F1 of stable  causes used  noisy used")
    for setting, bias_on, rate in WORLDS:
        shift = "y_given_v" if bias_on else "v_given_s"
        world = SyntheticWorld(setting, shift=shift, bias_on=bias_on)
        effect, away, verdict, causes, noisy = np.mean(
            [judged(world, rate, rows, seed) for seed in seeds], axis=0
        )
        print(
            f"{setting:10} {bias_on or 'Z(S)':8} {rate:4}  {effect:10.2f}  {away:8.2f}  "
            f"{verdict:12.2f}  {causes:11.0%}  {noisy:10.0%}",
            flush=True,
        )


def judged(world: SyntheticWorld, rate: float, rows: int, seed: int) -> tuple[float, ...]:
    """Both kinds of evidence in one training environment, the verdict, and what is used."""
    train = world.sample(rows, bias_rate=rate, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)
        model = StableFeatureSelector(random_state=seed).fit(train.X, train.y)
    table = model.variables_
    truth = table["variable"].isin(world.stable_features)
    size = table["effect"].abs() / (table["high"] - table["low"])
    return (
        roc_auc_score(truth, size),
        roc_auc_score(truth, table["explaining_away"]),
        f1_score(truth, model.stable_features_),
        table.loc[truth, "used"].mean(),
        table.loc[~truth, "used"].mean(),
    )


if __name__ == "__main__":
    main(range(int(sys.argv[1])) if len(sys.argv) > 1 else range(5))
