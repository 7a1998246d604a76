"""Compare models over environments
================================

Compare models across environments that none of them was trained in.

Run: python examples/compare_models.py
"""

import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from stablepred import (
    DGBRClassifier,
    GBRClassifier,
    StableClassifier,
    average_error,
    environment_errors,
    error_interval,
    stability_error,
    worst_error,
)
from stablepred.data import SyntheticWorld
from stablepred.evaluation.references import ConstantPredictor


def main(rows: int = 2000, test_rows: int = 5000) -> None:
    """Print the error of each model in each environment, and what sums them up."""
    world = SyntheticWorld("s_indep_v", bias_on="outcome")
    train = world.sample(rows, bias_rate=0.65, random_state=0)
    tests = [world.sample(test_rows, bias_rate=r / 10, random_state=1) for r in range(1, 10)]
    models = {
        "logistic regression": LogisticRegression().fit(train.X, train.y),
        "random forest": RandomForestClassifier(min_samples_leaf=5, random_state=0).fit(
            train.X, train.y
        ),
        "GBR": GBRClassifier(random_state=0).fit(train.X, train.y),
        "DGBR": DGBRClassifier(random_state=0).fit(train.X, train.y),
        "Stable": StableClassifier(random_state=0).fit(train.X, train.y),
        # Always as stable as can be, and useless: read every stability beside it.
        "constant": ConstantPredictor(train),
    }
    errors = pd.DataFrame(
        {name: environment_errors(model, tests) for name, model in models.items()}
    )
    print(errors.T.round(3).to_string())
    summary = {
        "Average_Error": errors.apply(average_error),
        "Stability_Error": errors.apply(stability_error),
        "Worst_Error": errors.apply(worst_error),
    }
    print(pd.DataFrame(summary).round(3).to_string())
    # How sure are these numbers, given so many test rows?
    print(error_interval(models["Stable"], tests, n_bootstrap=200, random_state=0).round(3))


if __name__ == "__main__":
    main()
