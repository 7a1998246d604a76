"""Weights for any model: the numbers
==================================

Balancing weights for any scikit-learn model that takes sample_weight.

Run: python examples/any_model.py
"""

from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from stablepred import (
    BalancedClassifier,
    DGBRClassifier,
    average_error,
    environment_errors,
    stability_error,
)
from stablepred.data import SyntheticWorld

MODELS = {
    "logistic regression": LogisticRegression(),
    "gradient boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
}


def main(rows: int = 2000, test_rows: int = 5000) -> None:
    """Print both errors of each model: as it is, and under two kinds of weights."""
    world = SyntheticWorld("s_indep_v", bias_on="signal")
    train = world.sample(rows, bias_rate=0.75, random_state=0)
    rates = [0.1, 0.3, 0.5, 0.7, 0.9]
    tests = [world.sample(test_rows, bias_rate=r, random_state=1) for r in rates]

    # Weights that balance the features (the default), or an embedding that predicts the outcome.
    embedding = DGBRClassifier(l1=0.0, refit=False, random_state=0)
    print(f"{'model':20} {'weights':20} average  stability  effective rows")
    for name, model in MODELS.items():
        fitted = {
            "none": clone(model).fit(train.X, train.y),
            "of the features": BalancedClassifier(model).fit(train.X, train.y),
            "of the embedding": BalancedClassifier(model, embedding).fit(train.X, train.y),
        }
        for kind, one in fitted.items():
            errors = environment_errors(one, tests)
            share = one.balance_report_.effective_share if kind != "none" else 1.0
            print(
                f"{name:20} {kind:20} {average_error(errors):7.3f}  "
                f"{stability_error(errors):9.3f}  {share:14.0%}"
            )


if __name__ == "__main__":
    main()
