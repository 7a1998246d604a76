"""Two ways to be stable and useless
=================================

The two ways in which minimising L_mix over everything gives a stable but useless model.

Run: python examples/two_cheats.py
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from stablepred import DGBRClassifier, average_error, environment_errors, stability_error
from stablepred.data import SyntheticWorld

ROWS, TEST_ROWS = 2000, 5000


def main(rows: int = ROWS, test_rows: int = TEST_ROWS) -> None:
    """Print both errors of each model, with the weight that is left on the rows with y = 0."""
    world = SyntheticWorld("s_indep_v", bias_on="signal")
    train = world.sample(rows, bias_rate=0.75, random_state=0)
    rates = np.arange(1, 10) / 10
    tests = [world.sample(test_rows, bias_rate=rate, random_state=1) for rate in rates]
    causes = make_column_transformer(("passthrough", world.stable_features))
    models = {
        "constant": DummyClassifier(strategy="prior").fit(train.X, train.y),
        "LR": LogisticRegression().fit(train.X, train.y),
        "paper, lambda 3 = .01": DGBRClassifier.from_paper(weight_l2=0.01, random_state=0),
        "paper, lambda 1 = 10^4": DGBRClassifier.from_paper(
            balance=1e4, reconstruction=0.0, random_state=0
        ),
        "paper": DGBRClassifier.from_paper(random_state=0),
        "default": DGBRClassifier(random_state=0),
        "oracle": make_pipeline(causes, LogisticRegression()).fit(train.X, train.y),
    }
    print(f"{'model':22} average  stability  weight on y = 0  spread of the embedding")
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(model, DGBRClassifier):
                model.fit(train.X, train.y)
        errors = environment_errors(model, tests)
        print(
            f"{name:22} {average_error(errors):7.3f}  {stability_error(errors):9.3f}"
            f"  {_weight_on_zeros(model, train.y):>15}  {_spread(model, train.X):>23}"
        )


def _weight_on_zeros(model: object, y: np.ndarray) -> str:
    if not isinstance(model, DGBRClassifier):
        return ""
    return f"{model.sample_weight_[y == 0].sum() / model.sample_weight_.sum():.3f}"


def _spread(model: object, X: pd.DataFrame) -> str:
    """Largest standard deviation of a coordinate of the embedding."""
    if not isinstance(model, DGBRClassifier):
        return ""
    return f"{model.transform(X).std(axis=0).max():.3f}"


if __name__ == "__main__":
    main()
