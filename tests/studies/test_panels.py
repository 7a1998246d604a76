import json
from dataclasses import replace

import numpy as np
import pytest

from stablepred.data import SyntheticWorld
from stablepred.theory import expected_imbalance
from studies.methods import COMPARED, GRIDS, METHODS, Method
from studies.paper import run_case
from studies.paper.panels import (
    Panel,
    environments,
    errors_of,
    references_definition,
    run_definition,
    shorten,
    theory_definition,
)
from studies.paper.tables import noisy_share
from studies.paper.tuned import tuned_definition
from studies.records import definition_key
from studies.study import compute_case

SMALL = Panel(
    "small", SyntheticWorld("s_indep_v", 10), 150, 0.75, test_rows=100, keeps_encoder=True
)


def stored(definition):
    """A result as it comes back from a file, computed from a definition that did so as well."""
    return json.loads(json.dumps(compute_case(run_case, json.loads(json.dumps(definition)))))


# --- definitions ---


def test_a_panel_comes_back_from_its_definition_without_its_name():
    definition = json.loads(json.dumps(SMALL.definition))
    assert Panel.from_definition(definition) == replace(SMALL, name="")


def test_equal_panels_of_two_figures_have_equal_definitions():
    other = replace(SMALL, name="other", tuned=True)
    assert definition_key(run_definition(SMALL, 3, "LR")) == definition_key(
        run_definition(other, 3, "LR")
    )


@pytest.mark.parametrize(
    "change", [{"n": 151}, {"train_bias": 0.7}, {"permuted": True}, {"test_rows": 101}]
)
def test_another_panel_has_another_key(change):
    keys = {definition_key(references_definition(p, 3)) for p in (SMALL, replace(SMALL, **change))}
    assert len(keys) == 2


def test_a_changed_default_of_one_method_changes_the_key_of_that_method_alone(monkeypatch):
    def keys():
        return {m: definition_key(run_definition(SMALL, 3, m)) for m in METHODS}

    before = keys()
    make, revision = METHODS["GBR"].make, METHODS["GBR"].revision
    other = Method(lambda **kw: make(**{"balance": 2.0} | kw), revision)
    monkeypatch.setitem(METHODS, "GBR", other)
    changed = {m for m, key in keys().items() if key != before[m]}
    assert changed == {"GBR"}
    monkeypatch.setitem(METHODS, "GBR", Method(make, revision + 1))
    assert {m for m, key in keys().items() if key != before[m]} == {"GBR"}


def test_settings_are_all_parameters_but_the_seed():
    settings = run_definition(SMALL, 3, "DGBR (paper)", balance=7.0)["settings"]
    assert settings["balance"] == 7.0
    assert settings["solver"] == "alternating"
    assert "random_state" not in settings
    assert METHODS["DGBR"](5).get_params()["random_state"] == 5


# --- data ---


def test_train_and_test_rows_differ_and_depend_on_the_seed():
    data, again, other = (environments(SMALL, seed) for seed in (1, 1, 2))
    assert [test.name for test in data.tests] == [f"r={k / 10:g}" for k in range(1, 10)]
    assert data.train.X.equals(again.train.X)
    assert not data.train.X.equals(other.train.X)
    assert not data.tests[0].X.equals(other.tests[0].X)


def test_permuted_columns_are_the_same_rows_in_another_order_for_every_seed():
    permuted = replace(SMALL, permuted=True)
    orders = []
    for seed in (1, 2):
        plain, moved = environments(SMALL, seed), environments(permuted, seed)
        orders.append(list(moved.train.X.columns))
        assert orders[-1] != list(plain.train.X.columns)
        assert list(moved.tests[8].X.columns) == orders[-1]
        assert moved.train.X[plain.train.X.columns].equals(plain.train.X)
        np.testing.assert_array_equal(moved.train.y, plain.train.y)
    assert orders[0] != orders[1]


# --- records ---


@pytest.fixture(scope="module")
def records():
    methods = ("LR", "DLR", "GBR")
    runs = {m: stored(run_definition(SMALL, 1, m)) for m in methods}
    return runs | {"references": stored(references_definition(SMALL, 1))}


def test_a_record_has_errors_and_both_summaries(records):
    for method in ("LR", "DLR", "GBR"):
        errors = np.array(list(records[method]["errors"].values()))
        assert len(errors) == 9
        assert records[method]["average"] == pytest.approx(errors.mean(), abs=1e-5)
        assert records[method]["stability"] == pytest.approx(errors.std(ddof=1), abs=1e-5)
        assert records[method]["version"]
        assert records[method]["seconds"] >= records[method]["fit_seconds"] > 0


def test_a_record_has_the_verdict_and_what_it_cost(records):
    found = records["GBR"]
    assert 0 < found["effective_share"] <= 1
    assert 0 <= found["f1"] <= 1
    assert set(found["auc"]) >= {"effect"}
    assert set(found["stable_features"]) <= set(SMALL.world.feature_names)
    assert found["n_iter"] >= 1
    assert found["converged"] in (True, False)
    assert records["LR"]["f1"] is None


def test_the_verdict_is_judged_by_names_not_by_places():
    permuted = stored(run_definition(replace(SMALL, permuted=True), 1, "GBR"))
    plain = stored(run_definition(SMALL, 1, "GBR"))
    assert permuted["f1"] == plain["f1"]
    assert set(permuted["stable_features"]) == set(plain["stable_features"])


def test_references_hold_the_line_from_the_constant_to_lr(records):
    found = records["references"]
    line = found["line"]["Average_Error"]
    assert line[0] == pytest.approx(found["constant"]["average"], abs=1e-4)
    assert line[-1] == pytest.approx(records["LR"]["average"], abs=1e-4)
    assert found["oracle"]["stability"] < records["LR"]["stability"]


def test_the_first_layer_is_kept_by_feature_where_asked_for(records):
    assert set(records["DLR"]["first_layer"]) == set(SMALL.world.feature_names)
    assert records["GBR"]["first_layer"] == {}
    other = replace(SMALL, keeps_encoder=False)
    assert "first_layer" not in stored(run_definition(other, 1, "LR"))


def test_the_noisy_share_counts_norms_of_columns():
    layer = {"S1": [3.0, 4.0], "V1": [0.0, 0.0], "V2": [0.0, 5.0]}
    assert noisy_share({"first_layer": layer}, ["S1", "V1"]) == pytest.approx(0.5)
    assert np.isnan(noisy_share({"first_layer": {}}, ["S1"]))


def test_expected_imbalance_is_that_of_the_theory():
    found = stored(theory_definition([10, 100], [3, 5]))["expected"]
    assert found["5"] == pytest.approx(expected_imbalance([10, 100], 5), abs=1e-6)


def test_warnings_are_cut_to_their_first_sentence_and_not_repeated():
    assert shorten(["It stopped. Raise it.", "It stopped. Raise it.", "x" * 300]) == [
        "It stopped",
        "x" * 160,
    ]


class Fixed:
    """Predicts the true probability."""

    def __init__(self, world):
        self.world = world

    def predict_proba(self, X):
        positive = self.world.probability(X)
        return np.column_stack([1 - positive, positive])


def test_the_noise_is_the_stability_error_of_equal_environments():
    world = SyntheticWorld("s_indep_v", 10)
    tests = [world.sample(500, random_state=k, name=str(k)) for k in range(200)]
    found = errors_of(Fixed(world), tests)
    assert found["noise"] == pytest.approx(found["stability"], rel=0.1)


# --- tuned ---


def test_every_method_has_the_same_number_of_candidates_and_its_defaults_among_them():
    sizes = {m: int(np.prod([len(v) for v in grid.values()])) for m, grid in GRIDS.items()}
    assert set(GRIDS) == set(COMPARED) - {
        "LR (chosen penalty)",
        "GBR",
        "DGBR",
        "Stable",
    }  # tune themselves
    assert len(set(sizes.values())) == 1
    assert max(sizes.values()) <= 12
    for method, grid in GRIDS.items():
        settings = METHODS[method].settings()
        assert all(settings[name] in values for name, values in grid.items()), method


def test_tuning_records_the_chosen_candidate_and_the_best_in_hindsight():
    small = replace(SMALL, small=True, keeps_encoder=False)
    found = stored(tuned_definition(small, 1, "LR"))
    assert [c["params"] for c in found["candidates"]] == [{"C": 0.01}, {"C": 0.1}]
    assert found["params"] in [c["params"] for c in found["candidates"]]
    chosen = next(c for c in found["candidates"] if c["params"] == found["params"])
    assert chosen["average"] == found["average"]
    assert set(chosen["validation"]) == {"average", "stability", "marks"}
    scores = [c["average"] + 5 * c["stability"] for c in found["candidates"]]
    hindsight = found["hindsight"]
    assert hindsight["average"] + 5 * hindsight["stability"] == pytest.approx(min(scores))
