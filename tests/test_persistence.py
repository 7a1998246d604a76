"""Model files: identical after a round trip, complete or not there, and never a pickle."""

import io
import json
import os
import pickle
import pickletools
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save as safetensors_bytes
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

import stablepred
from stablepred import (
    BalancedClassifier,
    BalancedRegressor,
    DGBRClassifier,
    Dichotomizer,
    DLRClassifier,
    GBRClassifier,
    GlobalBalancer,
    OverlapFilter,
    StableClassifier,
    StableFeatureSelector,
    StableRegressor,
)
from stablepred.exceptions import InputError, ModelFileError

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")

FIXED = {"l1": 0.003, "refit": False, "random_state": 0, "max_iter": 4}
MODELS = {
    "Dichotomizer": Dichotomizer(strategy="median"),
    "OverlapFilter": OverlapFilter(low=0.1),
    "GlobalBalancer": GlobalBalancer(order=2, max_iter=4),
    "GBR": GBRClassifier(**FIXED),
    "GBR auto": GBRClassifier(random_state=0, cv=2),
    "GBR raw": GBRClassifier(dichotomize=None, **FIXED),
    "DLR": DLRClassifier(hidden=(4, 3), max_iter=3, random_state=0),
    "DGBR": DGBRClassifier(**FIXED),
    "DGBR auto": DGBRClassifier(max_iter=4, cv=2, random_state=0),
    "DGBR features": DGBRClassifier(head="features", order=2, **FIXED),
    "DGBR paper": DGBRClassifier.from_paper(max_iter=3, random_state=0),
    "BalancedClassifier": BalancedClassifier(LogisticRegression(), GlobalBalancer(max_iter=4)),
    "BalancedRegressor": BalancedRegressor(LinearRegression(), GlobalBalancer(max_iter=4)),
    "Stable": StableClassifier(random_state=0),
    "Stable of LR": StableClassifier(LogisticRegression(), random_state=0),
    "StableRegressor": StableRegressor(random_state=0),
    "StableRegressor of Ridge": StableRegressor(Ridge(), random_state=0),
    "selector": StableFeatureSelector(random_state=0),
}


@pytest.fixture
def fitted(table):
    def fit(name, y=None):
        y = table.y if y is None else y
        return clone(MODELS[name]).fit(table.X, y, sample_weight=table.sample_weight)

    return fit


def assert_identical(one, other, place="model"):
    """Equal in type and value, through containers and objects."""
    one, other = (a.item() if isinstance(a, np.generic) else a for a in (one, other))
    assert type(one) is type(other), place
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, place
        np.testing.assert_array_equal(one, other, err_msg=place)
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    elif isinstance(one, dict):
        assert list(one) == list(other), place
        for key in one:
            assert_identical(one[key], other[key], f"{place}[{key!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), place
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_identical(a, b, f"{place}[{k}]")
    elif hasattr(one, "__dict__"):
        assert_identical(vars(one), vars(other), f"{place}.__dict__")
    else:
        assert one == other or (one != one and other != other), place


def outputs(model, X):
    methods = ("predict", "predict_proba", "decision_function", "transform")
    return {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}


# --- round trips ---


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_saved_one(name, fitted, table, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model")
    loaded = stablepred.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert_identical(vars(model), vars(loaded))
    assert_identical(outputs(model, table.X), outputs(loaded, table.X))
    assert_identical(model.get_params(), loaded.get_params())
    if hasattr(model, "balance_report_"):
        assert str(loaded.balance_report_) == str(model.balance_report_)


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_can_be_saved_and_fitted_again(name, fitted, table, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "one")
    loaded = stablepred.load(tmp_path / "one")
    loaded.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    again = clone(loaded).fit(table.X, table.y, sample_weight=table.sample_weight)
    assert_identical(outputs(again, table.X), outputs(model, table.X))


@pytest.mark.parametrize("name", ["GBR", "DGBR", "BalancedClassifier", "Stable"])
@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1.0, 2.0], [7, 9]])
def test_labels_of_any_kind_survive(name, labels, fitted, table, tmp_path):
    model = fitted(name, np.array(labels)[table.y])
    model.save(tmp_path / "model")
    loaded = stablepred.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.classes_, labels)
    np.testing.assert_array_equal(loaded.predict(table.X), model.predict(table.X))


def test_labels_in_a_series_of_strings_survive(fitted, table, tmp_path):
    model = fitted("GBR", pd.Series(np.where(table.y == 1, "yes", "no")))
    model.save(tmp_path / "model")
    loaded = stablepred.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(table.X), model.predict(table.X))


def test_names_that_look_like_paths_do_not_meet(table, tmp_path):
    X = table.X.set_axis(["a", "a.b", "before.a", "index", "__metadata__"], axis=1)
    model = clone(MODELS["GBR"]).fit(X, table.y)
    model.save(tmp_path / "model")
    loaded = stablepred.load(tmp_path / "model")
    assert_identical(vars(model), vars(loaded))


def test_a_model_without_names_and_one_that_is_not_fitted_survive(table, tmp_path):
    model = clone(MODELS["GBR"]).fit(table.x, table.y)
    model.save(tmp_path / "model")
    assert not hasattr(stablepred.load(tmp_path / "model"), "feature_names_in_")
    clone(model).save(tmp_path / "bare")
    bare = stablepred.load(tmp_path / "bare")
    assert repr(bare) == repr(clone(model))
    assert not [name for name in vars(bare) if name.endswith("_")]


def test_parameters_keep_their_types(tmp_path):
    model = DGBRClassifier(hidden=[3, 2], l1=1e-300, tol=0.1 + 0.2, cv=4, random_state=7)
    model.save(tmp_path / "model")
    assert_identical(model.get_params(), stablepred.load(tmp_path / "model").get_params())
    model.set_params(hidden=(3, 2), l1="auto", refit=False).save(tmp_path / "model")
    assert_identical(model.get_params(), stablepred.load(tmp_path / "model").get_params())


CLASSIFIERS = [
    LogisticRegression(),
    LinearSVC(),
    SVC(),
    RidgeClassifier(),
    GaussianNB(),
    SGDClassifier(random_state=0),
    RandomForestClassifier(3, random_state=0),
    HistGradientBoostingClassifier(max_iter=3),
]
REGRESSORS = [LinearRegression(), Ridge(), PoissonRegressor()]


@pytest.mark.parametrize(
    "inner", [*CLASSIFIERS, *REGRESSORS], ids=lambda inner: type(inner).__name__
)
def test_an_inner_model_is_stored_whole_or_refused(inner, table, tmp_path):
    """A file that loads but no longer predicts would be the worst of all."""
    kind = BalancedRegressor if inner in REGRESSORS else BalancedClassifier
    model = kind(inner, GlobalBalancer(max_iter=3)).fit(table.X, table.y)
    try:
        model.save(tmp_path / "model")
    except InputError as error:
        assert "skops.io.dump(model.estimator_, path)" in str(error)  # noqa: PT017
        assert not list(tmp_path.iterdir())
        return
    loaded = stablepred.load(tmp_path / "model")
    assert_identical(outputs(model, table.X), outputs(loaded, table.X))


# --- files ---


def tensors_and_rest(path):
    """The header of a safetensors file, and whether its numbers fill the rest exactly."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    text = header.pop("__metadata__")
    ends = sorted(entry["data_offsets"] for entry in header.values())
    filled = 0
    for begin, end in ends:
        assert begin == filled
        filled = end
    return header, text, len(content) - 8 - length - filled


@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_holds_numbers_and_json_and_nothing_else(name, fitted, tmp_path):
    path = tmp_path / "model"
    fitted(name).save(path)
    header, text, rest = tensors_and_rest(path)
    assert rest == 0
    numeric = {"F64", "F32", "I64", "I32", "I16", "I8", "U8", "U16", "U32", "U64", "BOOL"}
    assert {entry["dtype"] for entry in header.values()} <= numeric
    assert set(text) == {"stablepred"}
    content = json.loads(text["stablepred"])
    assert content["stablepred"] == stablepred.__version__
    assert not zipfile.is_zipfile(path)
    with pytest.raises(Exception):  # noqa: B017, PT011
        list(pickletools.genops(path.read_bytes()))


def test_the_only_file_written_is_the_model(fitted, tmp_path):
    fitted("DGBR").save(tmp_path / "model.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_model_file_has_the_rights_of_any_new_file(fitted, tmp_path):
    (tmp_path / "other").write_text("")
    fitted("GBR").save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_path_may_be_text(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted("GBR").save("model")
    assert stablepred.load("model").n_iter_ >= 1
    assert stablepred.load(os.fspath(tmp_path / "model")).n_iter_ >= 1


def test_saving_again_replaces_the_file(fitted, tmp_path):
    fitted("GBR").save(tmp_path / "model")
    fitted("DLR").save(tmp_path / "model")
    assert isinstance(stablepred.load(tmp_path / "model"), DLRClassifier)


# --- a failed save ---


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_old_file_and_no_other(call, error, fitted, tmp_path, monkeypatch):
    path = tmp_path / "model"
    fitted("GBR").save(path)
    old = path.read_bytes()
    other = fitted("DLR")

    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)):
        other.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"random_state": np.random.RandomState(0)}, "random_state"),
        ({"cv": KFold(2)}, "cv"),
    ],
)
def test_what_has_no_plain_form_is_refused_by_name_and_the_old_file_stays(
    params, place, fitted, table, tmp_path
):
    path = tmp_path / "model"
    fitted("GBR").save(path)
    old = path.read_bytes()
    model = GBRClassifier(**{"l1": 0.01, "refit": False} | params).fit(table.X, table.y)
    with pytest.raises(InputError, match=rf"GBRClassifier\.{place}.*needs pickle"):
        model.save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_foreign_inner_model_is_refused_by_name(table, tmp_path):
    class Foreign(LogisticRegression):
        pass

    model = BalancedClassifier(Foreign(), GlobalBalancer(max_iter=3)).fit(table.X, table.y)
    with pytest.raises(InputError, match=r"estimator.*Foreign.*needs pickle"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_refused_as_the_name_of_a_file(fitted, tmp_path):
    with pytest.raises(InputError, match="folder"):
        fitted("GBR").save(tmp_path)


def test_a_folder_that_is_not_there_is_named(fitted, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        fitted("GBR").save(tmp_path / "nowhere" / "model")


# --- files that are refused ---


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("exploded",))


def header_only(text):
    return safetensors_bytes({"a": np.ones(2)}, metadata=text)


def foreign_files():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("data.pkl", pickle.dumps([1, 2]))
    huge = struct.pack("<Q", 2**62) + b"{}"
    return {
        "pickle": pickle.dumps(Bomb()),
        "old pickle": pickle.dumps(Bomb(), protocol=0),
        "torch archive": archive.getvalue(),
        "nothing": b"",
        "text": b"hello, world\n",
        "json": b'{"format": 3}',
        "noise": np.random.default_rng(0).bytes(5000),
        "zeros": bytes(1000),
        "header too long": huge,
        "foreign safetensors": safetensors_bytes({"weight": np.ones((2, 2))}),
        "safetensors with foreign metadata": header_only({"format": "pt"}),
        "no json": header_only({"stablepred": "{"}),
        "a list": header_only({"stablepred": "[]"}),
        "a number": header_only({"stablepred": "3"}),
        "null": header_only({"stablepred": "null"}),
        "no format": header_only({"stablepred": "{}"}),
        "no model": header_only({"stablepred": '{"format": 3}'}),
        "deep nesting": header_only({"stablepred": "[" * 5000 + "]" * 5000}),
        "unknown class": header_only(
            {"stablepred": '{"format": 3, "model": {"object": "Path", "state": {}}}'}
        ),
        "unknown sklearn class": header_only(
            {"stablepred": '{"format": 3, "model": {"object": "system", "state": {}}}'}
        ),
        "missing array": header_only(
            {
                "stablepred": '{"format": 3, "model": {"object": "GBRClassifier", '
                '"state": {"coef_": {"array": "b"}}}}'
            }
        ),
        "state of another kind": header_only(
            {"stablepred": '{"format": 3, "model": {"object": "GBRClassifier", "state": 3}}'}
        ),
    }


@pytest.mark.parametrize("kind", foreign_files())
def test_a_file_that_is_no_model_is_refused(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model"
    path.write_bytes(foreign_files()[kind])
    with pytest.raises(ModelFileError, match=r"file|model"):
        stablepred.load(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["GBR", "DGBR", "BalancedClassifier"])
def test_a_truncated_file_is_refused(name, fitted, tmp_path):
    path = tmp_path / "model"
    fitted(name).save(path)
    content = path.read_bytes()
    for length in [0, 1, 7, 8, 9, 100, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            stablepred.load(path)


def test_a_file_with_something_behind_it_is_refused(fitted, tmp_path):
    path = tmp_path / "model"
    fitted("GBR").save(path)
    path.write_bytes(path.read_bytes() + pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError):
        stablepred.load(path)


def test_a_file_of_another_format_names_the_version_that_wrote_it(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(header_only({"stablepred": '{"format": 99, "stablepred": "9.9"}'}))
    with pytest.raises(ModelFileError, match=r"format 99.*'9\.9'"):
        stablepred.load(path)


def test_a_file_that_is_not_there_is_said_to_be_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        stablepred.load(tmp_path / "absent")


def test_refusals_are_input_errors():
    assert issubclass(ModelFileError, InputError)
    assert issubclass(InputError, ValueError)
