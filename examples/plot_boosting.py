"""Boosting on the stable variables
================================

``StableClassifier`` takes any classifier with ``predict_proba``. The variables are judged in the
same way whatever the classifier is; it is then fitted on those that are used, and compared on
held-out rows by its own errors.
"""

# %%
# Boosting is as easily misled as logistic regression
# ---------------------------------------------------
# It fits more, so it uses every tie that the selection of rows made.
from sklearn.ensemble import HistGradientBoostingClassifier

from stablepred import StableClassifier
from stablepred.data import SyntheticWorld
from stablepred.plotting import EnvironmentErrorsDisplay

world = SyntheticWorld("s_indep_v")
train = world.sample(3000, bias_rate=0.75, random_state=0)
tests = [world.sample(5000, bias_rate=rate, random_state=1) for rate in (0.1, 0.3, 0.5, 0.7, 0.9)]

boosting = HistGradientBoostingClassifier(max_iter=100, random_state=0)
plain = HistGradientBoostingClassifier(max_iter=100, random_state=0).fit(train.X, train.y)
stable = StableClassifier(boosting, random_state=0).fit(train.X, train.y)
print(stable.decision_)

# %%
# The errors
# ----------
# The bars are 95 % intervals of the first model, over test rows.
models = {"boosting, stable variables": stable, "boosting, all variables": plain}
display = EnvironmentErrorsDisplay.from_environments(models, tests)

# %%
# Plain boosting is better where the selection is as in training or stronger (r = .7 and .9), and
# worse in the three others.
print(display.errors.round(3))

# %%
# The fitted classifier is in ``estimator_``, with the names of the columns that it sees.
print(list(stable.estimator_.feature_names_in_))
