"""How well two kinds of evidence tell stable features from noisy ones.

Run: python examples/evidence.py
"""

import sys

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from stablepred import DGBRClassifier
from stablepred.data import SyntheticWorld

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
]


def main(seeds: range = range(1000, 1005), rows: int = 2000) -> None:
    """Print the area under the ROC curve of each evidence and the F1 of the verdict."""
    print("world      bias on   r     AUC effect  AUC explaining away  F1 of stable_features_")
    for setting, bias_on, rate in WORLDS:
        world = SyntheticWorld(setting, bias_on=bias_on)
        results = []
        for seed in seeds:
            train = world.sample(rows, bias_rate=rate, random_state=seed)
            model = DGBRClassifier(l1=0.0, refit=False, random_state=seed).fit(train.X, train.y)
            table = model.feature_effects_
            truth = table["feature"].isin(world.stable_features)
            size = table["effect"].abs() / (table["high"] - table["low"])
            results.append(
                (
                    roc_auc_score(truth, size),
                    roc_auc_score(truth, table["explaining_away"]),
                    f1_score(truth, table["stable"]),
                )
            )
        effect, away, verdict = np.mean(results, axis=0)
        print(
            f"{setting:10} {bias_on:8} {rate:4}  {effect:10.2f}  {away:19.2f}  {verdict:22.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(range(1000, 1000 + int(sys.argv[1])) if len(sys.argv) > 1 else range(1000, 1005))
