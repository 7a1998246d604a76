import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from stablepred.cli import app
from stablepred.data import Dataset
from stablepred.exceptions import InputError
from stablepred.lab import real, real_methods, real_studies, real_tables
from stablepred.lab.real_plots import write_figures
from stablepred.lab.real_report import claim_table, interval, long_table, write_tables
from stablepred.lab.real_studies import QUICK, STUDIES, Case, Study, cases, run_case
from stablepred.lab.records import Records

METHODS = ("LR", "DLR", "GBR", "DGBR", "constant")
AGE = Study("groups", "bank", "age", "[20,30)")


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
    monkeypatch.setattr(real_tables, "load_dataset", people)
    for cached in (real_tables.binary_table, real_studies.situation):
        cached.cache_clear()
    yield
    for cached in (real_tables.binary_table, real_studies.situation):
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
        "seconds": 0.1,
        "warnings": [],
    }
    if method == "LR":
        result["shrinkage"] = [(0.4, 0.03), (0.35, 0.04), (0.3, 0.05)]
    return result


@pytest.fixture
def recorded(tmp_path):
    """Made-up records of three studies and two seeds."""
    records = Records(tmp_path / "records.jsonl")
    studies = (QUICK[0], AGE, Study("groups", "adult", "workclass", "Private"))
    planned = [
        Case(study, method, seed)
        for study in studies
        for seed in (5, 6)
        for method in (*METHODS, "oracle")
        if method != "oracle" or study.protocol == "selection"
    ]
    for case in planned:
        records.add(case.definition, made_up(case.study, case.method, case.seed))
    return records, planned


# --- definitions ---


def test_the_studies_are_both_protocols_on_the_tables_they_fit():
    by = {(study.protocol, study.by.lower(), study.fix_rate) for study in STUDIES}
    assert {("groups", "age", False), ("groups", "age", True)} <= by
    selected = {study.dataset for study in STUDIES if study.protocol == "selection"}
    assert selected == set(real_tables.ASIDE)
    assert len({study.title for study in STUDIES}) == len(STUDIES)


def test_a_case_is_defined_by_plain_values_and_comes_back_from_them():
    whole = cases([1, 2])
    definitions = [json.loads(json.dumps(case.definition)) for case in whole]
    assert [Case.of(definition) for definition in definitions] == whole
    assert all("random_state" not in definition["settings"] for definition in definitions)


def test_a_new_revision_of_a_method_changes_its_key_alone(monkeypatch):
    before = [case.definition for case in cases([1], quick=True)]
    monkeypatch.setitem(real_methods.REVISIONS, "DGBR", 99)
    after = [case.definition for case in cases([1], quick=True)]
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
        (Study("groups", "credit", "AGE", "[20,30)", fix_rate=True), ["[20,30)", "[30,40)"]),
        (Study("groups", "bank", "year", "2008"), ["2008", "2009", "2010"]),
        (
            Study("groups", "adult", "workclass", "Private"),
            ["Private", "State-gov", "not given"],
        ),
        (
            Study("groups", "diabetes", "admission_source_id", "emergency room"),
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


def test_the_interval_over_seeds_is_students(recorded):
    mean, half = interval(pd.Series([0.1, 0.2, 0.3]))
    assert mean == pytest.approx(0.2)
    assert half == pytest.approx(4.3027 * 0.1 / np.sqrt(3), rel=1e-4)
    assert np.isnan(interval(pd.Series([0.1]))[1])


def test_tables_say_what_a_method_found(recorded):
    long = long_table(*recorded)
    row = long[(long["method"] == "DGBR") & long["study"].str.contains("selection")].iloc[0]
    assert row["biased called noisy"] == 1
    assert row["others called stable"] == 1
    assert row["shrunk LR wins"] == 0
    assert long[long["method"] == "constant"]["shrunk LR wins"].eq(0).all()


def test_the_report_names_its_seeds_and_studies(recorded, tmp_path):
    records, planned = recorded
    report, table = write_tables(records, planned, tmp_path, "the command")
    text = report.read_text()
    assert "`the command`" in text
    assert "Seeds 5 to 6 (development seeds)" in text
    for title in ("breast-cancer, biased selection", "bank by age", "adult by workclass"):
        assert f"## {title}" in text
    assert "nan" not in text
    assert table.read_text().startswith("# the command\n")
    assert len(pd.read_csv(table, comment="#")) == len(planned)


def test_a_report_without_selection_has_no_reasons(recorded, tmp_path):
    records, planned = recorded
    some = [case for case in planned if case.study == AGE and case.seed == 5]
    report, _ = write_tables(records, some, tmp_path, "the command")
    assert "What stands behind it" not in report.read_text()
    assert "±" not in report.read_text().split("## Does the claim hold?")[1]


def test_every_kind_of_study_has_its_figures(recorded, tmp_path):
    records, planned = recorded
    names = {path.name for path in write_figures(records, planned, tmp_path)}
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

    monkeypatch.setattr(real, "run_case", again)
    assert CliRunner().invoke(app, command).exit_code == 0


def test_a_table_that_cannot_be_had_is_an_error_before_the_first_run(tmp_path, monkeypatch):
    def nothing(name):
        raise InputError(f"no file of {name!r} was found")

    monkeypatch.setattr(real, "load_dataset", nothing)
    with pytest.raises(InputError, match="no file of 'bank'"):
        real.run([1], False, Records(tmp_path / "records.jsonl"), 1, "the command")
    assert not (tmp_path / "records.jsonl").exists()
