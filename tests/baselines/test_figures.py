"""Weights and OLS in the continuous worlds, against the figures of the published code."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from stablepred.baselines import DWRBalancer, SRDOBalancer
from stablepred.data import ContinuousWorld

RATES = (-3.0, -2.0, -1.7, -1.5, -1.3, 1.3, 1.5, 1.7, 2.0, 3.0)
# Average RMSE of OLS under the weights of the published code, n = 2000. SRDO reaches its figure in
# one world; in the others, .682 and .682, it does not come within .02 of it.
PUBLISHED = {
    ("s_indep_v", "dwr"): 0.703,
    ("s_to_v", "dwr"): 0.766,
    ("collinear", "dwr"): 0.707,
    ("collinear", "srdo"): 0.627,
}
BALANCERS = {"dwr": DWRBalancer(), "srdo": SRDOBalancer(random_state=0)}


def average_rmse(setting, balancer, seeds):
    world, errors = ContinuousWorld(setting), []
    for seed in seeds:
        train = world.sample(2000, 2.5 if setting == "collinear" else 1.7, random_state=seed)
        w = balancer.fit(train.X).weights_
        model = LinearRegression().fit(train.X, train.y, sample_weight=w)
        for rate in RATES:
            test = world.sample(5000, rate, random_state=1000 + seed)
            errors.append(np.sqrt(np.mean((model.predict(test.X) - test.y) ** 2)))
    return float(np.mean(errors))


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "name"), PUBLISHED)
def test_the_average_error_is_no_higher_than_the_published_one(setting, name):
    found = average_rmse(setting, BALANCERS[name], range(3))
    assert found <= PUBLISHED[setting, name] + 0.02
