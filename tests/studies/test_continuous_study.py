import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from stablepred.data import ContinuousWorld
from studies.catalogue import find_study, is_study
from studies.continuous.cases import METHODS, Case, list_cases, run_case


def test_four_settings_and_three_sizes_are_run_for_every_seed():
    cases = list_cases([1000, 1001])
    assert len(cases) == 4 * 3 * 2 * len(METHODS)
    assert {case.train_rate for case in cases if case.setting == "collinear"} == {2.5}
    assert {case.train_rate for case in cases if case.setting != "collinear"} == {1.7}


def test_a_case_comes_back_from_its_definition():
    case = Case("s_to_v", 100, "OLS", 3)
    again = json.loads(json.dumps(case.definition))
    assert Case.from_definition(again) == case


@pytest.mark.parametrize(("method", "width"), [("OLS", 10), ("oracle OLS", 5)])
def test_a_record_holds_the_errors_in_every_test_environment(method, width):
    case = Case("s_indep_v", 200, method, 0, test_rows=3000)
    result = run_case(case.definition)
    world = ContinuousWorld("s_indep_v")
    train = world.sample(200, 1.7, random_state=0)
    names = world.feature_names[:width]
    model = LinearRegression().fit(train.X[names], train.y)
    tests = [world.sample(20_000, rate, random_state=77) for rate in case.rates]
    expected = [np.sqrt(np.mean((model.predict(t.X[names]) - t.y) ** 2)) for t in tests]
    np.testing.assert_allclose(result["errors"], expected, atol=0.05)
    assert result["average"] == pytest.approx(np.mean(result["errors"]))
    assert result["stability"] == pytest.approx(np.std(result["errors"], ddof=1))


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
def test_the_small_version_writes_its_page(tmp_path):
    assert is_study("continuous")
    study = find_study("continuous", [0, 1], quick=True, tuned=False, command="the command")
    methods = ("OLS", "oracle OLS", "Stable")
    study.__dict__["cases"] = [
        c for c in study.cases if c.method in methods and c.setting == "v_to_s"
    ]
    paths = study.reproduce(tmp_path)
    assert all(path.exists() for path in paths)
    page = (tmp_path / "continuous.md").read_text(encoding="utf-8")
    assert "the command" in page
    assert "`Stable` has a larger error than `oracle OLS` in " in page
