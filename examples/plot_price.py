"""The price of stability
======================

Leaving a variable out costs accuracy here and may save accuracy elsewhere. How much of each?
``stability_price`` goes from all variables to the stable ones, one at a time, and measures both.
"""

# %%
# Where it is worth the price
# ---------------------------
# Eight of the features equal the outcome in three rows of four, by selection alone. The path leaves
# out the most suspect variable first. ``error_training`` is the error on held-out rows as they are,
# ``error_made`` its mean over these rows and two made environments, in which the doubtful
# variables are drawn again.
import matplotlib.pyplot as plt

from stablepred import StableClassifier, stability_price
from stablepred.data import SyntheticWorld
from stablepred.plotting import StabilityPriceDisplay

train = SyntheticWorld("s_indep_v").sample(2000, bias_rate=0.75, random_state=0)
model = StableClassifier(random_state=0).fit(train.X, train.y)
table = stability_price(model, train.X, train.y, n_steps=20)
print(table.round(3).to_string(index=False))

# %%
# In rows like those of training, the model with all variables is better, by far. As soon as the
# doubtful variables turn, it is worse, by more. Below V10 both errors are the same: what is dropped
# there carries nothing.
display = StabilityPriceDisplay.from_table(table)

# %%
# Where it is not
# ---------------
# The same world without selection. Nothing is tied to the outcome but its causes.
even = SyntheticWorld("s_indep_v").sample(2000, bias_rate=0.5, random_state=0)
other = StableClassifier(random_state=0).fit(even.X, even.y)
flat = stability_price(other, even.X, even.y, n_steps=20)
print(flat.round(3).to_string(index=False))

# %%
# The path is flat: leaving variables out costs nothing, and saves nothing. Look at ``error_made``
# before you give anything up for stability: where it does not fall, nothing is to be gained.
figure, panels = plt.subplots(
    1, 2, figsize=(8, 3.2), layout="constrained", sharex=True, sharey=True
)
for axes, title, path in zip(panels, ("with selection", "without"), (table, flat), strict=True):
    axes.plot(path["n_variables"], path["error_made"], "o-", label="made environments")
    axes.plot(path["n_variables"], path["error_training"], "D-", label="training rows, held out")
    axes.set(title=title, xlabel="variables kept", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("RMSE")
panels[0].legend(frameon=False)
panels[0].invert_xaxis()
