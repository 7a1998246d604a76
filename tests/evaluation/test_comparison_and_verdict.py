"""A model beside the references, and the sentence that comes of it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablepred import average_error, environment_errors, stability_error, stability_report
from stablepred.data import SyntheticWorld
from stablepred.evaluation.comparison import Comparison
from stablepred.evaluation.references import ConstantPredictor, Oracle, shrinkage_line
from stablepred.evaluation.predictions import PlainTable
from stablepred.evaluation.verdict import methods_title, stability_verdict
from stablepred.exceptions import InputError
from stablepred.evaluation.facts import model_facts

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
    by_hand = {"LR": lr, "constant": ConstantPredictor(train), "oracle": oracle}
    for name, model in by_hand.items():
        pd.testing.assert_series_equal(
            comparison.of(name), environment_errors(model, tests), check_names=False
        )
    pd.testing.assert_frame_equal(comparison.line, shrinkage_line(lr, train, tests))
    summary = comparison.summary()
    assert list(summary.index) == ["Oracle", "LR", "constant", "oracle"]
    assert summary["average_gap"]["Oracle"] == pytest.approx(1)
    assert summary["stability_gap"]["LR"] == 0


def test_without_a_training_environment_there_are_no_references(tests, lr):
    comparison = reported(lr, tests).comparison
    assert comparison.roles == {"LogisticRegression": "model"}
    assert comparison.line is None
    assert comparison.of("LR") is None
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


def test_logistic_regression_is_left_out_with_a_note_where_values_are_missing(train, tests):
    holes = train.X.astype(float)
    holes.iloc[3, 2] = np.nan
    report = reported(ConstantPredictor(train), tests, train=PlainTable("holes", holes, train.y))
    assert set(report.comparison.roles) == {"ConstantPredictor", "constant"}
    assert report.comparison.notes == (
        "LR is left out: it needs finite numbers, but 'S3' has missing or infinite values in "
        "'holes'.",
    )


def test_a_logistic_regression_that_does_not_converge_is_noted():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({f"x{j}": rng.normal(y, 1, 300) * 10**j for j in range(6)})
    tables = [PlainTable(name, X, y) for name in "ab"]
    report = reported(lambda X: np.full(len(X), 0.5), tables, train=PlainTable("t", X, y))
    assert report.comparison.notes == ("LR stopped at scikit-learn's default limit of iterations.",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baselines": {"LR": 1}}, r"must not be called \['LR'\]"),
        ({"baselines": {"LogisticRegression": 1}}, r"must not be called \['LogisticRegression'\]"),
        ({"stable_features": ["W"]}, r"stable features \['W'\], which X lacks"),
        ({"stable_features": []}, "pass both, or neither"),
        ({"train": None, "stable_features": ["S1"]}, "pass both, or neither"),
    ],
)
def test_bad_references_are_refused(train, tests, lr, change, message):
    with pytest.raises(InputError, match=message):
        reported(lr, tests, **({"train": train} | change))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (lambda t: PlainTable("t", t.X, np.zeros(1000, int)), "train .'t'. .*both classes"),
        (lambda t: PlainTable("t", t.X, t.y + 1), "train .'t'. .*must be 0/1"),
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


def compared(**errors):
    """A comparison from errors by role, the model first; the line runs from LR to the constant."""
    frame = pd.DataFrame(errors, index=["a", "b"], dtype=float).T
    line = None
    if "LR" in errors:
        shares = np.linspace(0, 1, 11)
        lr, base = np.array(errors["LR"]), np.array(errors["constant"])
        points = [share * lr + (1 - share) * base for share in shares]
        line = pd.DataFrame(
            [(average_error(p), stability_error(p)) for p in points],
            index=shares,
            columns=["Average_Error", "Stability_Error"],
        )
    return Comparison(frame, {name: name for name in errors}, line, ())


def said(comparison, constant=False, share=None):
    return stability_verdict(comparison, "rmse", constant=constant, effective_share=share)


def test_a_good_model_is_praised_with_numbers():
    assert said(compared(model=(0.2, 0.25), LR=(0.1, 0.6), constant=(0.49, 0.5))) == (
        "Across 2 environments the RMSE of model lies between 0.200 and 0.250; beside plain "
        "logistic regression (0.100 to 0.600) it is steadier and more accurate on average, and "
        "more accurate than a constant (0.495)."
    )


def test_a_better_constant_is_said_plainly():
    text = said(compared(model=(0.3, 0.8), LR=(0.2, 0.9), constant=(0.49, 0.5)))
    assert "but a constant is better in both errors (0.495 against 0.550 on average)" in text
    assert "more accurate than a constant" not in text


def test_shrunk_logistic_regression_is_said_plainly():
    text = said(compared(model=(0.3, 0.64), LR=(0.1, 0.6), constant=(0.49, 0.5)))
    assert "but logistic regression pulled to the constant by" in text
    assert "is better in both errors" in text


def test_a_constant_model_is_said_plainly():
    text = said(compared(model=(0.49, 0.5), LR=(0.1, 0.6), constant=(0.49, 0.5)), constant=True)
    assert "but it predicts nearly the same probability for every row" in text


def test_few_effective_rows_are_said_plainly():
    comparison = compared(model=(0.2, 0.25), LR=(0.1, 0.6), constant=(0.49, 0.5))
    assert "but its weights rest on 3.1 % of the rows" in said(comparison, share=0.031)
    assert "rest on" not in said(comparison, share=0.05)


def test_a_mixed_result_is_no_praise():
    text = said(compared(model=(0.4, 0.41), LR=(0.1, 0.6), constant=(0.49, 0.5)))
    assert "it is steadier but less accurate on average" in text


def test_logistic_regression_beside_itself_is_the_same(train, tests, lr):
    assert "it is as steady and as accurate on average" in reported(lr, tests, train=train).verdict


def test_a_constant_predictor_is_found_out(train, tests):
    report = reported(ConstantPredictor(train), tests, train=train)
    assert report.constant
    assert "predicts nearly the same probability for every row" in report.verdict


def test_titles_name_what_is_better():
    good = compared(model=(0.2, 0.25), LR=(0.1, 0.6), constant=(0.49, 0.5), oracle=(0.2, 0.21))
    assert methods_title(good) == (
        "model closes 86 % of the way from LR to the oracle on average, and 92 % in stability"
    )
    bad = compared(model=(0.3, 0.8), LR=(0.2, 0.9), constant=(0.49, 0.5))
    assert methods_title(bad) == "constant is better than model in both errors"
    alone = compared(model=(0.3, 0.8))
    assert methods_title(alone) == "There is nothing to compare model with"
    others = compared(model=(0.3, 0.4), other=(0.2, 0.5))
    assert methods_title(others) == "No method here is better than model in both errors"


# --- facts ---


def test_the_model_inside_searches_and_pipelines_is_found(train):
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(inner, {"logisticregression__C": [0.1, 1.0]}, cv=2)
    facts = model_facts(search.fit(train.X, train.y))
    assert facts.steps == ("GridSearchCV", "Pipeline", "StandardScaler", "LogisticRegression")
    assert facts.name == "LogisticRegression"
    assert facts.parameters["C"] in ("0.1", "1.0")
    assert facts.n_iter is not None
    assert facts.effective_share is None


class HasWeights:
    def __init__(self, weights):
        self.sample_weight_ = weights

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_weights_are_kept_as_sums_only():
    w = np.random.default_rng(0).lognormal(0, 1.5, 5000)
    summary = model_facts(HasWeights(np.append(w / w.mean(), 0.0))).weights
    assert summary.n_rows == 5000
    assert summary.shares.sum() + summary.above == pytest.approx(1)
    assert len(summary.edges) == len(summary.shares) + 1 == 31
    assert summary.effective_share == pytest.approx(w.sum() ** 2 / (5000 * (w @ w)))
    top = np.sort(w)[-500:].sum() / w.sum()
    assert summary.heaviest_tenth == pytest.approx(top)


@pytest.mark.parametrize("weights", [np.ones(10), np.full(10, 1e-9), np.array([5.0])])
def test_weights_of_any_kind_have_a_summary(weights):
    summary = model_facts(HasWeights(weights)).weights
    assert summary.effective_share == pytest.approx(1)


def test_a_model_of_zero_weights_has_no_summary():
    assert model_facts(HasWeights(np.zeros(4))).weights is None


def test_weights_with_row_counts_are_summed_up_as_if_each_row_were_there():
    rng = np.random.default_rng(0)
    w, rows = rng.exponential(size=30).round(2), rng.integers(1, 40, 30)
    w[0] = 0.0
    counted = HasWeights(w)
    counted.row_count_ = rows.astype(float)
    found = model_facts(counted).weights
    expected = model_facts(HasWeights(np.repeat(w, rows))).weights
    for name, value in vars(expected).items():
        assert getattr(found, name) == pytest.approx(value), name
