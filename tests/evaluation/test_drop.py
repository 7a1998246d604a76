"""A loss that comes from X moving, from Y given X changing, or from both."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression

from stablepred import explain_drop
from stablepred.evaluation.drop import FROM_SHARED, TO_SHARED, TOTAL, X_MOVES, Y_CHANGES
from stablepred.exceptions import InputError

OLD, NEW = np.array([1, 1, -1, 0.5, 0, 1]), np.array([1, -0.5, -1, 0.5, 1, 1])
# The mean of the first three variables in the first table (0 in the second), and the slopes of the
# second table (the old ones in the first).
WORLDS = {"X": (0.8, OLD), "Y": (0.0, NEW), "both": (0.8, NEW)}


def draw(rng, n, mean, slopes):
    """Five normal variables and a 0/1 one, with a product that no linear model sees."""
    x = rng.normal(size=(n, 6))
    x[:, :3] += mean
    x[:, 5] = x[:, 5] > 0
    return x, (rng.random(n) < probability(x, slopes)).astype(int)


def probability(x, slopes):
    return expit(x @ slopes + 0.5 * x[:, 0] * x[:, 1])


def true_parts(model, mean, slopes, n=100_000):
    """Both parts by the known densities: X moves, Y given X changes."""
    rng = np.random.default_rng(10**6)
    first, second = draw(rng, n, mean, OLD)[0], draw(rng, n, 0, slopes)[0]

    def loss(x, slopes):
        p, f = probability(x, slopes), model.predict_proba(x)[:, 1]
        return p * (1 - f) ** 2 + (1 - p) * f**2

    w = expit(-(first[:, :3] * mean - mean**2 / 2).sum(axis=1))
    shared, changed = (np.average(loss(first, s), weights=w) for s in (OLD, slopes))
    before, after = loss(first, OLD).mean(), loss(second, slopes).mean()
    return (shared - before) + (after - changed), changed - shared


def explain(world, seed, n=1500, **options):
    """The report, and the true parts."""
    mean, slopes = WORLDS[world]
    rng = np.random.default_rng(seed)
    model = LogisticRegression().fit(*draw(rng, 1000, mean, OLD))
    tables = draw(rng, n, mean, OLD), draw(rng, n, 0, slopes)
    report = explain_drop(model, *tables, random_state=seed, **options)
    return report, true_parts(model, mean, slopes)


@pytest.fixture(scope="module")
def both():
    return explain("both", 0, n_bootstrap=60)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_both_parts_are_within_their_intervals(world):
    hits = []
    for seed in range(12):
        report, truth = explain(world, seed, n_bootstrap=100)
        parts = report.parts.loc[[X_MOVES, Y_CHANGES]]
        low, high = parts["low"].to_numpy(), parts["high"].to_numpy()
        hits.append((low <= np.array(truth)) & (np.array(truth) <= high))
    assert np.mean(hits) >= 0.85


def test_the_parts_are_near_the_true_ones_and_add_up(both):
    report, truth = both
    loss = report.parts["loss"]
    np.testing.assert_allclose(loss[[X_MOVES, Y_CHANGES]], truth, atol=0.025)
    assert loss[X_MOVES] + loss[Y_CHANGES] == pytest.approx(loss[TOTAL])
    assert loss[TO_SHARED] + loss[FROM_SHARED] == pytest.approx(loss[X_MOVES])
    assert report.losses[1] - report.losses[0] == pytest.approx(loss[TOTAL])
    np.testing.assert_allclose(report.parts["share"], loss / loss[TOTAL])
    assert (report.parts["low"] <= loss).all()
    assert (loss <= report.parts["high"]).all()


def test_variables_that_moved_and_variables_whose_tie_changed_are_told_apart(both):
    frame = both[0].variables
    assert set(frame["moved"].nlargest(3).index) == {"x0", "x1", "x2"}
    assert set(frame["relation"].nlargest(2).index) == {"x1", "x4"}
    assert frame["p_value"][["x1", "x4"]].max() < 1e-6


def test_a_table_beside_itself_has_nothing_to_explain():
    x, y = draw(np.random.default_rng(0), 600, 0, OLD)
    model = LogisticRegression().fit(x, y)
    report = explain_drop(model, (x, y), (x, y), n_bootstrap=40)
    np.testing.assert_allclose(report.parts["loss"], 0, atol=0.005)  # the folds differ
    assert report.shared == pytest.approx(1, abs=0.05)
    assert report.verdict.startswith("The loss changes by no more than chance, from ")


def test_it_reads_as_a_sentence_and_tables(both):
    report = both[0]
    text = str(report)
    assert text.startswith(report.verdict)
    assert report.verdict.startswith("The loss rises, from 0.1")
    assert "because Y given X changes (" in report.verdict
    assert "Y changes mostly with x1 and x4." in report.verdict
    assert report._repr_html_().count("<table") == 2
    assert report.to_frame() is not report.parts


def test_numbers_text_and_missing_values_are_taken():
    def table(seed, shift):
        rng = np.random.default_rng(seed)
        size, job = rng.normal(shift, 1, 500), rng.choice(["cook", "smith", "clerk"], 500)
        gap = np.where(rng.random(500) < 0.1, np.nan, rng.normal(size=500))
        frame = pd.DataFrame({"size": size, "job": job, "gap": gap, "same": "x"})
        return frame, size**2 + (job == "cook") + rng.normal(size=500)

    a, b = table(0, 0.0), table(1, 1.5)
    model = LinearRegression().fit(a[0][["size"]], a[1])  # wrong where size is large
    report = explain_drop(lambda X: model.predict(X[["size"]]), a, b, n_bootstrap=40)
    assert report.error == "mean squared error"
    assert report.variables["moved"].idxmax() == "size"
    assert report.variables["moved"]["same"] == 0
    assert report.parts["share"][X_MOVES] > 0.7
    assert "X moves mostly in size." in report.verdict


def test_what_cannot_be_split_is_refused():
    x, y = draw(np.random.default_rng(0), 50, 0, OLD)
    with pytest.raises(InputError, match="error must be one of"):
        explain_drop(lambda X: np.full(len(X), 0.5), (x, y), (x, y), error="mae")
    with pytest.raises(InputError, match="table 'a' has 3 rows, and nothing"):
        explain_drop(lambda X: np.full(len(X), 0.5), (x[:3], y[:3]), (x, y))
    other = pd.DataFrame(x, columns=list("abcdef"))
    with pytest.raises(InputError, match="must have the columns of"):
        explain_drop(lambda X: np.full(len(X), 0.5), (x, y), (other, y))
