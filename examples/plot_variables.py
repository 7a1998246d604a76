"""Which variables can be relied on?
=================================

A model is only as stable as the variables it uses. ``StableClassifier`` judges each of them,
leaves variables out only where that is expected to pay, and keeps a record of both: ``variables_``
has the evidence, ``decision_`` the comparison.
"""

# %%
# Clinics with a habit
# --------------------
# Four findings are causes of a disease. Three tests have nothing to do with it, but in the clinic
# where the data come from they are ordered mostly for patients who are believed to be ill.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from stablepred import StableClassifier, environment_errors
from stablepred.data import Environment
from stablepred.plotting import VariableEffectsDisplay

CAUSES, TESTS = ["fever", "cough", "old", "smoker"], ["x_ray", "blood_test", "scan"]


def clinic(rows: int, habit: float, seed: int) -> Environment:
    """Patients of one clinic; ``habit`` is the share of ill patients who are given each test."""
    rng = np.random.default_rng(seed)
    causes = rng.random((rows, len(CAUSES))) < [0.5, 0.4, 0.3, 0.5]
    ill = causes @ [2.0, 1.5, 1.0, 1.0] + rng.normal(0, 0.7, rows) > 2.4
    ordered = rng.random((rows, len(TESTS))) < np.where(ill, habit, 1 - habit)[:, None]
    X = pd.DataFrame(np.hstack([causes, ordered]).astype(int), columns=[*CAUSES, *TESTS])
    return Environment(f"habit {habit:g}", X, ill.astype(int))


train = clinic(3000, habit=0.8, seed=0)
model = StableClassifier(random_state=0).fit(train.X, train.y)
columns = ["variable", "effect", "explaining_away", "probability_noisy", "verdict", "used"]
print(model.variables_[columns].round(2).to_string(index=False))

# %%
# ``effect`` is the paper's evidence: the difference that a variable makes to the outcome, once
# balancing weights have made it independent of all others. Here it cannot decide. Patients were
# tested *because* they were believed to be ill, so tests keep a large effect under any weights.
VariableEffectsDisplay.from_estimator(model).ax_.set_xlabel("weighted effect")

# %%
# ``explaining_away`` can. Causes of the same outcome compete to explain it: among the ill, patients
# without fever are more likely to smoke. Tests ordered because of the outcome do not compete with
# anything. The score is a z-score, and a cause has a large positive one.
table = model.variables_.sort_values("explaining_away")
colours = {"stable": "#2b73cf", "undecided": "#a67c0a", "noisy": "#7d8590"}
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for verdict, colour in colours.items():
    rows = table[table["verdict"] == verdict]
    if len(rows):
        axes.barh(rows["variable"], rows["explaining_away"], color=colour, label=verdict)
axes.axvline(0, color="black", linewidth=0.8)
axes.set(xlabel="explaining away (z)")
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)

# %%
# The decision
# ------------
# A verdict is not yet a decision. Leaving variables out costs accuracy as long as nothing changes,
# so candidates are compared on held-out rows: as they are (``error``), and with the suspect
# variables taken from other rows (``error_redrawn``).
print(model.decision_)

# %%
# Was it right?
# -------------
# In clinics with another habit, it was.
lr = LogisticRegression().fit(train.X, train.y)
others = [clinic(5000, habit, seed=1) for habit in (0.2, 0.5, 0.8)]
errors = {"LR": environment_errors(lr, others), "Stable": environment_errors(model, others)}
print(pd.DataFrame(errors).round(3))
