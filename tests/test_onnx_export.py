"""The ONNX file of a model gives the model's own probabilities, at the cut points too."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import stablepred
from stablepred import DGBRClassifier, DLRClassifier, GBRClassifier
from stablepred.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

FEW = {"max_iter": 4, "random_state": 0}
FIXED = FEW | {"l1": 0.003, "refit": False}
MODELS = {
    "GBR": GBRClassifier(cv=2, **FEW),
    "GBR order 2": GBRClassifier(order=2, dichotomize="median", **FIXED),
    "GBR mean": GBRClassifier(dichotomize="mean", **FIXED),
    "GBR paper": GBRClassifier.from_paper(**FEW),
    "DLR": DLRClassifier(hidden=(4, 3), **FEW),
    "DLR without intercept": DLRClassifier(fit_intercept=False, **FEW),
    "DGBR": DGBRClassifier(cv=2, **FEW),
    "DGBR order 2": DGBRClassifier(order=2, **FIXED),
    "DGBR refitted": DGBRClassifier(refit="weighted", hidden=(3,), l1=0.0, cv=2, **FEW),
    "DGBR features": DGBRClassifier(head="features", order=2, **FIXED),
    "DGBR paper": DGBRClassifier.from_paper(**FEW),
    "DGBR reduced": DGBRClassifier(frozen={"reduced": True, "bias_bound": 1.0}, **FEW),
}


def answers(path, X):
    """Label and probabilities of the file, by ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        path, sess_options=options, providers=["CPUExecutionProvider"]
    )
    label, probabilities = session.run(
        ["label", "probabilities"], {"X": np.asarray(X, dtype=np.float64)}
    )
    return label, probabilities


def assert_parity(model, X, path):
    """The same labels, and probabilities to 1e-5 (they agree far better than that)."""
    model.to_onnx(path)
    label, probabilities = answers(path, X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-5)
    clear = np.abs(model.decision_function(X)) > 1e-9
    np.testing.assert_array_equal(label[clear], model.predict(X)[clear])


@pytest.fixture(scope="module")
def mixed():
    """Numbers, counts and 0/1 features under names, with a constant column among them."""
    rng = np.random.default_rng(5)
    n = 150
    frame = pd.DataFrame(
        {
            "number": rng.normal(0, 3, n),
            "count": rng.poisson(2, n).astype(float),
            "small": 1e-12 * rng.random(n),
            "large": 1e12 * rng.random(n),
            "constant": np.full(n, 7.0),
            "binary": rng.integers(0, 2, n).astype(float),
        }
    )
    y = (frame["number"] / 3 + frame["binary"] + rng.normal(0, 0.7, n) > 0.5).astype(int)
    return frame, y.to_numpy()


def edge_rows(model, X):
    """Every feature in turn at its cut point, and at the numbers next to it."""
    if model.dichotomize is None:
        cut, other = model.standardizer_.low_, model.standardizer_.high_
    else:
        other = model.dichotomizer_.thresholds_
        cut = other + model.dichotomizer_.tolerances_
    edges = [cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf)]
    edges += [other, cut.astype(np.float32).astype(float)]
    edges += [np.full_like(cut, value) for value in (0.0, -0.0, 1.0, 1e300, -1e300, 5e-324)]
    rows = [np.array(edges)]
    for j in range(len(cut)):
        some = np.repeat(X.to_numpy()[:1], len(edges), axis=0)
        some[:, j] = np.array(edges)[:, j]
        rows.append(some)
    return pd.DataFrame(np.concatenate(rows), columns=X.columns)


@pytest.mark.parametrize("name", MODELS)
def test_the_file_predicts_as_the_model_does(name, mixed, tmp_path):
    X, y = mixed
    model = clone(MODELS[name]).fit(X, y)
    rng = np.random.default_rng(1)
    shuffled = X.apply(lambda column: rng.permutation(column.to_numpy()))
    assert_parity(model, pd.concat([X, shuffled, edge_rows(model, X)]), tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([0, 1], np.int64),
        ([-3, 12], np.int64),
        ([False, True], np.bool_),
        ([1.0, 4.0], np.float64),
        (["no", "yes"], object),
        (["", "été, 雨"], object),
    ],
)
def test_labels_of_any_kind_come_out(labels, kind, mixed, tmp_path):
    X, y = mixed
    for text in (np.array(labels), np.array(labels, dtype=object)):
        if text.dtype == object and not isinstance(labels[0], str):
            continue
        model = GBRClassifier(**FIXED).fit(X, text[y])
        assert_parity(model, X, tmp_path / "model.onnx")
        assert answers(tmp_path / "model.onnx", X)[0].dtype == kind


def test_features_that_are_0_or_1_need_no_cut(mixed, tmp_path):
    X, y = mixed
    binary = np.array(X.gt(X.mean()), dtype=float)
    for model in (GBRClassifier(dichotomize=None, **FIXED), DLRClassifier(dichotomize=None, **FEW)):
        assert_parity(model.fit(binary, y), binary, tmp_path / "model.onnx")


def test_one_feature_and_no_row_are_enough(mixed, tmp_path):
    X, y = mixed
    model = GBRClassifier(**FIXED).fit(X[["number"]], y)
    assert_parity(model, X[["number"]], tmp_path / "model.onnx")
    label, probabilities = answers(tmp_path / "model.onnx", np.empty((0, 1)))
    assert (label.shape, probabilities.shape) == ((0,), (0, 2))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_that_the_model_refuses_has_no_probability(value, mixed, tmp_path):
    X, y = mixed
    model = DGBRClassifier(**FIXED).fit(X, y)
    changed = X.copy()
    changed.iloc[3, 0] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict_proba(changed)
    model.to_onnx(tmp_path / "model.onnx")
    probabilities = answers(tmp_path / "model.onnx", changed)[1]
    assert np.isnan(probabilities[3]).all()
    rest = np.arange(len(X)) != 3
    np.testing.assert_allclose(probabilities[rest], model.predict_proba(X)[rest], atol=1e-5)


def test_the_file_says_which_columns_and_classes_it_takes(mixed, tmp_path):
    X, y = mixed
    GBRClassifier(**FIXED).fit(X, np.where(y == 1, "yes", "no")).to_onnx(tmp_path / "model.onnx")
    proto = onnx.load(tmp_path / "model.onnx")
    notes = {note.key: json.loads(note.value) for note in proto.metadata_props}
    assert notes == {"feature_names": list(X), "classes": ["no", "yes"]}
    assert (proto.producer_name, proto.producer_version) == ("stablepred", stablepred.__version__)
    assert [output.name for output in proto.graph.output] == ["label", "probabilities"]


def test_the_same_model_gives_the_same_file(mixed, tmp_path):
    X, y = mixed
    model = DGBRClassifier(**FIXED).fit(X, y)
    model.to_onnx(tmp_path / "one")
    model.to_onnx(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_loaded_model_can_be_exported(mixed, tmp_path):
    X, y = mixed
    model = DGBRClassifier(**FIXED).fit(X, y)
    model.save(tmp_path / "model")
    assert_parity(stablepred.load(tmp_path / "model"), X, tmp_path / "model.onnx")


# --- what can go wrong ---


def test_the_extra_is_named_where_onnx_is_missing(mixed, tmp_path, monkeypatch):
    X, y = mixed
    model = GBRClassifier(**FIXED).fit(X, y)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"pip install 'stablepred\[onnx\]'"):
        model.to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        GBRClassifier().to_onnx(tmp_path / "model.onnx")


def test_a_model_that_contradicts_itself_is_refused(mixed, tmp_path):
    X, y = mixed
    model = DGBRClassifier(**FIXED).fit(X, y)
    model.coef_ = model.coef_[:, :-1]
    with pytest.raises(InputError, match="coef_ of the DGBRClassifier must have shape"):
        model.to_onnx(tmp_path / "model.onnx")


def test_a_failed_export_leaves_the_old_file_and_no_other(mixed, tmp_path, monkeypatch):
    X, y = mixed
    model = GBRClassifier(**FIXED).fit(X, y)
    (tmp_path / "model.onnx").write_text("old")

    def fail(*paths):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        model.to_onnx(tmp_path / "model.onnx")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


# --- real tables ---

DATA = Path(os.environ.get("STABLEPRED_DATA", Path(__file__).parents[2] / "shared" / "data"))
BANK = {"sep": ";"}
TABLES = {
    "bank": ("bank-full.csv.gz", BANK, "y", ["duration"]),
    "bank-additional": ("bank-additional-full.csv.gz", BANK, "y", ["duration"]),
    "adult": ("adult.data.csv.gz", {"header": None, "skipinitialspace": True}, 14, [2]),
    "credit": ("credit-card-clients.csv.gz", {}, "default payment", []),
    "diabetes": (
        "diabetic_data.csv.gz",
        {"keep_default_na": False, "low_memory": False},
        "readmitted",
        ["encounter_id", "patient_nbr", "diag_1", "diag_2", "diag_3", "medical_specialty"],
    ),
}


def real_table(name):
    """Numbers as they are, every level of a text column as a 0/1 column; the outcome as it is."""
    file, options, outcome, dropped = TABLES[name]
    if not (DATA / file).is_file():
        pytest.skip(f"{file} is not in {DATA}; STABLEPRED_DATA names the folder that has it")
    frame = pd.read_csv(DATA / file, nrows=10_000, **options).drop(columns=dropped)
    y = frame.pop(outcome)
    if name == "diabetes":
        y = y != "NO"
    X = pd.get_dummies(frame, dtype=float)
    return X.loc[:, X.nunique() > 1].rename(columns=str).astype(float), y.to_numpy()


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", ["GBR", "DLR", "DGBR"])
def test_the_file_predicts_as_the_model_does_on_real_tables(name, kind, tmp_path):
    X, y = real_table(name)
    train = np.random.default_rng(0).permutation(len(X))[:300]
    common = {"max_iter": 2, "random_state": 0}
    model = {
        "GBR": GBRClassifier(l1=0.01, refit=False, **common),
        "DLR": DLRClassifier(hidden=(8, 4), **common),
        "DGBR": DGBRClassifier(l1=0.01, refit=False, hidden=(8, 4), **common),
    }[kind]
    model.fit(X.iloc[train], y[train])
    assert_parity(model, pd.concat([X, edge_rows(model, X)]), tmp_path / "model.onnx")
