"""A model beside the references, and the sentence that comes of it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablepred import average_error, environment_errors, stability_error, stability_report
from stablepred._random import numpy_generator
from stablepred.data import Environment, SyntheticWorld
from stablepred.evaluation.diagnostics import model_facts
from stablepred.evaluation.predictions import PlainTable
from stablepred.evaluation.references import fit_references
from stablepred.evaluation.verdict import Comparison, Difference, Interval, stability_verdict
from stablepred.exceptions import InputError
from studies.references import ConstantPredictor, Oracle, shrinkage_line

WORLD = SyntheticWorld("s_indep_v")


@pytest.fixture(scope="module")
def train():
    return WORLD.sample(1000, bias_rate=0.75, random_state=0)


@pytest.fixture(scope="module")
def tests():
    return [WORLD.sample(500, bias_rate=r, random_state=1) for r in (0.1, 0.5, 0.9)]


@pytest.fixture(scope="module")
def lr(train):
    return LogisticRegression().fit(train.X, train.y)


@pytest.fixture(scope="module")
def oracle(train):
    return Oracle(train, WORLD.stable_features)


def reported(model, tests, **options):
    return stability_report(model, tests, n_bootstrap=3, **options)


# --- references ---


def test_references_are_those_computed_by_hand(train, tests, lr, oracle):
    report = reported(oracle, tests, train=train, stable_features=WORLD.stable_features)
    comparison = report.comparison
    stable = train.X[WORLD.stable_features]
    by_hand = {
        "LR": fit_references(train.X, train.y).predict_linear,
        "constant": ConstantPredictor(train),
        "oracle": lambda X: fit_references(stable, train.y).predict_linear(X),
    }
    for name, model in by_hand.items():
        pd.testing.assert_series_equal(
            comparison.errors.loc[name], environment_errors(model, tests), check_names=False
        )
    line = shrinkage_line(by_hand["LR"], train, tests)
    pd.testing.assert_frame_equal(comparison.line, line)
    summary = comparison.summary()
    assert list(summary.index) == ["Oracle", "LR", "constant", "oracle"]
    assert summary["average_gap"]["oracle"] == pytest.approx(1)
    assert summary["stability_gap"]["LR"] == 0


def test_without_a_training_environment_there_are_no_references(tests, lr):
    comparison = reported(lr, tests).comparison
    assert comparison.roles == {"LogisticRegression": "model"}
    assert comparison.line is None
    assert list(comparison.summary()) == ["Average_Error", "Stability_Error", "Worst_Error"]


def test_the_errors_are_the_same_with_and_without_references(train, tests, lr):
    alone, beside = reported(lr, tests), reported(lr, tests, train=train, baselines={"b": lr})
    pd.testing.assert_frame_equal(alone.to_frame(), beside.to_frame())
    pd.testing.assert_frame_equal(alone.breakers, beside.breakers)


def test_a_training_environment_is_anything_with_name_table_and_outcome(train, tests, lr):
    plain = PlainTable("plain", train.X.astype(float), train.y)
    assert set(reported(lr, tests, train=plain).comparison.roles.values()) == {
        *("model", "LR", "constant"),
    }


def test_missing_values_and_text_leave_no_reference_out(train, tests):
    holes = train.X.astype(object)
    holes.iloc[3, 2] = np.nan
    holes["V1"] = holes["V1"].map({0: "no", 1: "yes"})
    words = [
        PlainTable(t.name, t.X.assign(V1=t.X["V1"].map({0: "no", 1: "yes"})), t.y) for t in tests
    ]
    report = reported(lambda X: np.full(len(X), 0.5), words, train=PlainTable("t", holes, train.y))
    assert set(report.comparison.roles) == {"function", "LR", "constant"}
    assert report.comparison.notes == ()


def test_where_no_column_can_be_used_the_linear_reference_is_left_out_with_the_reason():
    X, y = pd.DataFrame({"one": np.ones(60)}), np.arange(60) % 2
    tables = [PlainTable(name, X, y) for name in "ab"]
    report = reported(lambda X: np.full(len(X), 0.5), tables, train=(X, y))
    assert set(report.comparison.roles) == {"function", "constant"}
    assert report.comparison.notes[0].startswith("LR is left out: no feature is left")


def test_the_references_that_a_model_keeps_are_used(train, tests):
    model = ConstantPredictor(train)
    model.references_ = fit_references(train.X, train.y)
    kept, fitted = reported(model, tests), reported(ConstantPredictor(train), tests, train=train)
    pd.testing.assert_frame_equal(kept.comparison.errors, fitted.comparison.errors)
    pair = reported(ConstantPredictor(train), tests, train=(train.X, train.y))
    pd.testing.assert_frame_equal(pair.comparison.errors, fitted.comparison.errors)
    assert kept.verdict == fitted.verdict == pair.verdict


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baselines": {"LR": 1}}, r"must not be called \['LR'\]"),
        ({"baselines": {"LogisticRegression": 1}}, r"must not be called \['LogisticRegression'\]"),
        ({"stable_features": ["W"]}, r"X lacks the columns \['W'\]"),
        ({"stable_features": []}, "both, or neither"),
        ({"train": None, "stable_features": ["S1"]}, "both, or neither"),
    ],
)
def test_bad_references_are_refused(train, tests, lr, change, message):
    with pytest.raises(InputError, match=message):
        reported(lr, tests, **({"train": train} | change))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (lambda t: PlainTable("t", t.X, np.zeros(1000, int)), "y of t must have both classes"),
        (lambda t: PlainTable("t", t.X, t.y + 1), "y of t must have the classes"),
        (lambda t: PlainTable("t", t.X.drop(columns="S1"), t.y), r"lacks \['S1'\]"),
    ],
)
def test_a_bad_training_environment_is_refused(train, tests, lr, table, message):
    with pytest.raises(InputError, match=message):
        reported(lr, tests, train=table(train))


def test_a_function_called_constant_does_not_hide_the_constant(train, tests):
    def constant(X):
        return np.full(len(X), 0.3)

    assert list(reported(constant, tests, train=train).comparison.roles) == [
        *("constant (model)", "LR", "constant"),
    ]


# --- the verdict ---

CLEAR, UNSURE = 0.001, 10.0  # half the width of an interval


def differ(other, gaps, average=CLEAR, stability=None, role="baseline"):
    """The model's errors minus another's, with intervals of a given half-width.

    ``stability`` is the difference of the Stability_Error with its half-width; unsure if not given.
    """
    gaps, (spread, width) = np.array(gaps), stability or (0.01, UNSURE)
    mean = gaps.mean()
    return Difference(
        other,
        role,
        gaps,
        Interval(mean, mean - average, mean + average),
        Interval(spread, spread - width, spread + width),
    )


def compared(*differences, model=(0.2, 0.25, 0.3)):
    """A comparison with these differences; errors of the others follow from them."""
    own = np.array(model)
    errors = {"m": own} | {d.other: own - d.by_environment for d in differences}
    frame = pd.DataFrame(errors, index=list("abc")).T
    roles = {"m": "model"} | {d.other: d.role for d in differences}
    return Comparison(frame, roles, None, differences, frame)


def judge(*differences, constant=False, share=None):
    return stability_verdict(compared(*differences), "rmse", 0.95, constant, share)


LR = {"other": "LR", "role": "LR"}
ACROSS = "Across 3 environments the RMSE of m lies between 0.200 and 0.300."


def test_a_model_that_loses_everywhere_is_not_recommended():
    assert judge(differ(gaps=[0.01, 0.02, 0.11], **LR)) == (
        "Use logistic regression instead: it is more accurate than m in 3 of 3 environments "
        "(RMSE lower by 0.010 to 0.110), and m is not steadier by more than chance "
        "(Stability_Error differs by +0.010, 95 % interval −9.990 to +10.010). "
        "The worst error of m is 0.300, in c; that of logistic regression 0.230."
    )


def test_a_steadier_model_that_loses_everywhere_is_not_recommended_either():
    text = judge(differ(gaps=[0.01, 0.02, 0.11], stability=(-0.02, CLEAR), **LR))
    assert text.startswith("Use logistic regression instead")
    assert (
        "but m is steadier (Stability_Error lower by 0.020, 95 % interval 0.019 to 0.021)" in text
    )


def test_a_model_that_wins_everywhere_is_recommended():
    text = judge(differ(gaps=[-0.01, -0.02, -0.11], stability=(-0.02, CLEAR), **LR))
    assert text.startswith(
        "Use m: it is more accurate than logistic regression in 3 of 3 environments (RMSE lower "
        "by 0.010 to 0.110), and steadier (Stability_Error lower by 0.020"
    )


def test_equal_gains_are_one_number():
    text = judge(differ(gaps=[0.0101, 0.0099, 0.01], **LR))
    assert "in 3 of 3 environments (RMSE lower by about 0.010), and m" in text


def test_a_model_that_wins_on_average_is_recommended_with_the_number_of_wins():
    text = judge(differ(gaps=[0.01, -0.05, -0.02], **LR))
    assert text.startswith(
        "Use m: it is more accurate than logistic regression on average (Average_Error lower by "
        "0.020, 95 % interval 0.019 to 0.021) and in 2 of 3 environments"
    )


def test_a_trade_is_described_and_not_decided():
    text = judge(differ(gaps=[0.05, -0.01, 0.02], stability=(-0.02, CLEAR), **LR))
    assert text.startswith("Logistic regression is more accurate than m on average")
    assert "but m is steadier" in text
    assert "Use" not in text


def test_steadiness_alone_is_reported_with_the_open_question_of_accuracy():
    text = judge(differ(gaps=[0.01, 0.0, -0.005], average=UNSURE, stability=(-0.02, CLEAR), **LR))
    assert text.startswith("m is steadier than logistic regression (Stability_Error lower by 0.020")
    assert "these rows show no difference in accuracy" in text


def test_what_intervals_leave_open_is_no_difference():
    text = judge(differ(gaps=[0.01, 0.02, 0.11], average=UNSURE, **LR))
    assert text.startswith("These rows show no difference between m and logistic regression")
    for claim in ("steadier", "more accurate", "Use"):
        assert claim not in text


@pytest.mark.parametrize("average", [CLEAR, UNSURE])
@pytest.mark.parametrize("stability", [(-0.02, CLEAR), (-0.02, UNSURE), (0.02, CLEAR)])
@pytest.mark.parametrize("gaps", [(0.1, 0.1, 0.1), (-0.1, -0.1, -0.1), (0.1, 0.1, -0.1)])
def test_nothing_is_claimed_where_an_interval_includes_zero(gaps, average, stability):
    text = judge(differ("other", gaps, average, stability))
    assert ("more accurate" in text) == (average == CLEAR)
    claims = text.replace("not steadier by more than chance", "")
    assert ("steadier" in claims) == (stability[1] == CLEAR)


def test_the_most_accurate_of_the_others_is_the_rival():
    text = judge(differ("weak", [-0.1] * 3), differ("strong", [0.1, 0.1, -0.1]))
    assert text.startswith("Use strong instead")


def test_an_interval_that_excludes_zero_does_not_end_at_it():
    text = judge(differ("other", [0.0015, -0.0001, 0.0016], average=0.0006))
    assert "(Average_Error lower by 0.0010, 95 % interval 0.0004 to 0.0016)" in text


def test_one_that_is_better_everywhere_comes_before_one_that_is_better_on_average():
    text = judge(differ("most", [0.9, 0.9, -0.1]), differ("always", [0.1] * 3))
    assert text.startswith("Use always instead: it is more accurate than m in 3 of 3 environments")


def test_the_oracle_is_no_alternative():
    text = judge(differ(gaps=[-0.1] * 3, **LR), differ("oracle", [0.2] * 3, role="oracle"))
    assert text.startswith("Use m")


def test_a_constant_can_be_the_recommendation():
    text = judge(differ("constant", [0.1] * 3, stability=(0.1, CLEAR), role="constant"))
    assert text.startswith("Use a constant instead: it is more accurate than m in 3 of 3")


def test_reasons_for_doubt_are_named():
    assert "m predicts nearly the same probability for every row." in judge(constant=True)
    assert "Its weights rest on 3.1 % of the rows." in judge(share=0.031)
    assert judge(share=0.05) == ACROSS


def test_a_model_beside_itself_shows_no_difference(train, tests):
    linear = fit_references(train.X, train.y).predict_linear
    report = reported(linear, tests, train=train)
    assert report.verdict.startswith("These rows show no difference between predict_linear and")
    (difference,) = [d for d in report.comparison.differences if d.role == "LR"]
    assert difference.average == difference.stability == (0, 0, 0)


def test_a_single_environment_is_judged_by_its_error_alone():
    def judge_one(gap, width):
        found = Difference(
            "LR", "LR", np.array([gap]), Interval(gap, gap - width, gap + width), None
        )
        errors = pd.DataFrame({"m": [0.3], "LR": [0.3 - gap]}, index=["only"]).T
        comparison = Comparison(errors, {"m": "model", "LR": "LR"}, None, (found,), errors)
        return stability_verdict(comparison, "rmse", 0.95, False, None)

    assert judge_one(0.1, CLEAR) == (
        "Use logistic regression instead: it is more accurate than m (RMSE lower by 0.100, 95 % "
        "interval 0.099 to 0.101)."
    )
    assert judge_one(-0.1, CLEAR).startswith("Use m: it is more accurate than logistic regression")
    assert judge_one(0.1, UNSURE).startswith("These rows show no difference between m and logistic")


def test_a_numeric_outcome_is_compared_with_ridge_regression():
    text = judge(differ("ridge", [0.01, 0.02, 0.11], role="ridge"))
    assert text.startswith("Use ridge regression instead: it is more accurate than m in 3 of 3")


def test_a_logistic_regression_is_told_from_its_reference(train, tests, lr):
    report = reported(lr, tests, train=train)
    assert report.verdict.startswith("Use logistic regression with a chosen penalty instead")
    assert "that of logistic regression with a chosen penalty 0." in report.verdict


def test_a_constant_predictor_is_found_out(train, tests):
    report = reported(ConstantPredictor(train), tests, train=train)
    assert report.constant
    assert "predicts nearly the same probability for every row" in report.verdict


def test_differences_are_paired_over_the_rows(train, tests, lr):
    """Slowly: both methods are evaluated on the same rows of each bootstrap sample."""
    other = LogisticRegression(C=0.01).fit(train.X, train.y)
    report = stability_report(lr, tests, baselines={"other": other}, n_bootstrap=40, random_state=5)
    (found,) = report.comparison.differences
    averages, spreads = [], []
    rngs = {t.name: numpy_generator(5, "rows", t.name) for t in tests}
    for _ in range(40):
        errors = []
        for t in tests:
            rows = rngs[t.name].integers(0, len(t), len(t))
            drawn = Environment(t.name, t.X.iloc[rows], t.y[rows])
            errors.append([environment_errors(m, drawn).item() for m in (lr, other)])
        one, two = np.array(errors).T
        averages.append(average_error(one) - average_error(two))
        spreads.append(stability_error(one) - stability_error(two))
    for interval, draws in ((found.average, averages), (found.stability, spreads)):
        assert interval[1:] == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])))
    errors = report.comparison.errors
    np.testing.assert_allclose(found.by_environment, errors.iloc[0] - errors.iloc[1])


# --- predictions ---


def test_every_method_predicts_once_in_every_environment(train, tests):
    class Counting(LogisticRegression):
        calls = 0

        def predict_proba(self, X):
            Counting.calls += 1
            return super().predict_proba(X)

    model = Counting().fit(train.X, train.y)
    report = reported(model, tests, train=train)
    # Once per environment, and twice per feature for what breaks it.
    assert Counting.calls == len(tests) + 2 * train.X.shape[1]
    Counting.calls = 0
    predictions = {t.name: np.full(len(t), 0.5) for t in tests}
    again = reported(predictions, tests, train=train, baselines={"counting": model})
    assert Counting.calls == len(tests)
    assert len(report.comparison.line) == len(again.comparison.line) == 101


# --- facts ---


def test_the_model_inside_searches_and_pipelines_is_found(train):
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(inner, {"logisticregression__C": [0.1, 1.0]}, cv=2)
    facts = model_facts(search.fit(train.X, train.y))
    assert facts.name == "LogisticRegression"
    assert facts.effective_share is None


class HasWeights:
    def __init__(self, weights):
        self.sample_weight_ = weights

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def effective_share(weights, rows=None):
    model = HasWeights(weights)
    if rows is not None:
        model.row_count_ = rows.astype(float)
    return model_facts(model).effective_share


def test_the_effective_share_is_that_of_the_rows_with_a_weight():
    w = np.random.default_rng(0).lognormal(0, 1.5, 5000)
    share = effective_share(np.append(w / w.mean(), 0.0))
    assert share == pytest.approx(w.sum() ** 2 / (5000 * (w @ w)))


@pytest.mark.parametrize("weights", [np.ones(10), np.full(10, 1e-9), np.array([5.0])])
def test_equal_weights_lose_nothing(weights):
    assert effective_share(weights) == pytest.approx(1)


def test_a_model_of_zero_weights_has_no_effective_share():
    assert effective_share(np.zeros(4)) is None


def test_weights_with_row_counts_are_summed_up_as_if_each_row_were_there():
    rng = np.random.default_rng(0)
    w, rows = rng.exponential(size=30).round(2), rng.integers(1, 40, 30)
    w[0] = 0.0
    assert effective_share(w, rows) == pytest.approx(effective_share(np.repeat(w, rows)))
