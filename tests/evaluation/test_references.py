import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from stablepred import stability_report
from stablepred.data import SyntheticWorld
from stablepred.evaluation.metrics import average_error, environment_errors, stability_error
from stablepred.evaluation.verdict import gaps_closed
from stablepred.exceptions import InputError
from studies.references import ConstantPredictor, Oracle, beaten_by_shrinkage, shrinkage_line

WORLD = SyntheticWorld("s_indep_v", 20)


@pytest.fixture(scope="module")
def train():
    return WORLD.sample(1000, bias_rate=0.75, random_state=0)


@pytest.fixture(scope="module")
def tests():
    return [WORLD.sample(1000, bias_rate=r, random_state=1) for r in (0.1, 0.5, 0.9)]


@pytest.fixture(scope="module")
def model(train):
    return LogisticRegression().fit(train.X, train.y)


def test_the_constant_predicts_the_base_rate_of_training(train, tests):
    probability = ConstantPredictor(train).predict_proba(tests[0].X)
    np.testing.assert_allclose(probability[:, 1], train.y.mean())
    np.testing.assert_allclose(probability.sum(axis=1), 1)


def test_the_oracle_is_logistic_regression_on_the_stable_features(train, tests):
    stable = WORLD.stable_features
    by_hand = LogisticRegression().fit(train.X[stable], train.y)
    expected = by_hand.predict_proba(tests[0].X[stable])
    np.testing.assert_array_equal(Oracle(train, stable).predict_proba(tests[0].X), expected)


def test_the_oracle_of_a_report_names_the_stable_features_that_are_missing(train, tests, model):
    with pytest.raises(InputError, match="\\['S9'\\]"):
        stability_report(model, tests, train=train, stable_features=["S1", "S9"])


def test_the_shrinkage_line_runs_from_the_constant_to_the_model(train, tests, model):
    line = shrinkage_line(model, train, tests)
    for share, end in ((0.0, ConstantPredictor(train)), (1.0, model)):
        errors = environment_errors(end, tests)
        assert line.loc[share, "Average_Error"] == pytest.approx(average_error(errors))
        assert line.loc[share, "Stability_Error"] == pytest.approx(stability_error(errors))


def test_a_point_of_the_line_has_the_errors_of_the_shrunken_model(train, tests, model):
    errors = environment_errors(
        lambda X: 0.3 * model.predict_proba(X)[:, 1] + 0.7 * train.y.mean(), tests, "log_loss"
    )
    line = shrinkage_line(model, train, tests, "log_loss", shares=[0.3])
    assert line["Average_Error"].item() == pytest.approx(average_error(errors))
    assert line["Stability_Error"].item() == pytest.approx(stability_error(errors))


def test_a_method_is_beaten_only_by_a_point_that_is_better_in_both_errors():
    line = pd.DataFrame({"Average_Error": [0.5, 0.4, 0.3], "Stability_Error": [0.0, 0.1, 0.2]})
    step = np.sqrt(2) / 2  # errors m - s step and m + s step have mean m and deviation s

    def errors(average, stability):
        return [average - stability * step, average + stability * step]

    assert beaten_by_shrinkage(errors(0.45, 0.15), line)
    assert not beaten_by_shrinkage(errors(0.35, 0.15), line)
    assert not beaten_by_shrinkage(errors(0.45, 0.05), line)


def test_the_oracle_is_not_beaten_by_the_line_and_a_worse_constant_is(train, tests, model):
    line = shrinkage_line(model, train, tests)
    oracle = environment_errors(Oracle(train, WORLD.stable_features), tests)
    assert not beaten_by_shrinkage(oracle, line)
    upside_down = environment_errors(lambda X: 1 - model.predict_proba(X)[:, 1], tests)
    assert beaten_by_shrinkage(upside_down, line)


def test_gaps_are_shares_of_the_way_from_lr_to_the_oracle():
    gaps = gaps_closed([0.2, 0.6], [0.25, 0.45], [0.2, 0.2])
    assert gaps == pytest.approx(((0.4 - 0.35) / (0.4 - 0.2), (0.4 - 0.2) / 0.4))


def test_lr_closes_nothing_and_the_oracle_everything(train, tests, model):
    lr = environment_errors(model, tests)
    oracle = environment_errors(Oracle(train, WORLD.stable_features), tests)
    assert gaps_closed(lr, lr, oracle).tolist() == [0, 0]
    assert gaps_closed(lr, oracle, oracle).tolist() == [1, 1]


def test_a_constant_closes_the_stability_gap_but_not_the_average_one(train, tests, model):
    lr, constant, oracle = (
        environment_errors(m, tests)
        for m in (model, ConstantPredictor(train), Oracle(train, WORLD.stable_features))
    )
    average, stability = gaps_closed(lr, constant, oracle)
    assert stability > 0.9
    assert average < 0


def test_where_the_oracle_is_no_better_there_is_no_gap():
    average, stability = gaps_closed([0.3, 0.4], [0.25, 0.35], [0.1, 0.4])
    assert average == pytest.approx(0.5)
    assert np.isnan(stability)
    assert np.isnan(gaps_closed([0.2, 0.2], [0.2, 0.2], [0.3, 0.4])).all()
