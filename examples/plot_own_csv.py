"""From your own CSV file to a verdict
===================================

A table of customers, as it came: a number, a category, missing values. In the north an offer was
sent to those who would buy anyway, in the south to anybody. A model is trained in the north. Can
it be used in the south?
"""

# %%
# The table
# ---------
# Put the path of your own file here.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from stablepred import stability_report
from stablepred.data import fit_table, read_table

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
# Train in the north, look at both
# --------------------------------
# Some rows of the north are kept back, so that both regions are judged on rows that are new.
north, south = table[table["region"] == "north"], table[table["region"] == "south"]
train, rest = north.iloc[::2], north.iloc[1::2]
model = fit_table(train, "buys", LogisticRegression(), drop=["region"])
environments = [model.environment("north", rest), model.environment("south", south)]
report = stability_report(model.estimator, environments)
print(report)

# %%
# The same with the offer left out, which you might do once you know how offers were sent.
without = fit_table(train, "buys", LogisticRegression(), drop=["region", "offer"])
other = stability_report(
    without.estimator, [without.environment("north", rest), without.environment("south", south)]
)

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for k, (name, found) in enumerate({"with the offer": report, "without": other}.items()):
    errors = found.errors["error"].head(2)  # those of the environments, then the summaries
    axes.bar(np.arange(2) + 0.35 * k, errors, width=0.33, label=name)
axes.set_xticks([0.175, 1.175], ["north (trained here)", "south"])
axes.set(ylabel="RMSE")
axes.legend(frameon=False)

# %%
# One page for others
# -------------------
# The same as a page, in one file: ``stablepred report`` on the command line writes it, too.
report.to_html(folder / "report.html")
print((folder / "report.html").stat().st_size // 1000, "kB")
