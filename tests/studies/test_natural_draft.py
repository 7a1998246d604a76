import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from stablepred.exceptions import InputError
from stablepred.worlds.synthetic import SyntheticWorld
from studies.natural.draft import DraftClassifier
from studies.natural.draft.choice import fit_default, fit_path, make_folds
from studies.natural.draft.data import TrainingData
from studies.natural.draft.encode import Encoder
from studies.natural.draft.evidence import Competition, explain_away, one_column_each
from studies.natural.draft.guard import ALL, SUFFICIENT, decide
from studies.natural.draft.linear import Linear, Pairwise, newton
from studies.natural.draft.verdict import Verdict

WORLD = SyntheticWorld("s_indep_v", 10, biased=0.3)


def outcomes(logit, seed=0):
    return (np.random.default_rng(seed).random(len(logit)) < 1 / (1 + np.exp(-logit))).astype(int)


def training_data(x, y, w=None):
    w = np.ones(len(y)) if w is None else w
    return TrainingData(x, np.asarray(y, float), w, np.arange(x.shape[1]))


@pytest.fixture(scope="module")
def attitudes():
    """Attitudes that belong together, as in a survey, and an outcome that follows them."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=600)
    X = pd.DataFrame(common[:, None] + rng.normal(size=(600, 6))).add_prefix("x")
    return X, outcomes(common)


@pytest.fixture(scope="module")
def fitted(attitudes):
    """The estimator alone on that table."""
    return DraftClassifier(verdict=False).fit(*attitudes)


# --- the whole ---


def test_the_biased_variables_of_a_world_are_left_out():
    train = WORLD.sample(1500, bias_rate=0.85, random_state=0)
    test = WORLD.sample(4000, bias_rate=0.15, random_state=1)
    model = DraftClassifier().fit(train.X, train.y)
    variables = model.variables_.set_index("variable")
    assert not variables.loc[WORLD.biased_features, "used"].any()
    assert (variables.loc[WORLD.biased_features, "probability_noisy"] > 0.9).all()
    assert model.decision_.chosen != ALL
    assert "probability" in str(model.decision_)
    everything = DraftClassifier(verdict=False).fit(train.X, train.y)
    errors = [np.mean((test.y - m.predict_proba(test.X)[:, 1]) ** 2) for m in (model, everything)]
    assert errors[0] < errors[1] - 0.05


def test_natural_dependence_is_no_reason_to_leave_anything_out(attitudes, fitted):
    X, y = attitudes
    model = DraftClassifier().fit(X, y)
    assert model.variables_["used"].all()
    assert set(model.variables_["verdict"]) == {"undecided"}
    assert model.decision_.chosen == ALL
    assert "do not depend" in model.decision_.reason
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))


def test_weight_two_is_two_copies_wherever_no_folds_are_dealt(attitudes):
    X, y = attitudes
    twice = np.arange(len(y)) % 2 == 0
    weighted = training_data(X.to_numpy(), y, 1.0 + twice)
    copied = training_data(np.r_[X, X[twice]], np.r_[y, y[twice]])
    beta = [newton(data.x, data, 1.0, tol=1e-12) for data in (weighted, copied)]
    np.testing.assert_allclose(*beta, atol=1e-8)
    z = [explain_away(one_column_each(data)).z for data in (weighted, copied)]
    np.testing.assert_allclose(*z, rtol=1e-3)


def test_weight_two_is_nearly_two_copies_and_weight_zero_is_no_row(attitudes):
    X, y = attitudes
    twice = np.arange(len(y)) % 2 == 0
    weighted = DraftClassifier(verdict=False).fit(X, y, sample_weight=1 + twice)
    copied = DraftClassifier(verdict=False).fit(pd.concat([X, X[twice]]), np.r_[y, y[twice]])
    p, q = (model.predict_proba(X)[:, 1] for model in (weighted, copied))
    # Two copies may be in different folds, which lets the copied rows choose a richer model.
    assert np.corrcoef(p, q)[0, 1] > 0.95
    assert np.abs(p - q).mean() < 0.06
    without = DraftClassifier(verdict=False).fit(X[twice], y[twice])
    zero = DraftClassifier(verdict=False).fit(X, y, sample_weight=twice)
    np.testing.assert_array_equal(zero.predict_proba(X), without.predict_proba(X))


def test_a_clone_with_the_same_seed_predicts_the_same(attitudes):
    X, y = attitudes
    names = np.where(y == 1, "yes", "no")
    model = DraftClassifier(verdict=False, random_state=3).fit(X.to_numpy(), names)
    again = clone(model).fit(X.to_numpy(), names)
    np.testing.assert_array_equal(
        model.predict_proba(X.to_numpy()), again.predict_proba(X.to_numpy())
    )
    assert np.mean(model.predict(X.to_numpy()) == names) > 0.6


@pytest.mark.parametrize("n_columns", [0, 1])
def test_with_less_than_two_variables_nothing_is_judged(n_columns, attitudes):
    X, y = attitudes
    X = X.iloc[:, :n_columns].assign(constant=1.0)
    model = DraftClassifier().fit(X, y)
    assert "not judged" in model.decision_.reason
    assert len(model.variables_) == n_columns
    assert (np.ptp(model.predict_proba(X)[:, 1]) > 0) == (n_columns == 1)


# --- what cannot be used ---


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200])
def test_infinite_numbers_are_refused_by_column_and_row(value, attitudes, fitted):
    X, y = attitudes
    wrong = X.copy()
    wrong.loc[7, "x2"] = value
    with pytest.raises(InputError, match=r"'x2' has 1 infinite .* row 7"):
        DraftClassifier().fit(wrong, y)
    with pytest.raises(InputError, match="'x2' has 1 infinite"):
        fitted.predict_proba(wrong)


@pytest.mark.parametrize("ones", [1, 599])
def test_folds_of_a_single_class_are_refused(ones, attitudes):
    X, _ = attitudes
    with pytest.raises(InputError, match="one class has 1 of the 600 rows"):
        DraftClassifier().fit(X, np.arange(600) < ones)


def test_rows_of_weight_zero_do_not_count_as_a_class(attitudes):
    X, _ = attitudes
    y = np.arange(600) < 5
    with pytest.raises(InputError, match="1 classes"):
        DraftClassifier().fit(X, y, sample_weight=np.where(y, 0.0, 1.0))
    with pytest.raises(InputError, match="one class has 1 of the 596 rows"):
        DraftClassifier().fit(X, y, sample_weight=np.arange(600) >= 4)


def test_other_input_that_cannot_be_used_is_named(attitudes, fitted):
    X, y = attitudes
    with pytest.raises(InputError, match="3 classes"):
        DraftClassifier().fit(X, np.arange(600) % 3)
    with pytest.raises(InputError, match="600 rows, but y has 599"):
        DraftClassifier().fit(X, y[1:])
    with pytest.raises(InputError, match="same name"):
        DraftClassifier().fit(X.rename(columns={"x0": "x1"}), y)
    with pytest.raises(InputError, match="cv"):
        DraftClassifier(cv=1).fit(X, y)
    with pytest.raises(InputError, match=r"lacks columns .*'x3'"):
        fitted.predict_proba(X.drop(columns="x3"))


# --- steps ---


def test_numbers_are_kept_and_grow_slowly_beyond_the_bulk():
    x = pd.DataFrame({"x": np.random.default_rng(0).normal(size=1000), "flag": [0, 1] * 500})
    encoder = Encoder().fit(x)
    columns = encoder.transform(x)
    np.testing.assert_allclose(columns.mean(axis=0), [0, 0.5], atol=1e-12)
    bulk = x["x"].between(*x["x"].quantile([0.01, 0.99]))
    assert np.corrcoef(columns[bulk, 0], x["x"][bulk])[0, 1] == pytest.approx(1)
    far = encoder.transform(pd.DataFrame({"x": [x["x"].max(), 1e9], "flag": [0, 5]}))
    assert far[0, 0] == far[1, 0]
    assert far[0, 0] < (x["x"].max() - x["x"].mean()) / x["x"].std()
    assert far[:, 1].tolist() == [0, 1]


def test_levels_are_columns_and_an_unseen_one_counts_as_the_average():
    levels = ["a"] * 50 + ["b"] * 40 + ["c"] * 5 + ["d"] * 4 + [None]
    encoder = Encoder().fit(pd.DataFrame({"x": levels}))
    new = encoder.transform(pd.DataFrame({"x": ["a", "b", "c", "d", None, "e"]}))
    rare = [[0, 0, 1]] * 3
    np.testing.assert_allclose(new, [[1, 0, 0], [0, 1, 0], *rare, [0.5, 0.4, 0.1]])
    assert encoder.groups_.tolist() == [0, 0, 0]


def test_missing_numbers_get_an_indicator_where_they_are_not_rare():
    x = np.arange(100.0)
    few, many = x.copy(), x.copy()
    few[:5], many[:20] = np.nan, np.nan
    encoder = Encoder().fit(pd.DataFrame({"few": few, "many": many, "all": np.full(100, np.nan)}))
    assert encoder.names_ == ["few", "many"]
    assert encoder.groups_.tolist() == [0, 1, 1]
    columns = encoder.transform(pd.DataFrame({"few": few, "many": many, "all": few}))
    assert columns[:, 2].tolist() == [1.0] * 20 + [0.0] * 80


def test_newton_finds_the_coefficients_of_scikit_learn(attitudes):
    X, y = attitudes
    w = np.random.default_rng(0).random(len(y))
    beta = newton(X.to_numpy(), training_data(X.to_numpy(), y, w), 2.0, tol=1e-12)
    reference = LogisticRegression(C=0.5, tol=1e-10).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(beta[:-1], reference.coef_[0], atol=1e-5)
    assert beta[-1] == pytest.approx(reference.intercept_[0], abs=1e-5)


def test_products_are_found_where_the_outcome_follows_them():
    x = np.random.default_rng(0).normal(size=(800, 5))
    y = outcomes(3 * x[:, 1] * x[:, 3])
    assert Pairwise().prepare(training_data(x, y)).pairs[0] == (1, 3)


def test_the_penalty_vanishes_without_noise_and_is_strong_without_signal():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    slopes = []
    for y in (x[:, 0] > 0, rng.random(300) < 0.5):
        data = training_data(x, y)
        fitted = fit_path(Linear(), data, make_folds(data.y, 3, 0))
        slopes.append(np.abs(fitted.model.beta[:-1]).max())
    assert slopes[0] > 20
    assert slopes[1] < 0.5


def test_causes_go_against_each_other_given_the_outcome_and_expect_it():
    x = np.random.default_rng(0).normal(size=(3000, 4))
    competition = explain_away(one_column_each(training_data(x, outcomes(x[:, :3] @ [2, -2, 2]))))
    assert (competition.z[:3] > 2.58).all()
    np.testing.assert_allclose(competition.z[:3], competition.expected[:3], rtol=0.4)
    assert abs(competition.z[3]) < 2.58


def verdict_on(labels):
    noisy = np.array([label == "noisy" for label in labels])
    competition = Competition(np.where(noisy, -3.0, 5.0), np.full(len(labels), 5.0))
    return Verdict(competition, 0.99, np.where(noisy, 0.99, 0.01), np.array(labels))


def test_a_cause_called_noisy_is_taken_back_where_it_says_all_that_was_lost():
    x = np.random.default_rng(0).normal(size=(1500, 8))
    data = training_data(x, outcomes(x[:, :4] @ [1.5, 1.5, 1.5, 1.5]))
    verdict = verdict_on(["stable"] * 3 + ["noisy"] * 5)
    choice = decide(data, make_folds(data.y, 3, 0), verdict, seed=0)
    assert choice.decision.chosen == SUFFICIENT
    assert choice.used.tolist() == [True] * 4 + [False] * 4


def test_nothing_is_left_out_where_all_variables_say_nothing():
    x = np.random.default_rng(0).normal(size=(300, 6))
    data = training_data(x, np.arange(300) % 2)
    folds = make_folds(data.y, 3, 0)
    for labels, reason in (
        (["stable"] * 3 + ["noisy"] * 3, "say nothing"),
        (["undecided"] * 3 + ["noisy"] * 3, "nothing to rely on"),
    ):
        choice = decide(data, folds, verdict_on(labels), seed=0)
        assert choice.used.all()
        assert reason in choice.decision.reason


def test_rows_are_predicted_by_the_model_that_did_not_see_them():
    x = np.random.default_rng(0).normal(size=(400, 3))
    data = training_data(x, outcomes(2 * np.abs(x[:, 0]) - 2 + x[:, 1]))
    folds = make_folds(data.y, 3, 0)
    fitted = fit_default(data, folds)
    np.testing.assert_array_equal(fitted.predict_held_out(x, folds), fitted.held_out)
    assert data.log_loss(fitted.held_out) > data.log_loss(fitted.model.predict(x))
