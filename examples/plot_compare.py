"""Beside DRO, DWR and SRDO
========================

Other methods address the same problem. ``compare`` trains as many as you like on the same rows,
tests them in the same environments, and gives an interval for every error. Two worlds show why no
ranking holds everywhere.
"""

# %%
# Two ways to select rows
# -----------------------
# In the first world, rows were selected by the *signal*, the outcome before noise; then weights on
# the features can undo the selection. In the second they were selected by the *outcome* itself;
# then no weights on the features can.
import matplotlib.pyplot as plt

from stablepred import compare
from stablepred.data import SyntheticWorld

METHODS = ["constant", "lr", "dro_chi2", "dwr", "srdo", "gbr", "dgbr", "stable"]


def run(bias_on: str):
    """All methods in one world: trained at r = .75, tested at five other rates."""
    world = SyntheticWorld("s_indep_v", 10, bias_on=bias_on)
    train = world.sample(1000, bias_rate=0.75, random_state=0)
    rates = (0.1, 0.3, 0.5, 0.7, 0.9)
    tests = [world.sample(2000, bias_rate=rate, random_state=1) for rate in rates]
    return compare(train, tests, methods=METHODS, n_bootstrap=50)


results = {"by the signal": run("signal"), "by the outcome": run("outcome")}
print(results["by the signal"])

# %%
# DRO prepares for other mixtures of the training rows, and the noisy features help in most of them.
# DWR and SRDO make the columns uncorrelated or independent, GBR balances them, and DGBR balances an
# embedding of them; the heads of GBR and DGBR may also leave out the weaker half of the features.
# ``stable`` uses no weights in its model: it leaves out the features that it calls noisy.
print(results["by the outcome"])

# %%
# A line runs from the best to the worst environment of a method, with a mark at the average. Short
# and left is good; short alone is not, as the constant shows.
figure, panels = plt.subplots(
    1, 2, figsize=(9, 3.5), layout="constrained", sharex=True, sharey=True
)
for axes, (name, result) in zip(panels, results.items(), strict=True):
    errors = result.errors.loc[METHODS[::-1]]
    axes.hlines(errors.index, errors.min(axis=1), errors.max(axis=1), color="#7d8590")
    axes.plot(errors.mean(axis=1), errors.index, "o", color="#2b73cf")
    axes.set(xlabel="RMSE", title=f"Rows selected {name}")
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_xlim(0, None)

# %%
# This is one draw of each of two worlds, not a ranking. ``stablepred reproduce peers`` runs eleven
# worlds over several seeds, and :doc:`/baselines` says what each method assumes.
