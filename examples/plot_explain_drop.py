"""What broke between two tables?
==============================

A model that worked last year does worse this year. Is it because other people come now, or because
the same people behave differently? The answer decides what to do: get rows like the new ones,
or stop relying on some variable. ``explain_drop`` splits the loss into the two parts, with
intervals.
"""

# %%
# A shop, last year and this year
# -------------------------------
# Two things have changed. There are more young customers, who are harder to predict. And a discount
# that was sent mostly to those who would have bought anyway is now sent to anybody.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from stablepred import explain_drop
from stablepred.data import Environment


def customers(name: str, rows: int, young: float, sent: tuple[float, float], seed: int):
    """Customers; ``sent`` are the shares of non-buyers and buyers who get a discount."""
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(rows) < young, rng.normal(30, 6, rows), rng.normal(58, 8, rows))
    visits = rng.poisson(3, rows)
    member = rng.random(rows) < 0.4
    score = 0.06 * (age - 45) + 0.5 * (visits - 3) + member - 0.5
    buys = score + rng.logistic(0, np.where(age < 40, 1.5, 0.5)) > 0
    discount = rng.random(rows) < np.where(buys, sent[1], sent[0])
    X = pd.DataFrame({"age": age, "visits": visits, "member": member, "discount": discount})
    return Environment(name, X, buys.astype(int))


train = customers("training rows", 6000, young=0.3, sent=(0.2, 0.8), seed=0)
last_year = customers("last year", 4000, young=0.3, sent=(0.2, 0.8), seed=1)
this_year = customers("this year", 4000, young=0.6, sent=(0.5, 0.5), seed=2)

boosting = HistGradientBoostingClassifier(max_iter=60, random_state=0)
model = boosting.fit(train.X, train.y)

# %%
# The split
# ---------
# The first table holds rows of last year that the model has not seen: on its training rows it would
# look better than it is. The sentence comes first, the numbers behind it below.
report = explain_drop(model, last_year, this_year)
print(report)

# %%
# So most of the loss comes from the outcome given X, and the variable behind it is the discount.
# Younger customers account for the rest, which no choice of variables could have saved.
#
# Without the discount
# --------------------
# The same split for a model that does not use it. (A model of fewer columns is passed as a function
# of the table.)
columns = ["age", "visits", "member"]
without = HistGradientBoostingClassifier(max_iter=60, random_state=0)
without.fit(train.X[columns], train.y)


def predict_without(X: pd.DataFrame) -> np.ndarray:
    """Probabilities from three columns."""
    return without.predict_proba(X[columns])[:, 1]


other = explain_drop(predict_without, last_year, this_year)
print(other.verdict)

# %%
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
parts = ["X moves", "Y given X changes", "total"]
for k, (name, found) in enumerate({"with the discount": report, "without": other}.items()):
    rows = found.parts.loc[parts]
    ends = [rows["loss"] - rows["low"], rows["high"] - rows["loss"]]
    axes.bar(np.arange(3) + 0.38 * k, rows["loss"], 0.36, yerr=ends, capsize=3, label=name)
axes.set_xticks(np.arange(3) + 0.19, parts)
axes.axhline(0, color="black", linewidth=0.8)
axes.set(ylabel="rise of the mean squared error")
axes.legend(frameon=False, loc="upper left")
axes.spines[["top", "right"]].set_visible(False)

# %%
# What is left without it comes from X moving. A smaller rise is not yet a smaller loss, so look at
# the losses, too: the discount was worth having last year, and does more harm than that now.
for name, found in {"with the discount": report, "without": other}.items():
    print(f"{name:18} last year {found.losses[0]:.3f}   this year {found.losses[1]:.3f}")
