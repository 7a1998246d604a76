"""Balance first, then a forest
============================

Any model that takes ``sample_weight`` can be fitted under balancing weights: a forest, for
instance. Whether the weights did their work is best seen in a *love plot*, one line per feature:
its imbalance before, and after.
"""

# %%
# A table whose features depend on each other
# -------------------------------------------
# Selection on the signal ties eight noisy features to the causes, and so to each other.
import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier

from stablepred import BalancedClassifier, average_error, environment_errors, stability_error
from stablepred.data import SyntheticWorld
from stablepred.plotting import BalanceDisplay, WeightsDisplay

world = SyntheticWorld("s_indep_v", bias_on="signal")
train = world.sample(2000, bias_rate=0.75, random_state=0)
tests = [world.sample(5000, bias_rate=rate, random_state=1) for rate in (0.1, 0.3, 0.5, 0.7, 0.9)]

forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
plain = RandomForestClassifier(**forest.get_params()).fit(train.X, train.y)
balanced = BalancedClassifier(forest).fit(train.X, train.y)

# %%
# Did the weights balance?
# ------------------------
# Each feature is taken as a treatment in turn. Its imbalance says how differently the others are
# distributed where it is 1 and where it is 0. Weights that differ much leave fewer rows,
# effectively: about half of them here.
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 5.5), width_ratios=(3, 2), layout="constrained"
)
BalanceDisplay.from_estimator(balanced, ax=left)
WeightsDisplay.from_estimator(balanced, ax=right)

# %%
# What it changed
# ---------------
# Balancing removes what features say through each other. It does not tell causes from noise by
# itself, so look at both errors.
for name, model in (("plain", plain), ("balanced", balanced)):
    errors = environment_errors(model, tests)
    print(
        f"{name:9} Average_Error {average_error(errors):.3f}"
        f"  Stability_Error {stability_error(errors):.3f}"
    )
