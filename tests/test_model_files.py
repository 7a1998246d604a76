"""Model files that were written long ago load; damaged, forged and foreign ones are refused."""

import hashlib
import json
import os
import pickle
import struct
import tarfile
import tracemalloc
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save as safetensors_bytes
from sklearn.linear_model import LinearRegression, LogisticRegression

import stablepred
from stablepred import (
    BalancedClassifier,
    DGBRClassifier,
    Dichotomizer,
    DLRClassifier,
    GBRClassifier,
    GlobalBalancer,
    OverlapFilter,
    StableClassifier,
    StableRegressor,
)
from stablepred.data import TableEncoder
from stablepred.exceptions import InputError, ModelFileError
from stablepred.io import codec
from stablepred.io.objects import build
from stablepred.io.save import FORMAT, HEADER, MODEL_FILE, SEAL, pack, save, seal, storable, unpack

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")

STORED = Path(__file__).parent / "data" / "models"
FILES = sorted(STORED.glob(f"format-{FORMAT}/*.safetensors"))


# --- stored files ---


@pytest.fixture(scope="module")
def answers():
    """What each stored model answered when it was saved."""
    return json.loads((STORED / f"format-{FORMAT}" / "answers.json").read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_stored_file_loads_and_answers_as_it_did(path, answers):
    expected = answers[path.stem]
    model = stablepred.load(path)
    assert type(model).__name__ == expected["kind"]
    rows = expected["rows"]
    if expected["names"] is not None:
        rows = pd.DataFrame(rows, columns=expected["names"])
    for method, answer in expected["answers"].items():
        found = np.asarray(getattr(model, method)(rows))
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, answer, rtol=1e-9, atol=1e-12, err_msg=method)
        else:
            assert found.tolist() == answer


def test_the_stored_files_are_of_this_format_alone(answers):
    assert [folder.name for folder in STORED.iterdir()] == [f"format-{FORMAT}"]
    assert sorted(answers) == sorted(path.stem for path in FILES)


def test_every_kind_of_model_is_among_the_stored_files(answers):
    faces = [*stablepred.__all__, *stablepred.data.__all__]
    objects = {name: getattr(stablepred, name, getattr(stablepred.data, name, 0)) for name in faces}
    kinds = {name for name, thing in objects.items() if hasattr(thing, "save")}
    assert {answer["kind"] for answer in answers.values()} == kinds


def assert_held(old, new):
    """All of an older file's JSON is in the newer one."""
    if isinstance(old, dict):
        for key, value in old.items():
            assert_held(value, new[key])
    elif isinstance(old, list):
        assert len(old) == len(new)
        for one, other in zip(old, new, strict=True):
            assert_held(one, other)
    else:
        assert {"truth": "boolean"}.get(old, old) == new  # a kind of column was renamed


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_loaded_model_is_saved_as_the_same_bytes(path, tmp_path):
    """But for the version, the checksum, and parameters that came later."""
    save(stablepred.load(path), tmp_path / "model")
    (old, old_arrays), (new, arrays) = unpack(path), unpack(tmp_path / "model")
    assert new["format"] == FORMAT
    assert new["stablepred"] == stablepred.__version__
    assert_held(old["model"], new["model"])
    assert {name: a.tobytes() for name, a in arrays.items()} == {
        name: a.tobytes() for name, a in old_arrays.items()
    }


# --- damage ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One saved model of each kind, on a table small enough to change every byte of a file."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame((rng.random((40, 3)) < 0.5).astype(float), columns=["a", "b", "c"])
    y = (X["a"] + rng.normal(0, 0.6, 40) > 0.5).to_numpy().astype(int)
    few = {"max_iter": 3, "random_state": 0}
    fixed = few | {"l1": 0.003, "refit": False}
    models = {
        "dichotomizer": Dichotomizer(),
        "filter": OverlapFilter(),
        "balancer": GlobalBalancer(max_iter=3),
        "gbr": GBRClassifier(**fixed),
        "cut": GBRClassifier(dichotomize="mean", **fixed),
        "dlr": DLRClassifier(hidden=(3, 2), **few),
        "dgbr": DGBRClassifier(order=2, hidden=(3, 2), **fixed),
        "features": DGBRClassifier(head="features", hidden=(3,), **fixed),
        "logistic": BalancedClassifier(LogisticRegression(), GlobalBalancer(max_iter=3)),
        "stable": StableClassifier(LogisticRegression(), cv=2, random_state=0),
        "default": StableClassifier(cv=2, random_state=0),
        "number": StableRegressor(LinearRegression(), cv=2, random_state=0),
        "encoder": TableEncoder(),
    }
    place = tmp_path_factory.mktemp("models")
    for name, model in models.items():
        model.fit(X, y).save(place / name)
    return place


def refused(path, blob, match=None):
    path.write_bytes(blob)
    with pytest.raises(ModelFileError, match=match) as caught:
        stablepred.load(path)
    return str(caught.value)


def test_a_change_of_any_byte_is_refused(folder, tmp_path):
    content = (folder / "dichotomizer").read_bytes()
    for place in range(len(content)):
        blob = bytearray(content)
        blob[place] ^= 1 << (place % 8)
        refused(tmp_path / "model", blob)


def test_a_change_of_a_number_is_said_to_be_damage(folder, tmp_path):
    blob = bytearray((folder / "dgbr").read_bytes())
    blob[-9] ^= 1
    message = refused(tmp_path / "model", blob, "checksum is wrong")
    assert str(tmp_path / "model") in message
    assert "save it again" in message


def test_the_checksum_is_that_of_the_file_with_zeros_in_its_place(folder):
    blob = (folder / "gbr").read_bytes()
    digest = unpack(folder / "gbr")[0]["sha256"]
    assert blob.count(digest.encode()) == 1
    assert hashlib.sha256(blob.replace(digest.encode(), b"0" * 64)).hexdigest() == digest


def test_other_readers_of_safetensors_find_the_same_arrays(folder):
    with safe_open(folder / "dgbr", framework="np") as file:
        theirs = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    ours = unpack(folder / "dgbr")[1]
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype
        np.testing.assert_array_equal(array, theirs[name])
        assert array.flags.writeable
        assert array.flags.owndata
        assert array.ctypes.data % 16 == 0


# --- forged files: the checksum is right, the content is not ---


def forged(path, change):
    """A file whose content was changed and which was sealed again."""
    content, arrays = unpack(path)
    change(content["model"]["state"], arrays)
    return pack(content["model"], arrays)


def at(arrays, ending):
    """The name of the array that ends so."""
    (name,) = [name for name in arrays if name.endswith(ending)]
    return name


def set_state(**changes):
    return lambda state, arrays: state.update(changes)


def drop(name):
    def change(state, arrays):
        gone = state.pop(name)
        if isinstance(gone, dict) and "array" in gone:
            arrays.pop(gone["array"])

    return change


def set_array(ending, function):
    def change(state, arrays):
        name = at(arrays, ending)
        arrays[name] = np.ascontiguousarray(function(arrays[name].copy()))

    return change


def with_value(value):
    def function(array):
        array.ravel()[0] = value
        return array

    return function


def inner(change):
    return lambda state, arrays: change(state["estimator_"]["state"], arrays)


FORGED = [
    ("gbr", set_state(surprise=3), "'surprise' is no attribute"),
    ("gbr", set_state(predict=3), "'predict' is no attribute"),
    ("gbr", set_state(__class__="x"), "'__class__' is no attribute"),
    ("gbr", set_state(_private_=3), "'_private_' is no attribute"),
    ("gbr", set_state(surprise_=3), "'surprise_' is no attribute"),
    ("gbr", set_state(max_iter=-1), "max_iter"),
    ("gbr", set_state(max_iter="many"), "max_iter of a GBRClassifier cannot be 'many'"),
    ("gbr", set_state(random_state="x"), "random_state"),
    ("gbr", set_state(solver="magic"), "solver must be one of"),
    ("gbr", set_state(cv=-5), "cv must be an integer of at least 2"),
    ("gbr", set_state(tol={"float": "nan"}), "tol must be"),
    ("gbr", set_state(tol={"float": "1e5"}), "1e5"),
    ("gbr", set_state(cv={"surprise": 1}), "unknown keys"),
    ("gbr", set_state(cv={"object": "Path", "state": {}}), "unknown class, 'Path'"),
    ("gbr", set_state(cv={"object": "SVC", "state": {}}), "unknown class, 'SVC'"),
    ("gbr", set_state(cv={"dict": [["a", 1], ["a", 2]]}), "occurs twice"),
    ("gbr", set_state(cv={"dict": [["a"]]}), "to unpack"),
    ("gbr", set_state(cv={"dict": [[["a"], 1]]}), "neither a string nor a number"),
    ("gbr", set_state(cv={"tuple": 3}), "was expected"),
    ("gbr", set_state(cv={"strings": [1], "object": True}), "was expected"),
    ("gbr", set_state(n_features_in_=2), "feature_names_in_ must be 2"),
    ("gbr", set_state(n_features_in_=True), "n_features_in_ must be an integer"),
    ("gbr", set_state(converged_=1), "converged_"),
    ("gbr", set_state(standardizer_=3), "standardizer_ of a GBRClassifier cannot be 3"),
    ("cut", set_state(dichotomizer_=3), "dichotomizer_ of a GBRClassifier cannot be 3"),
    ("gbr", set_state(random_state_="x"), "random_state_ of a GBRClassifier cannot be 'x'"),
    ("dgbr", set_state(encoders_={"tuple": []}), "encoders_ of a DGBRClassifier cannot be"),
    ("gbr", set_state(history_=3), "history_ of a GBRClassifier cannot be 3"),
    ("gbr", set_state(classes_={"strings": ["b", "a"], "object": False}), "sorted"),
    ("gbr", drop("coef_"), "coef_ of the GBRClassifier is missing"),
    ("gbr", drop("standardizer_"), "standardizer_, and not dichotomizer_, must be present"),
    ("cut", drop("dichotomizer_"), "dichotomizer_, and not standardizer_, must be present"),
    ("gbr", set_array(".classes_", np.flip), "sorted"),
    ("gbr", set_array(".classes_", lambda a: np.arange(3)), "two classes"),
    ("gbr", set_array(".classes_", lambda a: np.array([0.0, np.nan])), "numbers or strings"),
    ("gbr", set_array(".coef_", lambda a: a[:, :2]), r"shape \(1, 3\), but has \(1, 2\)"),
    ("gbr", set_array(".coef_", with_value(np.nan)), "coef_.*not finite"),
    ("gbr", set_array(".coef_", lambda a: a.astype(np.float32)), "coef_.*float32"),
    ("gbr", set_array(".coef_", lambda a: a * 0 + 1e308), "adds up to more"),
    ("gbr", set_array(".intercept_", with_value(np.inf)), "intercept_.*not finite"),
    ("gbr", set_array("GBRClassifier.sample_weight_", with_value(-1.0)), "outside"),
    ("cut", set_array(".thresholds_", with_value(np.nan)), "thresholds_.*not finite"),
    ("cut", set_array(".tolerances_", with_value(-1.0)), "tolerances_.*outside"),
    ("gbr", set_array(".means_", with_value(np.nan)), "means_.*not finite"),
    ("gbr", set_array(".scales_", with_value(0.0)), "of the Standardizer do not fit"),
    ("gbr", set_array(".scales_", with_value(1e-300)), "of the Standardizer do not fit"),
    ("gbr", set_array(".high_", with_value(1e300)), "of the Standardizer do not fit"),
    ("gbr", set_array(".low_", with_value(5.0)), "of the Standardizer do not fit"),
    ("gbr", set_array(".stable_features_", lambda a: a[:2]), "stable_features_"),
    ("gbr", set_array(".balance_report_.after", with_value(np.nan)), "balance report"),
    ("gbr", set_array(".balance_report_.after", with_value(1e200)), "balance report"),
    ("gbr", set_array(".balance_report_.after", lambda a: a[:2]), "table does not fit"),
    ("gbr", lambda s, a: s["recipe_"]["state"].update(l1=-1), "l1 of the recipe"),
    ("gbr", lambda s, a: s["recipe_"]["state"].update(l1="x"), "l1 of a Recipe"),
    ("gbr", lambda s, a: s["recipe_"]["state"].update(extra=1), "'extra' is no attribute"),
    ("gbr", lambda s, a: s["recipe_"]["state"].pop("l1"), "lacks"),
    ("gbr", lambda s, a: a.update(surplus=np.zeros(3)), "nothing uses its array 'surplus'"),
    ("gbr", set_state(coef_={"array": "GBRClassifier.intercept_"}), "missing, or used twice"),
    ("gbr", set_state(coef_={"array": "../../coef"}), "missing, or used twice"),
    ("dlr", set_array("encoders_[0][0][0]", lambda a: a[:, :2]), "matrix of layer 0"),
    ("dlr", set_array("encoders_[0][1][0]", lambda a: a.T), "matrix of layer 1"),
    ("dlr", set_array("encoders_[0][0][1]", with_value(np.nan)), "bias of layer 0"),
    ("dlr", set_array("encoders_[0][1][0]", lambda a: a * 0 + 1e308), "adds up to more"),
    ("dlr", set_state(hidden=[0]), "hidden"),
    ("dlr", set_state(encoders_=[]), "encoders_|nothing uses"),
    ("gbr", set_state(dichotomize="mean"), "dichotomizer_, and not standardizer_, must be present"),
    ("stable", set_state(cv=-5), "cv must be"),
    ("stable", set_state(evidence="magic"), "evidence"),
    ("stable", set_state(guard=3), "guard"),
    ("stable", set_state(surprise_=3), "'surprise_' is no attribute"),
    ("default", set_array("estimator_.beta", lambda a: a[:2]), "coefficients"),
    ("default", inner(set_state(outcome=None)), "outcome"),
    ("default", set_array("estimator_.beta", with_value(np.nan)), "coefficients"),
    ("default", set_array("StableClassifier.columns_", lambda a: a + 9), "columns_ must be"),
    ("default", set_array("StableClassifier.columns_", lambda a: a * 0), "columns_|coefficients"),
    ("number", set_state(target_mean_={"float": "nan"}), "must be finite"),
    ("stable", set_array("StableClassifier.used_features_", lambda a: a[:2]), "the masks"),
    ("stable", set_array("StableClassifier.columns_", lambda a: a[:-1]), "estimator_ must be"),
    ("stable", set_array("StableClassifier.classes_", lambda a: a + 1), "classes of estimator_"),
    ("dgbr", set_state(head_="features"), "coef_"),
    ("dgbr", lambda s, a: s["pairs_"].pop(), "matrix of layer 0"),
    ("dgbr", lambda s, a: s["pairs_"].__setitem__(0, {"tuple": [0, 7]}), "pairs_"),
    ("dgbr", lambda s, a: s["pairs_"].__setitem__(0, {"tuple": [1, 1]}), "pairs_"),
    ("dichotomizer", set_state(strategy="mode"), "strategy"),
    ("dichotomizer", set_array(".thresholds_", lambda a: a[:2]), "thresholds_"),
    ("filter", set_state(low=2.0), "low=2.0 and high"),
    ("filter", set_state(strategy="mode"), "strategy must be"),
    ("encoder", set_state(kept_=[True, False]), "'kept_' is no attribute"),
    ("filter", set_array(".shares_", with_value(3.0)), "shares_"),
    ("balancer", set_array(".weights_", with_value(np.inf)), "weights_"),
    ("balancer", set_state(order=3), "order"),
    ("logistic", set_state(estimator=3), "estimator of a BalancedClassifier cannot be"),
    ("logistic", set_state(balancer=3), "balancer of a BalancedClassifier cannot be"),
    ("logistic", set_state(n_features_in_=4), "feature_names_in_"),
    ("logistic", inner(set_state(C=-1.0)), "'C' parameter"),
    ("logistic", inner(set_state(fit=3)), "'fit' is no attribute"),
    ("logistic", inner(set_state(surprise=3)), "'surprise' is no attribute"),
    ("logistic", set_array("estimator_.coef_", lambda a: a[:, :2]), "coef_"),
    ("logistic", set_array("estimator_.coef_", with_value(np.inf)), "coef_"),
]


@pytest.mark.parametrize(("name", "change", "match"), FORGED)
def test_a_forged_file_is_refused_with_its_reason(name, change, match, folder, tmp_path):
    message = refused(tmp_path / "model", forged(folder / name, change), match)
    assert str(tmp_path / "model") in message
    assert stablepred.__version__ in message


def test_an_unchanged_file_sealed_again_still_loads(folder, tmp_path):
    """So that the refusals above come from the changes."""
    for path in folder.iterdir():
        (tmp_path / "model").write_bytes(forged(path, lambda state, arrays: None))
        assert type(stablepred.load(tmp_path / "model")) is type(stablepred.load(path))


def test_part_of_one_estimator_in_another_is_refused(folder, tmp_path):
    regression = unpack(folder / "logistic")[0]["model"]["state"]["estimator"]

    def change(state, arrays):
        state["cv"] = regression
        state["estimator_"] = 3

    refused(tmp_path / "model", forged(folder / "gbr", change), "estimator_")


# --- headers ---


def raw_file(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    blob = struct.pack("<Q", len(text)) + text + data
    return seal(bytearray(blob)) if SEAL in text else blob


def entry(dtype="F64", shape=(1,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def text_of(model, version=FORMAT):
    seal = {"format": version, "stablepred": "0", "sha256": "0" * 64}
    return {"stablepred": json.dumps(seal | {"model": model})}


LIBRARY = "while deserializing"  # refused by safetensors itself
HEADERS = {
    "an array beyond the end": ({"a": entry(offsets=(0, 16), shape=(2,))}, LIBRARY),
    "a gap before an array": ({"a": entry("F32", offsets=(4, 8))}, LIBRARY),
    "two arrays in one place": ({"a": entry(), "b": entry()}, LIBRARY),
    "a shape of another size": ({"a": entry(shape=(3,))}, LIBRARY),
    "a shape that overflows": ({"a": entry(shape=(1 << 32, 1 << 32))}, LIBRARY),
    "a negative shape": ({"a": entry(shape=(-1,))}, LIBRARY),
    "a boolean as a shape": ({"a": entry(shape=(True,))}, LIBRARY),
    "a number beyond 64 bits": ({"a": entry(shape=(1 << 64,))}, LIBRARY),
    "a number of many digits": (b'{"a":' + b"9" * 5000 + b"}", "not written by"),
    "an unknown type": ({"a": entry(dtype=LIBRARY)}, LIBRARY),
    "a type that numpy does not have": ({"a": entry("BF16", (4,))}, "BF16"),
    "a list as a type": ({"a": entry(dtype=["F64"])}, LIBRARY),
    "bytes that are no booleans": ({"a": entry(dtype="BOOL", shape=(8,))}, "booleans"),
    "bytes that belong to nothing": ({}, LIBRARY),
    "a repeated key": (b'{"a": 1, "a": 2}', "not written by"),
    "a list": (b"[1, 2]  ", "not written by"),
    "bytes that are no text": (b'{"\xff\xfe": 1}', "not written by"),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_that_lies_is_refused(kind, tmp_path):
    header, match = HEADERS[kind]
    if isinstance(header, dict):
        header = {"__metadata__": text_of(3)} | header
    refused(tmp_path / "model", raw_file(header, b"\x07" * 8), match)


@pytest.mark.parametrize("model", [{"strings": ["a"], "object": True}, {"tuple": []}, [], "x"])
def test_what_is_no_object_is_refused(model, tmp_path):
    header = {"__metadata__": text_of(model)}
    refused(tmp_path / "model", raw_file(header), "no object of this library")


@pytest.mark.parametrize("version", [True, 0, -1, "1", 1.0, None])
def test_a_format_that_is_none_is_refused(version, tmp_path):
    header = {"__metadata__": text_of(3, version)}
    refused(tmp_path / "model", raw_file(header), "format")


def test_a_file_without_its_checksum_is_refused(tmp_path):
    text = json.dumps({"format": FORMAT, "stablepred": "0", "model": 3})
    refused(tmp_path / "model", raw_file({"__metadata__": {"stablepred": text}}), "must hold")


# --- bounds ---


def peak_of_loading(path):
    """Bytes that loading takes at most."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            stablepred.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


NESTED = "[" * 100_000 + "]" * 100_000
WIDE = {"strings": ["x" * 100_000] + [""] * 10_000, "object": False}
# Small files that would unfold to something large.
BOMBS = {
    "lists": lambda: raw_file({"__metadata__": text_of([[]] * 300_000)}),
    "dicts": lambda: raw_file({"__metadata__": text_of([{"dict": []}] * 100_000)}),
    "arrays": lambda: raw_file({str(k): entry("F64", (0,), (0, 0)) for k in range(50_000)}),
    "nesting": lambda: raw_file({"__metadata__": {"stablepred": NESTED}}),
    "nesting of the header": lambda: raw_file(b'{"a":' + NESTED.encode() + b"}"),
    "wide strings": lambda: raw_file(
        {"__metadata__": text_of({"object": "Dichotomizer", "state": {"strategy": WIDE}})}
    ),
    "a long header": lambda: struct.pack("<Q", 1 << 40) + b"{" * 1000,
    "a large array": lambda: raw_file(
        {"__metadata__": text_of(3), "a": entry("F64", (1 << 29,), (0, 1 << 32))}
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_cannot_take_much_memory(kind, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(BOMBS[kind]())
    assert peak_of_loading(path) <= 2 * path.stat().st_size + 40 * HEADER


def test_a_long_header_of_a_large_file_is_refused_unread(tmp_path):
    path = tmp_path / "model"
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", 500_000_000) + b"{")
        stream.truncate(1 << 32)  # takes no space on the disk
    assert peak_of_loading(path) < 1 << 20


def test_a_file_that_is_too_large_is_refused_unread(tmp_path):
    path = tmp_path / "model"
    with path.open("wb") as stream:
        stream.truncate((1 << 32) + 1)  # takes no space on the disk
    assert peak_of_loading(path) < 1 << 20


# --- other kinds of files ---


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("exploded",))


def foreign_archives(folder):
    """Archives with a pickle in them, as other libraries write them."""
    torch.save({"bomb": Bomb(), "weight": torch.ones(3)}, folder / "torch")
    torch.save(Bomb(), folder / "old torch", _use_new_zipfile_serialization=False)
    (folder / "pickle").write_bytes(pickle.dumps(Bomb()))
    with tarfile.open(folder / "tar", "w") as archive:
        archive.add(folder / "pickle", "data.pkl")
    with zipfile.ZipFile(folder / "zip", "w") as archive:
        archive.write(folder / "pickle", "data.pkl")
    np.savez(folder / "numpy", a=np.array([Bomb()], dtype=object))
    return [*folder.iterdir()]


def test_no_archive_is_opened_and_no_pickle_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "files").mkdir()
    for path in foreign_archives(tmp_path / "files"):
        with pytest.raises(ModelFileError, match=r"model\.save"):
            stablepred.load(path)
    assert [path.name for path in tmp_path.iterdir()] == ["files"]


def test_a_pickle_inside_a_model_file_stays_what_it_is(folder, tmp_path, monkeypatch):
    """Bytes in an array are numbers, and nothing else is ever made of them."""
    monkeypatch.chdir(tmp_path)
    bomb = np.frombuffer(pickle.dumps(Bomb()).ljust(48, b"."), np.uint8)
    change = set_array(".coef_", lambda array: bomb.copy())
    refused(tmp_path / "model", forged(folder / "gbr", change), "coef_")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_stored_file_is_a_pickle_or_an_archive(path):
    assert not zipfile.is_zipfile(path)
    assert not tarfile.is_tarfile(path)
    with pytest.raises(Exception):  # noqa: B017, PT011
        pickle.loads(path.read_bytes())


# --- files in the file system ---


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("m" * 255)
    Dichotomizer().save(path)
    assert isinstance(stablepred.load(path), Dichotomizer)


@pytest.mark.parametrize("name", ["", "folder", "null\0byte"])
def test_what_is_no_file_is_said_to_be_not_there(name, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileNotFoundError, match="no model file"):
        stablepred.load(str(tmp_path / name))


def test_the_model_of_a_folder_is_found(tmp_path):
    Dichotomizer().save(tmp_path / MODEL_FILE)
    assert isinstance(stablepred.load(tmp_path), Dichotomizer)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match="no model file"):
        stablepred.load(tmp_path / "pipe")


def test_the_file_and_its_folder_are_forced_to_the_disk(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(os.fstat(handle).st_mode >> 12))
    monkeypatch.setattr(
        os, "replace", lambda *paths, old=os.replace: [done.append("rename"), old(*paths)]
    )
    Dichotomizer().save(tmp_path / "model")
    assert done == [0o10, "rename", 0o04]  # a file, then its name, then the folder


# --- what is refused when saving ---


@pytest.fixture(scope="module")
def gbr():
    rng = np.random.default_rng(0)
    x = (rng.random((50, 3)) < 0.5).astype(float)
    return GBRClassifier(l1=0.003, refit=False, random_state=0).fit(x, rng.random(50) < 0.5)


@pytest.mark.parametrize(
    ("attribute", "value", "match"),
    [
        ("coef_", np.array([[1.0, np.nan, 0.0]]), "coef_.*not finite"),
        ("solver", "magic", "solver must be one of"),
        ("note_", "mine", "note_.*no attribute of a GBRClassifier"),
        ("dichotomize", 5, "dichotomize"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(attribute, value, match, gbr, tmp_path):
    changed = GBRClassifier()
    vars(changed).update(vars(gbr) | {attribute: value})
    with pytest.raises(InputError, match=match):
        changed.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# --- versions ---


def test_a_parameter_that_came_later_has_its_default(folder, tmp_path):
    (tmp_path / "model").write_bytes(forged(folder / "gbr", drop("fit_intercept")))
    assert stablepred.load(tmp_path / "model").fit_intercept is True


def test_a_parameter_that_scikit_learn_retired_is_left_out(folder, tmp_path):
    change = inner(set_state(multi_class="auto"))
    (tmp_path / "model").write_bytes(forged(folder / "logistic", change))
    model = stablepred.load(tmp_path / "model")
    assert "multi_class" not in vars(model.estimator_)
    probe = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    expected = stablepred.load(folder / "logistic").predict_proba(probe)
    np.testing.assert_array_equal(model.predict_proba(probe), expected)


def test_a_file_of_a_later_version_says_which_one_to_install(folder, tmp_path):
    content, arrays = unpack(folder / "gbr")
    content["model"]["state"]["later_"] = 3
    blob = pack(content["model"], arrays)
    message = refused(tmp_path / "model", blob, "later_")
    assert "later version" not in message
    version = stablepred.__version__.encode()
    blob = blob.replace(version, b"9" * len(version), 1)
    message = refused(tmp_path / "model", seal(blob), "later_")
    assert "9" * len(version) in message
    assert "install" in message


# --- classes of others ---


@storable
@dataclass(frozen=True)
class Plan:
    """A class as other parts of the library store theirs."""

    columns: list[str]
    levels: dict[str, list[str]]
    cut: float | None = None
    order: tuple[int, ...] = ()

    def check_stored(self):
        if set(self.levels) - set(self.columns):
            raise ValueError("levels of a column that is not there")


def test_a_dataclass_is_stored_with_its_types(tmp_path):
    plan = Plan(["a", "b"], {"a": ["x", "y"]}, 0.5, (1, 0))
    save(plan, tmp_path / "plan")
    assert stablepred.load(tmp_path / "plan") == plan


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"columns": ["a", 3]}, "columns of a Plan"),
        ({"columns": "ab"}, "columns of a Plan"),
        ({"levels": {"dict": [["a", "x"]]}}, "levels of a Plan"),
        ({"levels": {"dict": [["c", []]]}}, "not there"),
        ({"cut": "high"}, "cut of a Plan"),
        ({"order": {"tuple": [0.5]}}, "order of a Plan"),
        ({"more": 1}, "'more' is no attribute"),
        ({"more_": 1}, "'more_' is no attribute"),
    ],
)
def test_a_dataclass_with_other_types_is_refused(changes, match, tmp_path):
    save(Plan(["a", "b"], {}), tmp_path / "plan")
    refused(tmp_path / "plan", forged(tmp_path / "plan", set_state(**changes)), match)


def test_what_a_class_refuses_is_not_saved(tmp_path):
    with pytest.raises(InputError, match="not there"):
        save(Plan(["a"], {"b": []}), tmp_path / "plan")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_of_an_earlier_format_is_refused_with_what_to_do(version, folder, tmp_path):
    content, arrays = unpack(folder / "gbr")
    text = json.dumps({"format": version, "stablepred": "0.1.0", "model": content["model"]})
    blob = safetensors_bytes(arrays, metadata={"stablepred": text})
    message = f"format {version}, .*reads format {FORMAT}: install that version, or fit"
    refused(tmp_path / "model", blob, message)


def test_arrays_of_strings_are_bounded_together():
    narrow = {"strings": ["x" * 1000, *[""] * 60], "object": False}  # a quarter of a megabyte
    assert len(codec.decode([narrow] * 3, {})) == 3
    with pytest.raises(ValueError, match="too wide"):
        codec.decode([narrow] * 10, {})


def test_an_encoder_of_an_earlier_version_is_read_where_it_kept_all_features():
    state = {"overlap": 0.1, "columns_": [], "notes_": [], "n_features_in_": 1}
    for kept, reason in ((np.ones(2, dtype=bool), "no feature is left"), (np.zeros(2), "'kept_'")):
        with pytest.raises(ValueError, match=reason):
            build(TableEncoder, state | {"kept_": kept})
