import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from stablepred.cli import app
from stablepred.data import Dataset
from stablepred.exceptions import InputError
from studies import real
from studies.catalogue import find_study
from studies.methods import METHODS as ALL_METHODS
from studies.real import RealStudy, features
from studies.real import cases as real_cases
from studies.real.cases import DESIGNS, QUICK, Case, Design, list_cases, run_case
from studies.real.pictures import draw
from studies.real.report import claim_table, long_table
from studies.records import Records

METHODS = ("LR", "DLR", "GBR", "DGBR", "constant")
AGE = Design("groups", "bank", "age", "[20,30)")


def people(name):
    """A small table with the columns that make groups of any data set."""
    rng = np.random.default_rng(0)
    n = 3000
    frame = pd.DataFrame((rng.random((n, 5)) < 0.5).astype(int)).add_prefix("x")
    age = rng.integers(20, 60, n)
    frame["y"] = (rng.random(n) < 0.2 + 0.5 * frame["x0"] + 0.002 * age).astype(int)
    frame["age"] = frame["AGE"] = age
    frame["year"] = 2008 + rng.integers(0, 3, n)
    frame["workclass"] = pd.Categorical(rng.choice(["Private", "State-gov", None], n))
    frame["admission_source_id"] = pd.Categorical(rng.choice(["7", "1", "20"], n))
    return Dataset(frame, "y", (), "", "")


@pytest.fixture
def small_tables(monkeypatch):
    """Every data set is the same small table."""
    monkeypatch.setattr(features, "load_dataset", people)
    for cached in (features.binary_table, real_cases.situation):
        cached.cache_clear()
    yield
    for cached in (features.binary_table, real_cases.situation):
        cached.cache_clear()


def made_up(study, method, seed):
    """A record without a fit: DGBR is better than the others by a fixed amount."""
    rng = np.random.default_rng(seed)
    best = method == "DGBR"
    spread = 0.01 if best else 0.05
    names = [f"r=0.{k}" for k in range(1, 10)] if study.protocol == "selection" else list("abcd")
    level = 0.3 - 0.02 * best + 0.001 * rng.random()
    values = level + spread * np.linspace(-1, 1, len(names))
    errors = dict(zip(names, values.tolist(), strict=True))
    result = {
        "errors": errors,
        "errors at the training rate": errors,
        "one by one": {"x0": list(errors.values())} if study.protocol == "selection" else {},
        "effective share": 0.4 if method in ("GBR", "DGBR") else None,
        "stable": ["x0"] if method in ("GBR", "DGBR") else None,
        "features": ["x0", "x1", "x2"],
        "noisy": {"x1": 0.5, "x2": 0.2} if study.protocol == "selection" else {},
        "rows": {"train": 100} | dict.fromkeys(names, 50),
        "rates": {"train": 0.3} | dict.fromkeys(names, 0.4),
        "fit_seconds": 0.1,
        "seconds": 0.2,
        "warnings": [],
    }
    if method == "LR":
        result["shrinkage"] = [(0.4, 0.03), (0.35, 0.04), (0.3, 0.05)]
    return result


@pytest.fixture
def recorded(tmp_path):
    """Made-up records of three studies and two seeds."""
    records = Records(tmp_path / "records.jsonl")
    studies = (QUICK[0], AGE, Design("groups", "adult", "workclass", "Private"))
    planned = [
        Case(study, method, seed)
        for study in studies
        for seed in (5, 6)
        for method in (*METHODS, "oracle")
        if method != "oracle" or study.protocol == "selection"
    ]
    for case in planned:
        records.add(case.definition, made_up(case.design, case.method, case.seed))
    return records, planned


def write(cases, records, folder):
    """The study's files for these cases alone, without pictures."""
    study = RealStudy("real", (5, 6), command="the command")
    study.__dict__["cases"] = cases
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RealStudy, "draw", lambda *arguments: [])
        return study.write(records, folder)


# --- definitions ---


def test_the_studies_are_both_protocols_on_the_tables_they_fit():
    by = {(study.protocol, study.by.lower(), study.fix_rate) for study in DESIGNS}
    assert {("groups", "age", False), ("groups", "age", True)} <= by
    selected = {study.dataset for study in DESIGNS if study.protocol == "selection"}
    assert selected == set(features.ASIDE)
    assert len({study.title for study in DESIGNS}) == len(DESIGNS)


def test_a_case_is_defined_by_plain_values_and_comes_back_from_them():
    whole = list_cases([1, 2])
    definitions = [json.loads(json.dumps(case.definition)) for case in whole]
    assert [Case.from_definition(definition) for definition in definitions] == whole
    assert all("random_state" not in definition["settings"] for definition in definitions)


def test_a_new_revision_of_a_method_changes_its_key_alone(monkeypatch):
    before = [case.definition for case in list_cases([1], quick=True)]
    monkeypatch.setitem(ALL_METHODS, "DGBR", replace(ALL_METHODS["DGBR"], revision=99))
    after = [case.definition for case in list_cases([1], quick=True)]
    changed = [a["method"] for a, b in zip(before, after, strict=True) if a != b]
    assert changed == ["DGBR"]


# --- runs ---


def test_a_run_records_the_errors_and_what_stands_behind_them():
    results = {
        method: json.loads(json.dumps(run_case(Case(QUICK[0], method, 1).definition)))
        for method in ("LR", "constant", "oracle", "boosting", "boosting + weights")
    }
    for result in results.values():
        assert len(result["errors"]) == 9
        assert len(result["noisy"]) == 4
        assert len(result["one by one"]) == len(result["features"]) - 4
        assert result["rows"]["train"] > 100
        assert result["rates"]["r=0.1"] != result["rates"]["r=0.9"]
    held = results["constant"]["errors at the training rate"].values()
    assert np.ptp(list(held)) < 1e-12
    line = results["LR"]["shrinkage"]
    for end, method in ((line[0], "constant"), (line[-1], "LR")):
        assert end[0] == pytest.approx(np.mean(list(results[method]["errors"].values())))
    assert results["boosting"]["effective share"] is None
    assert 0 < results["boosting + weights"]["effective share"] < 1


@pytest.mark.parametrize(
    ("study", "environments"),
    [
        (AGE, ["[20,30)", "[30,40)", "[40,50)", "[50,100)"]),
        (Design("groups", "credit", "AGE", "[20,30)", fix_rate=True), ["[20,30)", "[30,40)"]),
        (Design("groups", "bank", "year", "2008"), ["2008", "2009", "2010"]),
        (
            Design("groups", "adult", "workclass", "Private"),
            ["Private", "State-gov", "not given"],
        ),
        (
            Design("groups", "diabetes", "admission_source_id", "emergency room"),
            ["emergency room", "physician referral"],
        ),
    ],
)
def test_groups_are_named_by_what_makes_them(study, environments, small_tables):
    result = run_case(Case(study, "LR", 0).definition)
    assert list(result["errors"])[: len(environments)] == environments
    # What makes the groups is no feature.
    assert study.by not in {name.split("=")[0] for name in result["features"]}


# --- tables and figures ---


def test_the_claim_is_judged_by_means_over_seeds(recorded):
    records, planned = recorded
    long = long_table(records, planned)
    table = claim_table(long, [QUICK[0], AGE])
    assert table["claim"].tolist() == ["holds", "holds"]
    worse = long.copy()
    worse.loc[worse["method"] == "DGBR", "Average_Error"] += 1
    assert "worse on average" in claim_table(worse, [AGE])["claim"].iloc[0]
    unstable = long.copy()
    unstable.loc[unstable["method"] == "DGBR", "Stability_Error"] += 1
    assert "not the most stable" in claim_table(unstable, [AGE])["claim"].iloc[0]


def test_a_difference_inside_its_interval_is_said_to_be_one(recorded):
    long = long_table(*recorded)
    dgbr = long["method"] == "DGBR"
    best = long.loc[~dgbr].groupby(["study", "seed"])["Average_Error"].transform("min")
    level = best.groupby([long["study"], long["seed"]]).min()
    for (study, seed), value in level.items():
        here = dgbr & (long["study"] == study) & (long["seed"] == seed)
        long.loc[here, "Average_Error"] = value + (0.003 if seed == 5 else -0.001)
    assert claim_table(long, [AGE])["claim"].iloc[0].startswith("undecided")


def test_tables_say_what_a_method_found(recorded):
    long = long_table(*recorded)
    row = long[(long["method"] == "DGBR") & long["study"].str.contains("selection")].iloc[0]
    assert row["biased called noisy"] == 1
    assert row["others called stable"] == 1
    assert row["shrunk LR wins"] == 0
    assert long[long["method"] == "constant"]["shrunk LR wins"].eq(0).all()


def test_the_report_names_its_seeds_and_studies(recorded, tmp_path):
    records, planned = recorded
    write(planned, records, tmp_path)
    text = (tmp_path / "real.md").read_text()
    assert "`the command`" in text
    assert "Seeds 5 to 6 (development seeds)" in text
    for title in ("breast-cancer, biased selection", "bank by age", "adult by workclass"):
        assert f"## {title}" in text
    assert "nan" not in text
    assert len(pd.read_csv(tmp_path / "real.csv")) == len(planned)


def test_a_report_without_selection_has_no_reasons(recorded, tmp_path):
    records, planned = recorded
    some = [case for case in planned if case.design == AGE and case.seed == 5]
    write(some, records, tmp_path)
    text = (tmp_path / "real.md").read_text()
    assert "What stands behind it" not in text
    assert "±" not in text.split("## Does the claim hold?")[1]


def test_every_kind_of_study_has_its_figures(recorded, tmp_path):
    records, planned = recorded
    names = {path.name for path in draw(records, planned, tmp_path)}
    kinds = ("selection", "age", "groups")
    assert names == {f"{kind}{end}.png" for kind in kinds for end in ("", "-both-errors")} | {
        "one-by-one.png"
    }
    assert all((tmp_path / name).stat().st_size > 10_000 for name in names)


def test_reproduce_runs_the_small_version_and_does_not_run_it_twice(tmp_path, monkeypatch):
    command = ["reproduce", "real", "--quick", "--seeds", "1", "--first-seed", "3"]
    command += ["--output", str(tmp_path)]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    assert "real.md" in first.output
    assert "--first-seed 3 --quick" in (tmp_path / "real" / "real.md").read_text()

    def again(definition):
        raise AssertionError("computed twice")

    monkeypatch.setattr(RealStudy, "run", again)
    assert CliRunner().invoke(app, command).exit_code == 0


def test_a_table_that_cannot_be_had_is_an_error_before_the_first_run(tmp_path, monkeypatch):
    def nothing(name):
        raise InputError(f"no file of {name!r} was found")

    monkeypatch.setattr(real, "load_dataset", nothing)
    with pytest.raises(InputError, match="no file of 'bank'"):
        RealStudy("real", (1,)).reproduce(tmp_path)
    assert not (tmp_path / "records.jsonl").exists()


@pytest.mark.parametrize("name", ["figure-13", "figure-14"])
def test_figures_of_biased_selection_are_drawn_by_name(name, tmp_path):
    study = find_study(name, [0], quick=True, tuned=False, command="the command")
    methods = ("LR", "constant", "GBR")
    study.__dict__["cases"] = [case for case in study.cases if case.method in methods]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        records = Records(tmp_path / "records.jsonl")
        for case in study.cases:
            records.add(case.definition, run_case(case.definition))
    paths = study.draw(records, tmp_path)
    assert paths[0].name == f"{name}.png"
    assert all(path.exists() for path in paths)


def test_figures_of_age_have_their_designs_and_no_small_version():
    for name, fixed in (("figure-15", False), ("figure-16", True)):
        study = find_study(name, [0], quick=False, tuned=False, command="")
        designs = {case.design for case in study.cases}
        assert designs
        assert all(d.by.lower() == "age" and d.fix_rate == fixed for d in designs)
        small = find_study(name, [0], quick=True, tuned=False, command="")
        with pytest.raises(InputError, match="no small version"):
            _ = small.cases
