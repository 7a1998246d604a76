import json
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from stablepred.cli import app
from stablepred.data import SyntheticWorld
from stablepred.validation.environments import RATES, score
from studies.records import Records
from studies.tuning import TuningStudy
from studies.tuning.candidates import Candidate, WeightedHead, candidate_list, fit_heads
from studies.tuning.cases import Case, called_noisy, list_cases, run_case
from studies.tuning.report import long_table, ways_table
from studies.tuning.truth import Truth

QUICK = list_cases([0], quick=True)[0]


@pytest.fixture(scope="module")
def result():
    """One small case, really run, as it comes back from a file."""
    return json.loads(json.dumps(run_case(QUICK.definition)))


@pytest.fixture(scope="module")
def data():
    train = SyntheticWorld("s_indep_v", 10).sample(300, bias_rate=0.75, random_state=0)
    rng = np.random.default_rng(0)
    weights = {"none": np.ones(300), "raw": rng.gamma(2.0, size=300)}
    return np.array(train.X, dtype=float), train.y.astype(float), weights, train


def test_a_case_is_defined_by_plain_values_and_comes_back_from_them():
    definition = json.loads(json.dumps(QUICK.definition))
    assert Case.from_definition(definition) == QUICK


def test_the_study_has_all_worlds_for_every_seed():
    whole = list_cases(range(5))
    assert len(whole) == len(set(whole)) == 5 * 3 * 2 * 3
    for case in whole:
        world = case.world()
        assert not set(world.stable_features) & set(world.biased_features)


def test_the_first_candidate_is_plain_logistic_regression(data):
    x, y, weights, _ = data
    heads = fit_heads(x, y, weights, candidate_list(x, y, weights, 3)[:1])
    expected = LogisticRegression(tol=1e-8, max_iter=1000).fit(x, y).predict_proba(x)[:, 1]
    np.testing.assert_allclose(heads.probability(x)[:, 0], expected, atol=1e-5)


def test_candidates_are_fitted_under_their_weights_and_refitted_on_what_survives(data):
    x, y, weights, _ = data
    candidates = candidate_list(x, y, weights, 3)
    assert len(candidates) == 1 + 3 * 2 + 3 * 3
    heads = fit_heads(x, y, weights, candidates)
    assert not heads.constant.any()
    k = candidates.index(next(c for c in candidates if c.weighting == "raw" and c.refit))
    kept = heads.beta[:, k] != 0
    assert 0 < kept.sum() < 10
    expected = LogisticRegression(tol=1e-8, max_iter=1000).fit(
        x[:, kept], y, weights["raw"] / weights["raw"].mean()
    )
    np.testing.assert_allclose(heads.beta[kept, k], expected.coef_[0], atol=1e-3)


def test_a_candidate_without_features_is_constant(data):
    x, y, weights, _ = data
    heads = fit_heads(x, y, weights, [Candidate("raw", 10.0, "weighted")])
    assert heads.constant.all()
    assert np.ptp(heads.probability(x)) == 0


def test_the_estimator_of_the_search_is_the_same_candidate(data):
    x, y, weights, train = data
    rows = np.arange(0, 300, 2)
    candidate = Candidate("raw", 0.01, "plain")
    tables = {name: pd.Series(w) for name, w in weights.items()}
    model = WeightedHead(tables, *candidate).fit(train.X.iloc[rows], train.y[rows])
    heads = fit_heads(x[rows], y[rows], {"raw": weights["raw"][rows]}, [candidate])
    np.testing.assert_allclose(model.predict_proba(train.X)[:, 1], heads.probability(x)[:, 0])


def test_noisy_are_the_lower_half_or_all_below_the_threshold():
    evidence = np.array([3.0, 0.2, 1.5, 0.9, 2.0, 1.2])
    assert called_noisy(evidence, "verdict").tolist() == [False, True, False, True, False, False]
    assert called_noisy(evidence, "lower half").sum() == 3
    assert called_noisy(evidence, "lower half")[[1, 3, 5]].all()
    assert called_noisy(evidence + 1, "verdict").sum() == 1


def test_choosing_by_the_test_errors_themselves_has_no_regret():
    rng = np.random.default_rng(0)
    errors = rng.uniform(0.2, 0.4, (6, 9))
    constant = np.array([True, False, False, False, False, False])
    errors[0] = 0.2  # the constant would be the best
    scores = score(errors, 5.0)
    best = 1 + int(np.argmin(scores[1:]))
    references = {
        "LR": (0.5, 0.2),
        "best candidate": (float(errors[best].mean()), float(errors[best].std(ddof=1))),
    }
    truth = Truth(errors, constant, references, constant_error=1.0)
    found = truth.judge(errors)
    assert found["regret"] == pytest.approx(0)
    assert found["regret unguarded"] == pytest.approx(0)
    assert found["rank_correlation"] == pytest.approx(1)
    other = truth.judge(errors, chosen_by_search=1 + int(np.argmax(scores[1:])))
    expected = (scores[1:].max() - scores[best]) / (0.5 + 5 * 0.2 - scores[best])
    assert other["regret"] == pytest.approx(expected)


def test_candidates_no_better_than_a_constant_are_put_last():
    errors = np.array([[0.5, 0.5, 0.5], [0.3, 0.4, 0.5]])
    references = {"LR": (0.5, 0.2), "best candidate": (0.5, 0.0)}
    truth = Truth(errors, np.zeros(2, dtype=bool), references, constant_error=0.45)
    found = truth.judge(errors)
    assert found["chosen unguarded"] == (0.5, 0.0)
    assert found["chosen"] == pytest.approx((0.4, 0.1))


def test_where_lr_is_the_best_candidate_there_is_no_regret_to_speak_of():
    errors = np.array([[0.3, 0.4], [0.5, 0.6]])
    both = (0.35, float(np.std([0.3, 0.4], ddof=1)))
    truth = Truth(errors, np.zeros(2, dtype=bool), {"LR": both, "best candidate": both}, 1.0)
    assert truth.judge(errors)["regret"] is None


def test_a_case_tells_what_every_way_of_tuning_chooses(result):
    ways = result["ways"]
    assert len(ways) == 6 * 2 * 3 + 3 + 2
    assert all(way["regret"] >= 0 for way in ways.values())
    assert set(result["references"]) == {"LR", "oracle", "constant", "best candidate"}
    assert ways["explaining away | verdict | redraw"]["noisy"] > 0
    # The search judges the same candidates by the same rules, on folds of its own.
    assert ways["StableSearchCV | its own | redraw"]["rank_correlation"] > 0.3
    assert set(result["auc"]) == {way.split(" | ")[0] for way in ways if "effect" in way} | {
        "explaining away",
        "both",
    }


def test_the_same_definition_gives_the_same_result(result):
    again = json.loads(json.dumps(run_case(QUICK.definition)))
    assert again == result


def test_tables_are_written_from_the_records_alone(result, tmp_path):
    records = Records(tmp_path / "records.jsonl")
    records.add(QUICK.definition, result)
    study = TuningStudy("tuning-study", (0,), quick=True, command="stablepred reproduce x")
    page, table = study.write(records, tmp_path / "new")
    text = page.read_text()
    assert text.splitlines()[2] == "`stablepred reproduce x`"
    assert "seeds 0 (development seeds)" in text
    assert "| explaining away | verdict | redraw |" in text
    frame = pd.read_csv(table)
    assert len(frame) == len(result["ways"])
    pd.testing.assert_frame_equal(frame, long_table(records, [QUICK]), check_dtype=False, rtol=1e-5)
    medians = ways_table(frame)
    assert medians["regret"].is_monotonic_increasing
    assert medians.loc[0, "S⊥V"] == medians.loc[0, "regret"]


def test_the_command_goes_on_from_its_records(result, tmp_path, monkeypatch):
    computed = []

    def compute(definition):
        computed.append(definition["seed"])
        return result

    monkeypatch.setattr(TuningStudy, "run", compute)
    output = tmp_path / "my results"
    for seeds, expected in ((1, [1000]), (2, [1000, 1001])):
        arguments = ["reproduce", "tuning-study", "--quick", "--output", str(output)]
        done = CliRunner().invoke(app, [*arguments, "--seeds", str(seeds)])
        assert done.exit_code == 0, done.output
        assert computed == expected
    folder = output / "tuning-study"
    assert str(folder / "tuning-study.md") in done.output.replace("\n", "")
    text = (folder / "tuning-study.md").read_text()
    assert f"--seeds 2 --first-seed 1000 --quick --output {shlex.quote(str(output))}" in text
    assert "seeds 1000 to 1001 (published seeds)" in text


def test_an_unknown_name_gives_the_list_of_names():
    done = CliRunner().invoke(app, ["reproduce", "figure-99"])
    assert done.exit_code == 2
    assert "unknown study 'figure-99'" in done.output
    assert "tuning-study" in done.output
    listed = CliRunner().invoke(app, ["reproduce"])
    assert listed.exit_code == 0
    assert "tuning-study" in listed.output


def test_the_rates_of_validation_and_test_are_the_papers():
    assert RATES == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
