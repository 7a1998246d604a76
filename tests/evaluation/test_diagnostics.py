import numpy as np
import pandas as pd
import pytest

from stablepred import GBRClassifier, GlobalBalancer
from stablepred.evaluation.diagnostics import balance_report


def made(seed=0, n=60, p=4):
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < 0.5).astype(float)
    mass, w = rng.exponential(size=n), rng.exponential(size=n)
    mass /= mass.sum()
    return x, mass, w / (mass @ w), [f"f{j}" for j in range(p)]


def gap(x, v, j, k):
    """Mean of feature k with x_j = 1 minus with x_j = 0."""
    if j == k:
        return 0.0
    on = x[:, j] == 1
    return np.average(x[on, k], weights=v[on]) - np.average(x[~on, k], weights=v[~on])


def test_both_tables_hold_the_difference_of_means_of_every_pair():
    x, mass, w, names = made()
    report = balance_report(x, mass, w, names, 60)
    for j, treatment in enumerate(names):
        for k, covariate in enumerate(names):
            assert report.before.loc[treatment, covariate] == pytest.approx(gap(x, mass, j, k))
            assert report.after.loc[treatment, covariate] == pytest.approx(gap(x, mass * w, j, k))


def test_the_effective_sample_size_is_kishs():
    x, _, w, names = made()
    report = balance_report(x, np.full(60, 1 / 60), w, names, 60)
    assert report.effective_sample_size == pytest.approx(w.sum() ** 2 / (w @ w))
    assert f"design effect {60 * (w @ w) / w.sum() ** 2:.2f}" in str(report)
    assert report.effective_share == pytest.approx(report.effective_sample_size / 60)


def test_the_worst_pair_is_the_largest_entry():
    x, mass, w, names = made()
    report = balance_report(x, mass, w, names, 60)
    for worst, table in ((report.worst_before, report.before), (report.worst_after, report.after)):
        assert abs(worst.imbalance) == table.abs().to_numpy().max()
        assert table.loc[worst.treatment, worst.covariate] == worst.imbalance


def test_the_frame_sums_each_treatment_up():
    x, mass, w, names = made()
    report = balance_report(x, mass, w, names, 60)
    frame = report.to_frame()
    assert frame.index.tolist() == names
    for label, table in (("before", report.before), ("after", report.after)):
        for name in names:
            others = table.loc[name].drop(name).to_numpy()
            assert frame.loc[name, f"largest_{label}"] == pytest.approx(np.abs(others).max())
            assert frame.loc[name, f"rms_{label}"] == pytest.approx(np.sqrt((others**2).mean()))


def test_it_prints_as_a_table_with_the_effective_sample_size():
    x, mass, w, names = made()
    text = str(balance_report(x, mass, w, names, 60))
    assert repr(balance_report(x, mass, w, names, 60)) == text
    for word in (*names, "worst pair", "effective sample size", "of 60 rows", "design effect"):
        assert word in text


def test_one_feature_alone_has_nothing_to_balance():
    x, mass, w, _ = made(p=1)
    report = balance_report(x, mass, w, ["only"], 60)
    assert report.before.to_numpy().tolist() == [[0.0]]
    assert "only" in str(report)


def test_the_report_of_a_fit_is_that_of_its_weights(table):
    model = GlobalBalancer().fit(table.X, sample_weight=table.sample_weight)
    report = model.balance_report_
    v = table.sample_weight * model.weights_
    for j in range(table.p):
        for k in range(table.p):
            before = gap(table.x, table.sample_weight, j, k)
            assert report.before.iloc[j, k] == pytest.approx(before, abs=1e-12)
            assert report.after.iloc[j, k] == pytest.approx(gap(table.x, v, j, k), abs=1e-12)
    c = table.sample_weight / table.sample_weight.sum()
    share = (c @ model.weights_) ** 2 / (c @ model.weights_**2)
    assert report.effective_share == pytest.approx(share)
    assert report.n_rows == table.n


def test_the_loss_of_the_last_iteration_is_the_squared_imbalance_of_the_report(table):
    model = GBRClassifier(l1=0.01, refit=False).fit(table.X, table.y)
    squares = (model.balance_report_.after.to_numpy() ** 2).sum()
    assert model.history_["balance"][-1] == pytest.approx(squares, rel=1e-6)


def test_constant_columns_are_left_out_of_the_report(table):
    X = table.X.assign(f2=1.0)
    with pytest.warns(UserWarning, match="f2"):
        report = GlobalBalancer().fit(X).balance_report_
    assert list(report.after.index) == ["f0", "f1", "f3", "f4"]
    assert isinstance(report.after, pd.DataFrame)
