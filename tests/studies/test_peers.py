import json

import pandas as pd
import pytest

from stablepred.baselines.methods import CLASSIFIERS, REGRESSORS, SEVERAL
from studies.catalogue import find_study
from studies.peers import cases
from studies.peers.cases import ORACLE, WORLDS, Case, compared, is_numeric, list_cases, run_case
from studies.records import Records


def test_every_method_that_needs_one_environment_meets_every_world():
    assert sum(not is_numeric(world) for world in WORLDS) == 7
    assert sum(is_numeric(world) for world in WORLDS) == 4
    listed = {(case.world, case.method) for case in list_cases([0, 1])}
    for world in WORLDS:
        known = REGRESSORS if is_numeric(world) else CLASSIFIERS
        assert {m for w, m in listed if w == world} == {*known, ORACLE} - {*SEVERAL}


def test_a_case_comes_back_from_its_definition():
    for case in list_cases([3], quick=True):
        assert Case.from_definition(json.loads(json.dumps(case.definition))) == case


@pytest.mark.parametrize("world", ["s_indep_v outcome", "collinear numbers"])
def test_the_oracle_is_better_than_a_constant(world):
    errors = {
        name: run_case(Case(world, name, 0, n=500, test_rows=300).definition)["average"]
        for name in ("constant", ORACLE)
    }
    assert errors[ORACLE] < 0.8 * errors["constant"]


def test_the_small_version_writes_tables_and_a_page(tmp_path, monkeypatch):
    names = ("s_to_v signal", "s_indep_v P(V|S)", "v_to_s numbers")
    monkeypatch.setattr(cases, "WORLDS", {name: WORLDS[name] for name in names})
    monkeypatch.setattr(cases, "compared", lambda world, _: [*compared(world)[:2], ORACLE])
    study = find_study("peers", (0,), quick=True, tuned=False, command="the command")
    paths = study.reproduce(tmp_path)
    wide = pd.read_csv(tmp_path / "peers-side-by-side.csv", index_col=0)
    assert list(wide.columns) == list(names)
    assert {"constant", "lr", "ols", "oracle"} == set(wide.index)
    page = (tmp_path / "peers.md").read_text()
    assert "the command" in page
    assert "`stable` has the smallest Average_Error in 0 of 3 worlds; `" in page
    assert "![Errors of every method](peers.png)" in page
    assert len(Records(tmp_path / "records.jsonl")) == 9
    assert all(path.exists() for path in paths)
