"""The search with candidates that Optuna proposes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stablepred.data import SyntheticWorld
from stablepred.exceptions import InputError
from stablepred.search import StableSearchCV

optuna = pytest.importorskip("optuna")

TRAIN = SyntheticWorld("s_indep_v", n_features=10).sample(300, bias_rate=0.75, random_state=0)
GRID = {
    "C": optuna.distributions.FloatDistribution(1e-3, 10.0, log=True),
    "fit_intercept": [True, False],
}


def search(**settings):
    settings = {"n_iter": 6, "sampler": "optuna", "cv": 2, "random_state": 0} | settings
    return StableSearchCV(LogisticRegression(), settings.pop("grid", GRID), **settings)


def test_it_tries_n_iter_candidates_within_the_distributions():
    fitted = search().fit(TRAIN.X, TRAIN.y)
    tried = fitted.cv_results_["params"]
    assert len(tried) == 6
    assert all(1e-3 <= params["C"] <= 10 for params in tried)
    assert fitted.best_params_ == tried[fitted.best_index_]
    assert fitted.predict_proba(TRAIN.X).shape == (300, 2)


def test_the_same_seed_gives_the_same_candidates_and_another_seed_others():
    first, second, other = (
        search(random_state=seed).fit(TRAIN.X, TRAIN.y).cv_results_ for seed in (0, 0, 1)
    )
    assert first["params"] == second["params"]
    assert np.array_equal(first["criterion"], second["criterion"])
    assert first["params"] != other["params"]


def test_the_logging_of_optuna_is_left_as_it_was():
    before = optuna.logging.get_verbosity()
    search(n_iter=1).fit(TRAIN.X, TRAIN.y)
    assert optuna.logging.get_verbosity() == before


@pytest.mark.parametrize("wrong", [{"n_iter": None}, {"grid": [GRID]}])
def test_it_needs_n_iter_and_one_dict(wrong):
    with pytest.raises(InputError, match="needs n_iter"):
        search(**wrong).fit(TRAIN.X, TRAIN.y)


def test_a_candidate_that_always_fails_is_left_out_and_if_all_do_the_first_error_is_raised():
    few = {"grid": {"solver": ["lbfgs", "none of these"]}, "n_iter": 8}
    fitted = search(**few).fit(TRAIN.X, TRAIN.y)
    tried = fitted.cv_results_["params"]
    assert 1 <= len(tried) < 8
    assert {params["solver"] for params in tried} == {"lbfgs"}
    with pytest.raises(ValueError, match="none of these"):
        search(grid={"solver": ["none of these"]}, n_iter=2).fit(TRAIN.X, TRAIN.y)
