"""The path from all variables to the stable ones."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from stablepred import stability_price
from stablepred.exceptions import InputError


def table(n=800, seed=0, numeric=False):
    rng = np.random.default_rng(seed)
    cause, coin = rng.normal(size=n), rng.normal(size=n)
    y = 2 * cause + rng.normal(size=n)
    if not numeric:
        y = (y > 0).astype(int)
    follower = (y > np.median(y)) ^ (rng.random(n) < 0.1)
    return pd.DataFrame({"cause": cause, "follower": follower.astype(float), "coin": coin}), y


def judged(**probability_noisy):
    """A model with these probabilities; a variable is stable under .5."""
    frame = pd.DataFrame(
        {"variable": list(probability_noisy), "probability_noisy": list(probability_noisy.values())}
    )
    return SimpleNamespace(
        variables_=frame.assign(
            verdict=np.where(frame["probability_noisy"] < 0.5, "stable", "noisy")
        )
    )


@pytest.mark.parametrize("numeric", [False, True])
def test_leaving_out_what_follows_the_outcome_costs_here_and_saves_elsewhere(numeric):
    X, y = table(numeric=numeric)
    path = stability_price(judged(cause=0.01, follower=0.99, coin=0.7), X, y)
    assert list(path["n_variables"]) == [3, 2, 1]
    assert list(path["dropped"]) == ["", "follower", "coin"]
    assert path["error_training"][1] > path["error_training"][0] + 0.05
    assert path["error_made"][1] < path["error_made"][0] - 0.05
    assert path["error_training"][2] == pytest.approx(path["error_training"][1], rel=0.05)


def test_what_is_never_redrawn_has_the_same_error_in_both():
    X, y = table()
    path = stability_price(judged(cause=0.01, follower=0.99, coin=0.7), X, y)
    last = path.iloc[-1]  # only the cause is left, which stays as it is in the made environments
    assert last["error_made"] == pytest.approx(last["error_training"], rel=0.01)


def test_with_nothing_to_drop_the_path_has_one_row():
    X, y = table()
    path = stability_price(judged(cause=0.1, follower=0.1, coin=0.1), X, y)
    assert len(path) == 1
    assert path["error_made"][0] == pytest.approx(path["error_training"][0], rel=0.02)


def test_a_model_without_verdicts_and_other_columns_are_refused():
    X, y = table()
    with pytest.raises(InputError, match="no variables_ with their probability"):
        stability_price(SimpleNamespace(), X, y)
    with pytest.raises(InputError, match=r"X lacks the variables \['other'\]"):
        stability_price(judged(other=0.9), X, y)
