"""Logistic regression breaks, Stable holds
========================================

Nine features decide an outcome. Eight others have nothing to do with it, but rows were selected so
that each of these equals the outcome with probability r. A model is trained where r = .75, and
meets environments where r is anything from .1 to .9.
"""

# %%
# One training environment, nine test environments
# ------------------------------------------------
# Only the selection differs: how the outcome follows from its causes is the same everywhere.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from stablepred import StableClassifier, average_error, environment_errors, stability_error
from stablepred.data import SyntheticWorld

RATES = np.arange(1, 10) / 10

world = SyntheticWorld("s_indep_v", bias_on="outcome")
train = world.sample(2000, bias_rate=0.75, random_state=0)
tests = [world.sample(5000, bias_rate=rate, random_state=1) for rate in RATES]

# %%
# Two models, and two references
# ------------------------------
# The constant predicts the training rate for everybody. The oracle is told which features are
# causes.
causes = make_column_transformer(("passthrough", world.stable_features))
models = {
    "logistic regression": LogisticRegression().fit(train.X, train.y),
    "Stable": StableClassifier(random_state=0).fit(train.X, train.y),
    "constant": DummyClassifier(strategy="prior").fit(train.X, train.y),
    "oracle": make_pipeline(causes, LogisticRegression()).fit(train.X, train.y),
}
errors = pd.DataFrame({name: environment_errors(model, tests) for name, model in models.items()})
print(
    pd.DataFrame(
        {
            "Average_Error": errors.apply(average_error),
            "Stability_Error": errors.apply(stability_error),
        }
    ).round(3)
)

# %%
# Where r is near that of training, logistic regression is better than anything that ignores the
# biased features: they do help there. Then they turn against it.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, style in zip(models, ("o-", "D-", "--", ":"), strict=True):
    axes.plot(RATES, errors[name], style, label=name)
axes.axvline(0.75, color="grey", linewidth=0.8)
axes.annotate("trained here", (0.75, 0.02), (0.735, 0.02), ha="right", color="grey")
axes.set(xlabel="bias rate r of the test environment", ylabel="RMSE", ylim=(0, None))
axes.legend(frameon=False)

# %%
# What it decided
# ---------------
# The evidence and the verdict for each variable, and the decision in words.
stable = models["Stable"]
columns = ["variable", "effect", "explaining_away", "probability_noisy", "verdict", "used"]
print(stable.variables_[columns].round(2).to_string(index=False))
print(stable.decision_)
