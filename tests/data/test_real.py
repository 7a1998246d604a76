import gzip
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from stablepred.data import DATASETS, Dataset, load_dataset
from stablepred.exceptions import InputError
from stablepred.tables import datasets as real

WITH_FILES = [name for name, source in DATASETS.items() if source.files]
AT_OPENML = [name for name, source in DATASETS.items() if source.openml_id]

# A few columns of every set, with a few rows: what a column of each kind may hold.
ROWS = 12
LETTERS = ["a", "b", "c"] * 4
NUMBERS = [str(row + 20) for row in range(ROWS)]
FLAGS = ["yes", "No", "no"] * 4
COLUMNS = {
    "bank": dict.fromkeys(DATASETS["bank"].names, LETTERS)
    | dict.fromkeys(["age", "balance", "duration"], NUMBERS)
    | dict.fromkeys(["default", "housing", "loan"], FLAGS),
    "bank-additional": {
        "age": NUMBERS,
        "duration": NUMBERS,
        "euribor3m": ["1.5", "2"] * 6,
        "job": LETTERS,
    },
    "adult": dict.fromkeys(DATASETS["adult"].names, LETTERS) | {"age": NUMBERS},
    "diabetes": {
        "patient_nbr": ["1", "1", "2", "3", "3", "3", "4", "5", "6", "7", "8", "9"],
        "encounter_id": ["20", "10", *map(str, range(30, 40))],
        "age": ["[0-10)", "[10-20)"] * 6,
        "max_glu_serum": ["None", "Norm"] * 6,
        "weight": ["[75-100)", "?"] * 6,
        "diabetesMed": FLAGS,
    },
    "credit": dict.fromkeys(DATASETS["credit"].names, NUMBERS),
}
OTHERS = {"adult": "<=50K", "credit": "0", "diabetes": "NO"}
MONTHS = ["may", "jun", "dec", "jan", "feb", "nov", "mar", "apr", "may", "jun", "jul", "aug"]


def small_table(name):
    """A table of text with columns of a data set and few rows."""
    source = DATASETS[name]
    columns = COLUMNS[name] | dict.fromkeys(source.categories, ["1", "2"] * 6)
    columns[source.outcome] = [source.positive[0], OTHERS.get(name, "no")] * 6
    if name.startswith("bank"):
        columns |= {"month": MONTHS, "poutcome": LETTERS}
    if name == "adult":
        columns["workclass"] = ["Private", "?"] * 6
    return pd.DataFrame(columns)


def written(frame, name, folder, compressed=False):
    """The files of a data set, made from a table."""
    source = DATASETS[name]
    parts = [frame] if len(source.files) == 1 else [frame.iloc[:8], frame.iloc[8:]]
    for file, part in zip(source.files, parts, strict=True):
        text = part.to_csv(sep=source.separator, index=False, header=source.header)
        if file == "adult.test":
            text = "|1x3 Cross validator\n" + text.replace("50K", "50K.")
        if compressed:
            (folder / f"{file}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / file).write_text(text)


@pytest.fixture
def small(monkeypatch):
    """All data sets as if they had few rows and any content."""
    sources = {
        name: replace(DATASETS[name], rows=ROWS, columns=small_table(name).shape[1])
        for name in WITH_FILES
    }
    monkeypatch.setattr(real, "DATASETS", sources)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """No folder, cache or network but what a test provides."""
    monkeypatch.delenv("STABLEPRED_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def unreachable(**options):
        raise OSError("no network in tests")

    monkeypatch.setattr(real, "fetch_openml", unreachable)


def openml_answer(text, name):
    """The table as OpenML gives it: other names, nominal columns, NaN for missing values."""
    frame = text.replace("?", np.nan)
    for column in frame:
        numeric = frame[column].str.fullmatch("[0-9]+").all()
        frame[column] = frame[column].astype(int if numeric else "category")
    if name == "bank":
        frame["y"] = frame["y"].cat.rename_categories({"no": "1", "yes": "2"})
    names = [f"V{k}" for k in range(frame.shape[1])] if DATASETS[name].names else frame.columns
    return frame.set_axis(names, axis=1)


# --- what they are ---


def test_the_registry_says_what_can_be_loaded_and_from_where():
    for name, source in DATASETS.items():
        assert source.title
        assert source.citation.count("doi:10.24432/") == 1
        assert source.licence == "CC BY 4.0"
        assert (source.openml_id is None) == (name in ("bank-additional", "breast-cancer"))
        if source.names:
            assert source.columns == len(set(source.names))
            assert {source.outcome, *source.categories, *source.dropped} <= set(source.names)


def test_breast_cancer_needs_no_file():
    data = load_dataset("breast-cancer")
    assert isinstance(data, Dataset)
    assert data.frame.shape == (569, 31)
    assert data.frame["malignant"].sum() == 212
    assert data.environments == ()
    with pytest.raises(InputError, match="leave the path out"):
        load_dataset("breast-cancer", "somewhere")


def test_an_unknown_name_is_answered_with_the_names():
    with pytest.raises(InputError, match=r"no data set 'banks'.*'bank', 'bank-additional'"):
        load_dataset("banks")


# --- small files ---


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", WITH_FILES)
def test_a_file_becomes_a_typed_table(name, compressed, small, tmp_path):
    source = DATASETS[name]
    written(small_table(name), name, tmp_path, compressed)
    data = load_dataset(name, tmp_path)
    frame = data.frame
    assert data.outcome == source.outcome
    assert set(data.environments) <= set(frame.columns)
    assert not set(source.dropped) & set(frame.columns)
    assert set(frame[source.outcome].unique()) == {0, 1}
    table = small_table(name)
    for column in set(frame) & set(table) - {source.outcome}:
        values = set(table[column].str.lower())
        if column in source.categories:
            assert isinstance(frame[column].dtype, pd.CategoricalDtype)
        elif values == {"yes", "no"}:
            assert frame[column].dtype == bool
            assert frame[column].iloc[:3].sum() == 1
        elif values & {"a", "norm", "private"}:
            assert isinstance(frame[column].dtype, pd.CategoricalDtype)
        elif values & {"20", "1.5"}:
            assert pd.api.types.is_numeric_dtype(frame[column])


def test_a_path_may_be_the_file_itself(small, tmp_path):
    written(small_table("bank"), "bank", tmp_path)
    (tmp_path / "bank-full.csv").rename(tmp_path / "mine.txt")
    assert len(load_dataset("bank", tmp_path / "mine.txt").frame) == ROWS


def test_of_two_files_either_one_names_the_folder(small, tmp_path):
    written(small_table("adult"), "adult", tmp_path)
    by_file = load_dataset("adult", tmp_path / "adult.test").frame
    pd.testing.assert_frame_equal(by_file, load_dataset("adult", tmp_path).frame)


def test_labels_of_the_second_adult_file_lose_their_full_stop(small, tmp_path):
    written(small_table("adult"), "adult", tmp_path)
    assert load_dataset("adult", tmp_path).frame["income"].tolist() == [1, 0] * 6


def test_missing_values_are_missing_and_none_is_a_value(small, tmp_path):
    for name in ("adult", "diabetes"):
        written(small_table(name), name, tmp_path)
    assert load_dataset("adult", tmp_path).frame["workclass"].isna().sum() == 6
    glucose = load_dataset("diabetes", tmp_path).frame["max_glu_serum"]
    assert glucose.notna().all()
    assert "None" in glucose.cat.categories


def test_the_year_of_a_call_follows_from_the_order_of_the_rows(small, tmp_path):
    written(small_table("bank"), "bank", tmp_path)
    years = load_dataset("bank", tmp_path).frame["year"]
    assert years.tolist() == [2008] * 3 + [2009] * 3 + [2010] * 6


def test_of_every_patient_the_first_visit_is_kept(small, tmp_path):
    written(small_table("diabetes"), "diabetes", tmp_path)
    frame = load_dataset("diabetes", tmp_path).frame
    assert len(frame) == 9
    # The first patient's earlier encounter stands in the second row.
    assert frame["readmitted"].iloc[0] == 0


# --- where a table is looked for ---


def test_the_folder_of_the_variable_comes_before_the_cache(small, tmp_path, monkeypatch):
    cache = tmp_path / "cache" / "stablepred"
    cache.mkdir(parents=True)
    written(small_table("credit").assign(AGE="50"), "credit", cache)
    assert load_dataset("credit").frame["AGE"].unique().tolist() == [50]
    named = tmp_path / "named"
    named.mkdir()
    written(small_table("credit").assign(AGE="30"), "credit", named)
    monkeypatch.setenv("STABLEPRED_DATA", str(named))
    assert load_dataset("credit").frame["AGE"].unique().tolist() == [30]


@pytest.mark.parametrize("name", AT_OPENML)
def test_openml_gives_the_same_table_under_other_names(name, small, tmp_path, monkeypatch):
    text = small_table(name)
    asked = []

    def fetch(**options):
        asked.append(options)
        return SimpleNamespace(frame=openml_answer(text, name))

    monkeypatch.setattr(real, "fetch_openml", fetch)
    fetched = load_dataset(name).frame
    written(text, name, tmp_path)
    pd.testing.assert_frame_equal(fetched, load_dataset(name, tmp_path).frame)
    assert [options["data_id"] for options in asked] == [DATASETS[name].openml_id]
    assert asked[0]["data_home"] == str(tmp_path / "cache" / "stablepred")


def test_without_network_the_file_to_supply_is_named():
    with pytest.raises(InputError, match=r"1461.*no network in tests.*Put bank-full\.csv"):
        load_dataset("bank")


def test_a_set_that_openml_lacks_names_the_file_to_supply():
    with pytest.raises(
        InputError, match=r"OpenML does not have it.*bank-additional-full\.csv.*10\.24432/C5K306"
    ):
        load_dataset("bank-additional")


def test_an_openml_table_that_changed_is_refused(small, monkeypatch):
    answer = openml_answer(small_table("bank"), "bank").drop(columns="V3")
    monkeypatch.setattr(real, "fetch_openml", lambda **options: SimpleNamespace(frame=answer))
    with pytest.raises(
        InputError, match="data set 1461 has 12 rows and 16 columns where 12 and 17"
    ):
        load_dataset("bank")


# --- what is wrong with a file ---


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no files of .bank. in .*nowhere"):
        load_dataset("bank", tmp_path / "nowhere")


def test_a_folder_without_the_files_is_told_their_names(tmp_path):
    with pytest.raises(InputError, match=r"needs adult\.data and adult\.test"):
        load_dataset("adult", tmp_path)


@pytest.mark.parametrize(("name", "column"), [("bank", "job"), ("diabetes", "patient_nbr")])
def test_missing_columns_are_named(name, column, small, tmp_path):
    written(small_table(name).rename(columns={column: "other"}), name, tmp_path)
    with pytest.raises(InputError, match=rf"lacks the columns \['{column}'\]; it has .*'other'"):
        load_dataset(name, tmp_path)


def test_the_columns_of_a_file_may_have_another_order(small, tmp_path):
    table = small_table("bank")
    written(table[table.columns[::-1]], "bank", tmp_path)
    data = load_dataset("bank", tmp_path).frame
    assert data["age"].tolist() == list(range(20, 32))


def test_the_number_of_rows_is_checked(tmp_path):
    written(small_table("bank"), "bank", tmp_path)
    with pytest.raises(InputError, match="has 12 rows and 17 columns where 45211 and 17"):
        load_dataset("bank", tmp_path)


def test_a_wrong_separator_is_named(small, tmp_path):
    small_table("bank").to_csv(tmp_path / "bank-full.csv", index=False)
    with pytest.raises(
        InputError, match="has 12 rows and 1 columns where 12 and 17, in a file separated by ';'"
    ):
        load_dataset("bank", tmp_path)


def test_a_file_without_a_header_must_have_the_right_number_of_columns(small, tmp_path):
    written(small_table("adult").drop(columns="race"), "adult", tmp_path)
    with pytest.raises(InputError, match="has 12 rows and 14 columns where 12 and 15"):
        load_dataset("adult", tmp_path)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_refused(content, small, tmp_path):
    (tmp_path / "bank-full.csv").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read: "):
        load_dataset("bank", tmp_path)


def test_a_torn_archive_is_refused(small, tmp_path):
    written(small_table("bank"), "bank", tmp_path, compressed=True)
    file = tmp_path / "bank-full.csv.gz"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        load_dataset("bank", tmp_path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00a;b\n1;\x80\n", b'a;b\n"1;2\n'])
def test_a_file_that_is_no_table_is_refused(content, small, tmp_path):
    (tmp_path / "bank-full.csv").write_bytes(content)
    with pytest.raises(InputError):
        load_dataset("bank", tmp_path)


@pytest.mark.parametrize("value", ["no", "?"])
def test_an_outcome_without_a_positive_value_is_refused(value, small, tmp_path):
    written(small_table("bank").assign(y=value), "bank", tmp_path)
    with pytest.raises(InputError, match=r"outcome 'y' must have values among \['yes', '2'\]"):
        load_dataset("bank", tmp_path)


# --- the published files ---

PUBLISHED = {  # rows, outcome rate
    "bank": (45_211, 0.117),
    "bank-additional": (41_188, 0.113),
    "adult": (48_842, 0.239),
    "diabetes": (71_518, 0.399),
    "credit": (30_000, 0.221),
}


@pytest.mark.parametrize("name", WITH_FILES)
def test_the_published_file_is_accepted(name, data_folder):
    data = load_dataset(name, data_folder)
    rows, rate = PUBLISHED[name]
    assert len(data.frame) == rows
    assert data.frame[data.outcome].mean() == pytest.approx(rate, abs=5e-4)


def test_the_calls_of_the_bank_run_from_2008_to_2010(data_folder):
    frame = load_dataset("bank", data_folder).frame
    assert frame["year"].value_counts().to_dict() == {2008: 27_729, 2009: 14_862, 2010: 2_620}


@pytest.mark.parametrize("name", ["adult"])
def test_openml_names_fit_the_published_file(name, data_folder, monkeypatch):
    source = DATASETS[name]
    text = real._read_files(real._find_files(name, source, data_folder), source)
    answer = SimpleNamespace(frame=openml_answer(text, name))
    monkeypatch.setattr(real, "fetch_openml", lambda **options: answer)
    pd.testing.assert_frame_equal(load_dataset(name).frame, load_dataset(name, data_folder).frame)
