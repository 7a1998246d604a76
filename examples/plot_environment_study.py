"""A study with environments of your own
=====================================

How strong can a habit be before a model leans on it? A study answers such a question with
environments that you make yourself: any table with an outcome will do, given as an ``Environment``.
"""

# %%
# Clinics again
# -------------
# Four findings are causes of a disease, two tests are ordered by habit: in a clinic of habit .8,
# four fifths of the ill and one fifth of the others are given each test.
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from stablepred import GBRClassifier, StableClassifier, environment_errors
from stablepred.data import Environment

CAUSES, TESTS = ["fever", "cough", "old", "smoker"], ["x_ray", "blood_test"]
HABITS = (0.5, 0.6, 0.7, 0.8, 0.9)


def clinic(rows: int, habit: float, seed: int) -> Environment:
    """Patients of one clinic."""
    rng = np.random.default_rng(seed)
    causes = rng.random((rows, len(CAUSES))) < [0.5, 0.4, 0.3, 0.5]
    ill = causes @ [2.0, 1.5, 1.0, 1.0] + rng.normal(0, 0.7, rows) > 2.4
    ordered = rng.random((rows, len(TESTS))) < np.where(ill, habit, 1 - habit)[:, None]
    X = pd.DataFrame(np.hstack([causes, ordered]).astype(int), columns=[*CAUSES, *TESTS])
    return Environment(f"habit {habit:g}", X, ill.astype(int))


# %%
# Train at one habit, test at all
# -------------------------------
# The oracle knows the causes; the constant predicts the same for every patient. What lies between
# the two can be won or lost.
def models(train: Environment, seed: int) -> dict[str, object]:
    """Fitted models and references by name."""
    causes = make_column_transformer(("passthrough", CAUSES))
    oracle = make_pipeline(causes, LogisticRegression())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the errors below say it
        return {
            "logistic regression": LogisticRegression().fit(train.X, train.y),
            "GBR": GBRClassifier(random_state=seed).fit(train.X, train.y),
            "Stable": StableClassifier(random_state=seed).fit(train.X, train.y),
            "oracle": oracle.fit(train.X, train.y),
            "constant": DummyClassifier(strategy="prior").fit(train.X, train.y),
        }


records = []
for habit in HABITS:
    for seed in range(2):
        train = clinic(1000, habit, seed)
        tests = [clinic(2000, other, 50 + seed) for other in (0.1, 0.3, 0.5, 0.7, 0.9)]
        for name, model in models(train, seed).items():
            errors = environment_errors(model, tests)
            records.append((habit, name, errors.mean(), errors.max()))
table = pd.DataFrame(records, columns=["habit", "model", "average", "worst"])
print(table.groupby(["habit", "model"], sort=False).mean().unstack("habit").round(3).to_string())

# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for axes, what in zip(panels, ("average", "worst"), strict=True):
    means = table.groupby(["model", "habit"], sort=False)[what].mean().unstack("habit")
    for (name, row), style in zip(means.iterrows(), ("o-", "s-", "D-", ":", "--"), strict=True):
        axes.plot(HABITS, row, style, label=name)
    axes.set(title=f"{what} of five clinics", xlabel="habit where trained", xticks=HABITS)
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set(ylabel="RMSE, mean of two draws", ylim=(0, None))
panels[0].legend(frameon=False)

# %%
# The stronger the habit, the more logistic regression leans on the tests. A weak habit is easily
# missed: at .6 Stable calls one test or both noisy, but keeps one or both, because the expected
# error is nearly the same with and without them. GBR leaves out the weaker half of the variables,
# here a cause, too, which costs something even where there is no habit at all.
