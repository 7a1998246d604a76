"""From your own CSV file to a verdict
===================================

A table of customers, as it came: a number, a category, missing values. In the north an offer was
sent to those who would buy anyway, in the south to anybody. A model is trained in the north. Can
it be used in the south?
"""

# %%
# The table
# ---------
# It is made here; for your own, give ``read_table`` the path of your file.
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import stablepred
from stablepred import StableClassifier, stability_report
from stablepred.data import fit_table, read_table
from stablepred.plotting import EnvironmentErrorsDisplay

rng = np.random.default_rng(0)
n = 4000
region = np.where(rng.random(n) < 0.7, "north", "south")
age = rng.integers(18, 80, n).astype(float)
member = np.where(rng.random(n) < 0.4, "yes", "no")
buys = (age > 45) + 0.8 * (member == "yes") + rng.normal(0, 0.5, n) > 0.9
offer = np.where(region == "north", buys ^ (rng.random(n) < 0.15), rng.random(n) < 0.5)
age[rng.random(n) < 0.05] = np.nan

folder = Path(tempfile.mkdtemp())
columns = {"age": age, "member": member, "offer": offer, "region": region, "buys": buys}
pd.DataFrame(columns).to_csv(folder / "customers.csv", index=False)

table = read_table(folder / "customers.csv")
print(table.head())

# %%
# Train in the north
# ------------------
# ``fit_table`` takes the rows as they are. Half of the north is kept back, so that both regions are
# judged on rows that are new.
north, south = table[table["region"] == "north"], table[table["region"] == "south"]
train, rest = north.iloc[::2], north.iloc[1::2]
model = fit_table(train, "buys", StableClassifier(random_state=0), drop=["region"])
print(model.estimator.decision_)

# %%
# The offer predicts well in the north, but it does not compete with age and membership to explain
# who buys, as a cause would. It is left out, although that costs accuracy in the north.
#
# Look at both regions
# --------------------
# The first sentence is the verdict. The model is compared with logistic regression on all columns,
# which was fitted on the same rows.
environments = [model.environment("north", rest), model.environment("south", south)]
report = stability_report(model.estimator, environments)
print(report)

# %%
# Both are right somewhere: logistic regression in the north, where the offer still tells who buys,
# and Stable in the south.
EnvironmentErrorsDisplay.from_report(report)

# %%
# One page for others, and the model in a file
# --------------------------------------------
# On the command line ``stablepred fit`` and ``stablepred report`` do the same.
report.to_html(folder / "report.html")
model.save(folder / "model")
again = stablepred.load(folder / "model")
print(again.predict(south.head(3)))
