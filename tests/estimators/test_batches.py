"""Weights of rows that are read in batches approach those of all rows at once."""

import numpy as np
import pandas as pd
import pytest
import torch

import stablepred
from stablepred import GlobalBalancer
from stablepred.core.minibatch import WeightSums
from stablepred.exceptions import InputError, StablepredWarning
from stablepred.weights.balancing import raw_balance


def table(rows=1200, features=6):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, features)) + 0.7 * rng.normal(size=(rows, 1))
    x[:, 1] = x[:, 1] > 0
    return pd.DataFrame(x, columns=[f"f{j}" for j in range(features)])


def batches(frame, size):
    return lambda: (frame.iloc[k : k + size] for k in range(0, len(frame), size))


def objective(balancer, X, w):
    """What is minimised, at the best scale of the weights."""
    x = torch.as_tensor(balancer.dichotomizer_.transform(X.to_numpy()))
    w = torch.as_tensor(w)
    scales = torch.linspace(0.95, 1.0, 101, dtype=torch.float64)
    balance = float(raw_balance(x, w / len(w)))  # does not depend on the scale
    return balance + min(float(0.01 * s**2 * w.square().mean() + (s - 1) ** 2) for s in scales)


@pytest.fixture(scope="module")
def fitted():
    X = table()
    full = GlobalBalancer(tol=1e-6).fit(X)
    parts = GlobalBalancer(tol=1e-4, max_iter=200).fit_batches(batches(X, 300))
    return X, full, parts


def test_the_result_approaches_that_of_all_rows_at_once(fitted):
    X, full, parts = fitted
    best = objective(full, X, full.weights_)
    assert objective(parts, X, np.ones(len(X))) > 3 * best
    assert objective(parts, X, parts.weights_) < 1.02 * best
    assert np.corrcoef(full.weights_, parts.weights_)[0, 1] > 0.98
    before, after = parts.balance_report_.worst_before, parts.balance_report_.worst_after
    assert abs(after.imbalance) < 0.05 * abs(before.imbalance)


def test_every_pass_lowers_the_objective(fitted):
    total = fitted[2].history_["total"]
    assert (np.diff(total) <= 0).all()
    assert fitted[2].converged_
    assert fitted[2].n_iter_ == len(total)


def test_cuts_and_report_are_those_of_all_rows(fitted):
    X, full, parts = fitted
    np.testing.assert_allclose(
        parts.dichotomizer_.thresholds_, full.dichotomizer_.thresholds_, rtol=1e-12
    )
    x = parts.dichotomizer_.transform(X.to_numpy())
    np.testing.assert_array_equal(x, full.dichotomizer_.transform(X.to_numpy()))
    pd.testing.assert_frame_equal(parts.balance_report_.before, full.balance_report_.before)
    sums = WeightSums.of(torch.as_tensor(x), torch.as_tensor(parts.weights_), 1 / len(X))
    assert parts.balance_report_.effective_share == pytest.approx(sums.effective_share, rel=1e-9)
    assert parts.weights_.mean() == pytest.approx(1)
    assert list(parts.feature_names_in_) == list(X.columns)


def test_one_batch_is_the_fit_on_its_rows():
    """The first pass is that fit; those after it only go on."""
    X = table(200, 4)
    full = GlobalBalancer(tol=1e-6).fit(X)
    one = GlobalBalancer(tol=1e-6).fit_batches(lambda: [X])
    best = objective(full, X, full.weights_)
    assert objective(one, X, one.weights_) == pytest.approx(best, rel=1e-3)


def test_a_fit_in_batches_can_be_saved(fitted, tmp_path):
    fitted[2].save(tmp_path / "balancer.stablepred")
    again = stablepred.load(tmp_path / "balancer.stablepred")
    np.testing.assert_array_equal(again.weights_, fitted[2].weights_)


def test_constant_columns_are_named():
    X = table(60, 3).assign(same=4.0)
    with pytest.warns(StablepredWarning, match="same"):
        balancer = GlobalBalancer(max_iter=50, tol=0.01).fit_batches(batches(X, 30))
    assert list(balancer.balance_report_.before) == ["f0", "f1", "f2"]


def test_bad_batches_are_refused():
    X = table(60, 3)
    with pytest.raises(InputError, match="function that starts reading anew"):
        GlobalBalancer().fit_batches([X])
    with pytest.raises(InputError, match="n_samples = 0"):
        GlobalBalancer().fit_batches(list)
    with pytest.raises(ValueError, match="feature names"):
        GlobalBalancer().fit_batches(lambda: [X, X[["f0", "f2", "f1"]]])
    with pytest.raises(InputError, match="order=1, not 2"):
        GlobalBalancer(order=2).fit_batches(lambda: [X])
    with pytest.raises(InputError, match="feature 'f0' must be 0/1"):
        GlobalBalancer(dichotomize=None).fit_batches(lambda: [X])
    lengths = iter([60, 40])
    with pytest.raises(InputError, match="60 rows at first and 40 later"):
        GlobalBalancer().fit_batches(lambda: [X[: next(lengths)]])
