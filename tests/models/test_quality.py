"""The point of it all, on seeds that were not used to choose the defaults."""

import pytest
from sklearn.linear_model import LogisticRegression

from stablepred import (
    DLRClassifier,
    StableClassifier,
    average_error,
    environment_errors,
    stability_error,
)
from stablepred.data import SyntheticWorld
from stablepred.evaluation.verdict import gaps_closed
from studies.references import ConstantPredictor, Oracle, beaten_by_shrinkage, shrinkage_line

pytestmark = pytest.mark.slow

RATES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


class Study:
    """One training environment and nine others, with the references of every comparison."""

    def __init__(self, bias_on, seed):
        self.world = SyntheticWorld("s_indep_v", bias_on=bias_on)
        self.train = self.world.sample(2000, bias_rate=0.75, random_state=seed)
        self.tests = [
            self.world.sample(3000, bias_rate=rate, random_state=10_000 + 10 * seed + k)
            for k, rate in enumerate(RATES)
        ]
        self.lr = LogisticRegression().fit(self.train.X, self.train.y)
        self.seed = seed

    def errors(self, model):
        return environment_errors(model, self.tests)

    def fitted(self, kind):
        return kind(random_state=self.seed).fit(self.train.X, self.train.y)


@pytest.mark.quality
@pytest.mark.parametrize("seed", [1000, 1001, 1002])
@pytest.mark.parametrize("bias_on", ["signal", "outcome"])
def test_stable_classifier_is_better_than_every_reference(bias_on, seed):
    study = Study(bias_on, seed)
    model = study.fitted(StableClassifier)
    stable, lr = study.errors(model), study.errors(study.lr)
    dlr = study.errors(study.fitted(DLRClassifier))
    constant = study.errors(ConstantPredictor(study.train))
    assert average_error(stable) < min(average_error(lr), average_error(dlr))
    assert stability_error(stable) < min(stability_error(lr), stability_error(dlr))
    assert average_error(stable) < average_error(constant)
    line = shrinkage_line(study.lr, study.train, study.tests)
    assert not beaten_by_shrinkage(stable, line)
    oracle = study.errors(Oracle(study.train, study.world.stable_features))
    assert min(gaps_closed(lr, stable, oracle)) > 0.5
