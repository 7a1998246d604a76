"""Worlds with several training environments, and natural tables with one environment left out."""

import json

import numpy as np
import pytest

from studies import environments
from studies.catalogue import find_study
from studies.natural import left_out
from studies.natural.methods import GROUP_DRO, WITH_LABELS
from studies.natural.tables import ENVIRONMENTS, load_table
from studies.peers.cases import LABELLED, ORACLE, Case, is_numeric, list_cases, run_case
from studies.records import Records

plain = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")


def test_cases_come_back_from_their_definitions():
    worlds = list_cases([3], environments=(1, 2, 3))
    for listed, kind in ((worlds, Case), (left_out.list_cases([3]), left_out.LeftOut)):
        assert len({json.dumps(case.definition, sort_keys=True) for case in listed}) == len(listed)
        for case in listed:
            assert kind.from_definition(json.loads(json.dumps(case.definition))) == case


@plain
@pytest.mark.parametrize("world", ["s_indep_v outcome", "s_to_v numbers"])
def test_methods_that_take_labels_are_given_them(world):
    robust = "anchor" if is_numeric(world) else "group_dro"
    for method in (robust, LABELLED):
        result = run_case(Case(world, method, 0, 3, n=150, test_rows=100).definition)
        assert np.isfinite(result["errors"]).all()
        assert not any("one environment" in line for line in result["warnings"])


@plain
def test_the_small_version_writes_tables_pictures_and_a_page(tmp_path, monkeypatch):
    study = find_study("environments", (0,), quick=True, tuned=False, command="the command")
    methods = ("constant", "lr", "stable", LABELLED, ORACLE)
    listed = [c for c in study.cases if c.world == "v_to_s outcome" and c.method in methods]
    study.__dict__["cases"] = listed
    paths = study.reproduce(tmp_path)
    assert all(path.exists() for path in paths)
    assert len(Records(tmp_path / "records.jsonl")) == 2 * len(methods)
    page = (tmp_path / "environments.md").read_text()
    assert "the command" in page
    assert "of 2 cases" in page
    monkeypatch.setattr(environments, "run_case", None)
    study.reproduce(tmp_path)  # recorded: nothing is run


def test_all_environments_but_the_one_left_out_are_trained_in():
    cases = left_out.list_cases(range(5))
    assert "wine" not in {case.table for case in cases}  # it has two
    for case in cases:
        names = left_out.training_environments(case.table, case.environment)
        assert len(names) > 1
        assert case.environment not in names
        assert all(ENVIRONMENTS[case.table][name] >= 150 for name in names)
    case = left_out.LeftOut("made-up numbers", "a", 50, "constant", 0)
    result, table = left_out.run_case(case.definition), load_table("made-up numbers")
    assert result["rows"] == 100
    y = table.y[table.environment == "a"]
    assert result["errors"] == {"a": pytest.approx(np.sqrt(np.mean((y - result["rate"]) ** 2)))}


@plain
def test_the_study_of_environments_left_out_writes_its_page(tmp_path):
    study = find_study("natural-environments", (0,), quick=True, tuned=False, command="the command")
    paths = study.reproduce(tmp_path)
    assert all(path.exists() for path in paths)
    page = (tmp_path / "natural-environments.md").read_text()
    assert "the command" in page
    assert f"| {WITH_LABELS} |" in page
    assert f"| {GROUP_DRO} |" in page
    assert "worst" not in page.split("##", 1)[1].replace("worse", "")
