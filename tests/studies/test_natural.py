import json
import os

import numpy as np
import pandas as pd
import pytest

from stablepred.exceptions import InputError, StablepredWarning
from stablepred.tables.datasets import FOLDER_VARIABLE
from studies.catalogue import find_study
from studies.methods import METHODS
from studies.natural import tables
from studies.natural.cases import LEAST_TRAINED, MOST_ROWS, Case, list_cases, run_case
from studies.natural.methods import COMPARED, FIELD, ON_ALL_ROWS, make_method
from studies.natural.report import CHANGES, long_table, summary, table_means
from studies.natural.study import NaturalStudy
from studies.natural.tables import BY_AGE, ENVIRONMENTS, MADE_UP, NATURAL, load_table
from studies.records import Records

AVERAGE, WORST = CHANGES["average"], CHANGES["worst"]


@pytest.fixture
def no_files(tmp_path, monkeypatch):
    """Neither the folder of the data sets nor the cache has a file."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    load_table.cache_clear()
    yield tmp_path
    load_table.cache_clear()


def study_of(cases, quick=False):
    study = NaturalStudy("natural", (0,), quick=quick, command="the command")
    study.__dict__["cases"] = cases
    return study


# --- cases ---


def test_every_environment_of_thirteen_tables_is_trained_in_at_both_sizes():
    cases = list_cases(range(5))
    assert {case.table for case in cases} == {*NATURAL, *BY_AGE}
    assert len({*NATURAL, *BY_AGE}) == 13
    assert {case.seed for case in cases} == {0, 1, 2}
    trained = {(case.table, case.environment, case.most_rows) for case in cases}
    for table in (*NATURAL, *BY_AGE):
        for environment, rows in ENVIRONMENTS[table].items():
            assert ((table, environment, MOST_ROWS) in trained) == (rows >= LEAST_TRAINED)
            assert ((table, environment, None) in trained) == (rows > MOST_ROWS)
    capped = [case for case in cases if case.most_rows]
    runs = len({(case.table, case.environment) for case in capped})
    assert len(capped) == runs * (3 * len(COMPARED) - 2)  # DGBR for one seed
    assert len(cases) - len(capped) == (len(trained) - runs) * len(ON_ALL_ROWS)
    assert {case.seed for case in cases if case.most_rows is None} == {0}


def test_a_case_is_defined_by_plain_values_and_comes_back_from_them():
    cases = list_cases([1, 2])
    definitions = [json.loads(json.dumps(case.definition, allow_nan=False)) for case in cases]
    assert [Case.from_definition(definition) for definition in definitions] == cases
    assert {d["method revision"] for d in definitions if d["method"] == "DGBR"} == {
        METHODS["DGBR"].revision
    }
    balancer = next(d["settings"]["balancer"] for d in definitions if d["method"] == "LR + DWR")
    assert balancer == "DWRBalancer"
    assert {d["method"] for d in definitions} >= set(FIELD)


# --- tables ---


@pytest.mark.parametrize("name", [*NATURAL, *BY_AGE])
def test_a_table_has_the_rows_that_the_cases_expect(name):
    if FOLDER_VARIABLE not in os.environ:
        pytest.skip(f"{FOLDER_VARIABLE} does not name a folder with the tables")
    try:
        table = load_table(name)
    except InputError as error:
        pytest.skip(str(error))
    names, counts = np.unique(table.environment, return_counts=True)
    assert dict(zip(names, counts, strict=True)) == dict(ENVIRONMENTS[name])
    assert len(table.X) == len(table.y) == len(table.environment)
    assert set(table.y) == {0, 1}
    assert not {"y", "env", "age" if name in BY_AGE else "y"} & set(table.X)
    assert "object" not in set(map(str, table.X.dtypes))


def test_made_up_tables_have_numbers_categories_and_missing_values():
    numbers, categories = (load_table(name).X for name in MADE_UP)
    assert numbers.isna().any().any()
    assert {str(dtype) for dtype in categories.dtypes} == {"category"}


def test_files_are_found_in_either_folder_and_other_tables_are_refused(no_files, monkeypatch):
    monkeypatch.setitem(tables.NATURAL, "wine", {"red": 2, "white": 1})
    monkeypatch.setitem(tables.ENVIRONMENTS, "wine", {"red": 2, "white": 1})
    frame = pd.DataFrame({"env": ["red", "red", "white"], "y": [0, 1, 1], "x": [1.5, 2, 3], "c": 1})
    with pytest.raises(InputError, match=r"'wine\.csv\.gz' was not found"):
        load_table("wine")
    for folder in (no_files / "data" / "natural", no_files / "cache" / "stablepred"):
        folder.mkdir(parents=True)
        frame.to_csv(folder / "wine.csv.gz", index=False)
        load_table.cache_clear()
        assert list(load_table("wine").X) == ["x"]
        (folder / "wine.csv.gz").unlink()
    frame[:2].to_csv(no_files / "data" / "wine.csv.gz", index=False)
    load_table.cache_clear()
    with pytest.raises(InputError, match=r"other rows per environment .*\{'red': 2\}"):
        load_table("wine")


# --- runs ---


def test_a_run_records_the_errors_of_every_other_environment():
    case = Case("made-up numbers", "b", 100, "constant", 1)
    result = json.loads(json.dumps(run_case(case.definition)))
    table = load_table("made-up numbers")
    own = np.random.default_rng(1).permutation(np.flatnonzero(table.environment == "b"))[:100]
    rate = table.y[own].mean()
    assert result["rate"] == pytest.approx(rate)
    assert result["rows"] == 100
    assert result["error at home"] is None  # 20 rows are left
    for name in ("a", "c"):
        y = table.y[table.environment == name]
        assert result["errors"][name] == pytest.approx(np.sqrt(np.mean((y - rate) ** 2)))
        loss = -np.mean(np.log(np.where(y == 1, rate, 1 - rate)))
        assert result["log-loss"][name] == pytest.approx(loss)
    assert set(result["errors"]) == {"a", "c"}


@pytest.mark.parametrize("name", [name for name in COMPARED if name not in ("constant", "DGBR")])
def test_every_method_takes_numbers_categories_and_missing_values(name):
    for table in map(load_table, MADE_UP):
        a, b = (np.flatnonzero(table.environment == e) for e in "ab")
        model = make_method(name, 0).fit(table.X.iloc[a], table.y[a])
        p = model.predict_proba(table.X.iloc[b])
        assert p.shape == (len(b), 2)
        assert np.isfinite(p).all()


def test_the_quick_version_writes_everything_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    study = find_study("natural", [0], quick=True, tuned=False, command="the command")
    paths = study.reproduce(tmp_path)
    assert {path.name for path in paths} == {
        "records.jsonl",
        "natural.md",
        "natural.csv",
        "natural-by-table.csv",
        "natural-summary.csv",
        "capped-changes.png",
        "all-rows-changes.png",
    }
    assert all(path.stat().st_size for path in paths)
    page = (tmp_path / "natural.md").read_text()
    assert "the command" in page
    assert all(f"| {method} |" in page for method in ON_ALL_ROWS)
    lines = paths[0].read_text().splitlines()
    paths[0].write_text("\n".join(lines[:-1]) + "\n")
    ran = []
    monkeypatch.setattr(
        NaturalStudy,
        "run",
        staticmethod(lambda d: ran.append(d) or json.loads(lines[-1])["result"]),
    )
    again = find_study("natural", [0], quick=True, tuned=False, command="the command")
    again.reproduce(tmp_path)
    assert ran == [json.loads(lines[-1])["definition"]]


def test_a_table_that_is_not_there_is_skipped_with_a_warning(no_files):
    methods = ("constant", "LR")
    cases = [
        Case(table, environment, 150, method, 0)
        for table, environment in (("heart", "va"), ("made-up numbers", "a"))
        for method in methods
    ]
    with pytest.warns(StablepredWarning, match=r"heart is skipped: 'heart\.csv\.gz' was not found"):
        study_of(cases).reproduce(no_files / "results")
    page = (no_files / "results" / "natural.md").read_text()
    assert "Not run to the end: heart." in page
    assert len(Records(no_files / "results" / "records.jsonl")) == len(methods)
    study_of(cases[2:]).reproduce(no_files / "results")  # recorded: the files are not needed
    with (
        pytest.warns(StablepredWarning, match="heart is skipped"),
        pytest.raises(InputError, match="none of the tables"),
    ):
        study_of(cases[:2]).reproduce(no_files / "nothing")


# --- tables of numbers ---


@pytest.fixture
def recorded(tmp_path):
    """Made-up records: the constant is .4, LR .3; Stable loses .01 in red wine."""
    records = Records(tmp_path / "records.jsonl")
    cases = [
        case
        for case in list_cases([0, 1])
        if case.table in ("wine", "heart") and case.method in ("constant", "LR", "Stable")
    ]
    for case in cases:
        error = {"constant": 0.4, "LR": 0.3, "Stable": 0.3}[case.method]
        if case.method == "Stable":
            error += 0.01 if case.environment == "red" else -0.001
            error += 0.11 if case.most_rows is None and case.seed == 0 else 0
        result = {
            "errors": {"x": error, "y": error + 0.02},
            "log-loss": {"x": 2 * error, "y": 2 * error},
            "error at home": None,
            "rows": 300,
            "fit_seconds": 1.0,
        }
        if case.method == "Stable":
            leaves_out = case.environment == "white"
            result["dropped"] = ["z"] if leaves_out else []
            result["reason"] = (
                "It is lower (0.3; all variables 0.4)." if leaves_out else "So be it."
            )
        records.add(case.definition, result)
    return records, cases


def test_changes_are_against_lr_of_the_same_run(recorded):
    long = long_table(*recorded)
    ours = long[long["method"] == "Stable"].set_index(["size", "environment", "seed"])
    assert ours.loc[("capped", "red", 0), AVERAGE] == pytest.approx(0.01)
    assert ours.loc[("capped", "va", 0), WORST] == pytest.approx(-0.001)
    assert ours.loc[("all rows", "red", 0), AVERAGE] == pytest.approx(0.12)
    # Hospitals have fewer rows than the cap: the same run counts at both sizes.
    assert ours.loc[("all rows", "va", 1), AVERAGE] == pytest.approx(-0.001)
    assert ours["worse than LR"].sum() == 2 + 2
    assert ours["worse than the constant"].sum() == 2
    assert ours["alone worse than the constant"].sum() == 2


def test_tables_count_the_same_in_the_summary(recorded):
    long = long_table(*recorded)
    means = table_means(long)
    of_wine = means[(means["table"] == "wine") & (means["method"] == "Stable")]
    assert of_wine.set_index("size").loc["capped", AVERAGE] == pytest.approx(0.0045)
    rows = summary(long, means).set_index(["size", "method"]).loc[("capped", "Stable")]
    assert rows[AVERAGE] == pytest.approx((0.0045 - 0.001) / 2)
    assert rows["count"] == 2
    assert rows["tables harmed"] == 0
    assert rows["worse than LR"] == pytest.approx(2 / 10)  # of all runs
    assert rows["largest change of a table"] == pytest.approx(0.0045)


def test_the_page_says_how_often_stable_leaves_something_out(recorded, tmp_path):
    records, cases = recorded
    study = study_of(cases)
    assert study.recorded(records) == cases
    page = study.page(records, study.tables(records), study.draw(records, tmp_path))
    assert "at least one variable in 2 of 10 runs" in page
    assert "| wine | +100.0 | +4.5 |" in page
    assert "largest change" in page
