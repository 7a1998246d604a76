"""When balancing hurts
====================

Balancing weights make every variable independent of all others. On a table of people that is too
much to ask: marital status, sex and family role go together everywhere, and the rows in which they
do not are few. Weights that live on those rows cost more than they bring.
"""

# %%
# A table of people
# -----------------
# It is simulated, so that this page needs no download, but made like the census table "adult":
# who earns much, from facts that depend on each other by nature. The four regions differ in age
# and schooling, and no row was selected. ``load_dataset("adult")`` gives the real table.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from stablepred import BalancedClassifier, StableClassifier, environment_errors
from stablepred.data import Environment


def region(name: str, rows: int, older: float, schooled: float, seed: int) -> Environment:
    """People of one region."""
    rng = np.random.default_rng(seed)
    age = 18 + 60 * rng.beta(2 + older, 3, rows)
    woman = rng.random(rows) < 0.5
    married = rng.random(rows) < 0.85 * expit((age - 30) / 5)
    husband = married & ~woman & (rng.random(rows) < 0.97)
    wife = married & woman & (rng.random(rows) < 0.95)
    lives_with_parents = ~married & (age < 30) & (rng.random(rows) < 0.8)
    degree = rng.random(rows) < schooled
    manager = rng.random(rows) < 0.1 + 0.45 * degree
    hours = 25 + 10 * ~woman + 8 * manager + 5 * married + rng.normal(0, 8, rows)
    score = 0.05 * (age - 18) + 1.3 * degree + manager + 0.07 * hours + 1.4 * married - 0.3 * woman
    columns = {
        "woman": woman,
        "married": married,
        "husband": husband,
        "wife": wife,
        "lives_with_parents": lives_with_parents,
        "degree": degree,
        "manager": manager,
        "over_40": age > 40,
        "long_hours": hours > 40,
    }
    rich = rng.random(rows) < expit(score - 7.2)
    return Environment(name, pd.DataFrame(columns).astype(int), rich.astype(int))


train = region("home", 4000, older=0, schooled=0.3, seed=0)
tests = [
    region("home, new rows", 10_000, older=0, schooled=0.3, seed=1),
    region("schooled", 10_000, older=0.5, schooled=0.6, seed=2),
    region("mixed", 10_000, older=1, schooled=0.4, seed=3),
    region("old", 10_000, older=2, schooled=0.2, seed=4),
]

# %%
# With weights and without
# ------------------------
models = {
    "logistic regression": LogisticRegression(),
    "forest": RandomForestClassifier(100, min_samples_leaf=20, random_state=0),
}
loss = {}
for name, model in models.items():
    plain = model.fit(train.X, train.y)
    balanced = BalancedClassifier(model).fit(train.X, train.y)
    loss[name] = environment_errors(balanced, tests) - environment_errors(plain, tests)
print(pd.DataFrame(loss).round(4))

# %%
# Both models are worse with the weights, in every region, the one of training included. Nothing
# was gained for it: no variable was tied to the outcome by selection.
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
places = np.arange(len(tests))
for k, (name, values) in enumerate(loss.items()):
    axes.barh(places + 0.38 * k, values, height=0.36, label=name)
axes.set_yticks(places + 0.19, [test.name for test in tests])
axes.invert_yaxis()
axes.axvline(0, color="black", linewidth=0.8)
axes.set(xlabel="RMSE with balancing weights minus RMSE without")
figure.legend(frameon=False, loc="outside upper right", ncols=2)
axes.spines[["top", "right"]].set_visible(False)

# %%
# How to notice
# -------------
# The report of the weights says it before any test row is seen. One row in ten is left,
# effectively, and the pairs that belong together by nature are still far from balanced.
print(balanced.balance_report_)

# %%
# ``StableClassifier`` leaves out variables only if the training rows look as if they had been
# selected. These do not, so it keeps all of them and says so.
stable = StableClassifier(random_state=0).fit(train.X, train.y)
print(stable.decision_)
