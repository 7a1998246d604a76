"""Fits that are interrupted and go on: to the same bits, from sound files of their own only."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from stablepred import (
    BalancedClassifier,
    DGBRClassifier,
    DLRClassifier,
    FrozenWeights,
    GBRClassifier,
    GlobalBalancer,
    load,
)
from stablepred.exceptions import CheckpointError, InputError, ModelFileError, StablepredWarning
from stablepred.io import save as files
from stablepred.io.save import read_checkpoint, temporary_beside, write_checkpoint
from stablepred.models import checkpoints
from stablepred.search import StableSearchCV

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")

TOOL = Path(__file__).parents[2] / "tools" / "kill_and_resume.py"
FEW = {"max_iter": 12, "random_state": 0}
MODELS = {
    "balancer": GlobalBalancer(max_iter=12),
    "gbr": GBRClassifier(**FEW),
    "gbr-alternating": GBRClassifier.from_paper(**FEW),
    "dlr": DLRClassifier(**FEW),
    "dgbr": DGBRClassifier(**FEW),
    "dgbr-features": DGBRClassifier(head="features", order=2, **FEW),
    "dgbr-alternating": DGBRClassifier.from_paper(**FEW),
    "dgbr-fixed-weights": DGBRClassifier(frozen=FrozenWeights(after=3), **FEW),
    "dgbr-reduced": DGBRClassifier(
        frozen={"reduced": True, "bias_bound": 1.0}, solver="alternating", **FEW
    ),
}
# As they are out of the box: every iteration, every choice.
DEFAULTS = {
    "balancer by default": GlobalBalancer(random_state=0),
    "gbr by default": GBRClassifier(random_state=0),
    "dlr by default": DLRClassifier(random_state=0),
    "dgbr by default": DGBRClassifier(random_state=0),
}
MODELS |= DEFAULTS
SLOW = pytest.mark.slow


class StoppedError(Exception):
    """The fit was stopped by the test."""


@pytest.fixture
def stop_after(monkeypatch):
    """Write after every iteration, and stop after so many writes (0: never)."""
    write = checkpoints.FileCheckpoint._write

    def arrange(number):
        left = [number]

        def stopping(self, loops):
            write(self, loops)
            left[0] -= 1
            if left[0] == 0:
                raise StoppedError

        monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
        monkeypatch.setattr(checkpoints, "TIMES_AS_LONG", 0.0)
        monkeypatch.setattr(checkpoints.FileCheckpoint, "_write", stopping)

    return arrange


@pytest.fixture
def unfinished(stop_after, table, tmp_path):
    """The checkpoint of a fit that was stopped on its way."""

    def stop(model=None, writes=4):
        path = tmp_path / "checkpoint"
        model = clone(MODELS["dgbr"] if model is None else model).set_params(checkpoint=path)
        stop_after(writes)
        with pytest.raises(StoppedError):
            model.fit(table.X, table.y)
        stop_after(0)
        return path

    return stop


def content(model, folder):
    """All that a model holds, as bytes."""
    model.save(folder / "model")
    return (folder / "model").read_bytes()


# --- going on ---


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SLOW if name in DEFAULTS else ()) for name in MODELS]
)
def test_a_fit_that_is_stopped_again_and_again_ends_with_the_same_bits(
    name, stop_after, table, tmp_path
):
    whole = content(clone(MODELS[name]).fit(table.X, table.y), tmp_path)
    path = tmp_path / "checkpoint"
    model = clone(MODELS[name]).set_params(checkpoint=path)
    stops = 0
    while True:
        stop_after(4 if name in DEFAULTS else 2)
        try:
            model.fit(table.X, table.y)
        except StoppedError:
            stops += 1
            assert path.exists()
        else:
            break
    assert stops >= 1
    assert content(model, tmp_path) == whole
    assert [item.name for item in tmp_path.iterdir()] == ["model"]


@pytest.mark.slow
def test_killed_processes_resume_to_the_same_bits(tmp_path):
    record = tmp_path / "record.json"
    fits = ["dgbr", "gbr", "dgbr fixed weights", "dgbr alternating", "dgbr without a seed"]
    command = [sys.executable, TOOL, "--kills", "8", "--seed", "3", "--record", record]
    subprocess.run([*command, "--only", *fits], check=True, capture_output=True)
    found = json.loads(record.read_text())
    assert found["kills"] >= 8
    assert found["runs from a checkpoint"] > 0
    assert found["fits with the same result"] == found["fits"]
    assert found["unreadable checkpoints"] == found["files left over"] == 0


def test_what_is_done_is_not_computed_again(unfinished, table, monkeypatch):
    path = unfinished(MODELS["gbr"], writes=3)
    done = []
    monkeypatch.setattr(
        checkpoints.FileCheckpoint, "keep", lambda self, state: done.append(state()["done"])
    )
    clone(MODELS["gbr"]).set_params(checkpoint=path).fit(table.X, table.y)
    assert done[0] == 4


def test_a_short_fit_writes_nothing(table, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 1e9)
    monkeypatch.setattr(
        checkpoints.FileCheckpoint, "_write", lambda self, loops: pytest.fail("it was written")
    )
    clone(MODELS["gbr"]).set_params(checkpoint=tmp_path / "checkpoint").fit(table.X, table.y)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_checkpoint_before_it(unfinished, table, monkeypatch):
    path = unfinished()
    before = path.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        clone(MODELS["dgbr"]).set_params(checkpoint=path).fit(table.X, table.y)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_write_left_is_replaced_or_removed(unfinished, table):
    path = unfinished()
    temporary_beside(path).write_bytes(b"half a checkpoint")
    clone(MODELS["dgbr"]).set_params(checkpoint=path).fit(table.X, table.y)
    assert list(path.parent.iterdir()) == []


def test_without_a_random_state_the_seed_of_the_unfinished_fit_is_taken(unfinished, table):
    model = clone(MODELS["dgbr"]).set_params(random_state=None)
    path = unfinished(model)
    seed = read_checkpoint(path)["seed"]
    model.set_params(checkpoint=path).fit(table.X, table.y)
    assert model.random_state_ == seed
    again = clone(MODELS["dgbr"]).set_params(random_state=seed).fit(table.X, table.y)
    assert (again.predict_proba(table.X) == model.predict_proba(table.X)).all()


def test_a_balancer_inside_another_model_can_have_a_checkpoint(unfinished, table):
    path = unfinished(GlobalBalancer())
    inner = GlobalBalancer(checkpoint=path)
    model = BalancedClassifier(LogisticRegression(), inner).fit(table.X, table.y)
    assert not path.exists()
    whole = GlobalBalancer().fit(table.X)
    assert (model.sample_weight_ == whole.weights_).all()


def test_a_search_keeps_no_checkpoint(table, stop_after, tmp_path):
    stop_after(1)
    model = GBRClassifier(l1=0.01, refit=False, max_iter=5, checkpoint=tmp_path / "checkpoint")
    search = StableSearchCV(model, {"weight_l2": [0.01, 0.1]}, cv=2, random_state=0)
    search.fit(table.X, table.y)
    assert search.best_estimator_.checkpoint is None
    assert list(tmp_path.iterdir()) == []


# --- what is refused ---


def refusal(model, path, table):
    with pytest.raises(CheckpointError) as caught:
        model.set_params(checkpoint=path).fit(table.X, table.y)
    text = str(caught.value)
    assert str(path) in text
    assert "Remove it to fit from the beginning, or name another file." in text
    return text


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"max_iter": 13}, "max_iter"),
        ({"random_state": 1}, "random_state"),
        ({"random_state": None}, "random_state"),
        ({"hidden": (3, 2)}, "hidden"),
    ],
)
def test_a_checkpoint_of_other_parameters_is_refused(change, what, unfinished, table):
    path = unfinished()
    text = refusal(clone(MODELS["dgbr"]).set_params(**change), path, table)
    assert f"belongs to another fit (of other {what})" in text
    assert path.exists()


def test_a_checkpoint_of_other_data_is_refused(unfinished, table, make_table):
    path = unfinished()
    text = refusal(clone(MODELS["dgbr"]), path, make_table(seed=1))
    assert "belongs to another fit (of other data)" in text
    weighted = clone(MODELS["dgbr"]).set_params(checkpoint=path)
    with pytest.raises(CheckpointError, match="of other data"):
        weighted.fit(table.X, table.y, sample_weight=table.sample_weight)


def test_a_checkpoint_of_another_estimator_or_version_is_refused(unfinished, table, monkeypatch):
    path = unfinished()
    assert "of other estimator" in refusal(clone(MODELS["gbr"]), path, table)
    monkeypatch.setattr(checkpoints, "__version__", "0.0.0")
    assert "(of other versions)" in refusal(clone(MODELS["dgbr"]), path, table)


def test_how_much_is_shown_does_not_matter(unfinished, table):
    path = unfinished()
    clone(MODELS["dgbr"]).set_params(checkpoint=path, verbose=1).fit(table.X, table.y)
    assert not path.exists()


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_checkpoint_is_refused(seed, unfinished, table):
    path = unfinished()
    blob, rng = bytearray(path.read_bytes()), np.random.default_rng(seed)
    if seed % 2:
        blob[rng.integers(len(blob))] ^= 1 << rng.integers(8)
    else:
        del blob[rng.integers(len(blob)) :]
    path.write_bytes(blob)
    assert "is not a sound checkpoint" in refusal(clone(MODELS["dgbr"]), path, table)


def test_what_is_no_checkpoint_is_refused_and_left_alone(table, tmp_path):
    model = tmp_path / "model"
    clone(MODELS["dlr"]).fit(table.X, table.y).save(model)
    text = tmp_path / "text"
    text.write_text("a poem")
    for path in (model, text):
        before = path.read_bytes()
        assert "is not a sound checkpoint" in refusal(clone(MODELS["dlr"]), path, table)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "loops",
    [
        [{"stage": "weights", "state": {}}],
        [{"stage": "encoder", "state": {}}],
        [{"stage": "encoder"}],
        ["encoder"],
        [None],
    ],
)
def test_a_checkpoint_with_other_parts_inside_is_refused(loops, unfinished, table):
    path = unfinished()
    write_checkpoint(path, read_checkpoint(path) | {"loops": loops})
    assert "belongs to another fit" in refusal(clone(MODELS["dgbr"]), path, table)


def test_variables_of_another_shape_are_refused(unfinished, table):
    path = unfinished()
    held = read_checkpoint(path)
    held["loops"][0]["state"]["parts"][0]["variables"][0] = np.zeros((1, 1))
    write_checkpoint(path, held)
    assert "was expected" in refusal(clone(MODELS["dgbr"]), path, table)


def test_parts_that_are_missing_are_refused(unfinished, table):
    path = unfinished()
    held = read_checkpoint(path)
    del held["seed"]
    write_checkpoint(path, held)
    assert "belongs to another fit" in refusal(clone(MODELS["dgbr"]), path, table)


def test_a_checkpoint_is_no_model(unfinished):
    with pytest.raises(ModelFileError, match="not a sound stablepred model file"):
        load(unfinished())


def test_names_that_can_be_no_file_are_refused(table, tmp_path):
    with pytest.raises(InputError, match="checkpoint must be a file path or None"):
        GBRClassifier(checkpoint=3).fit(table.X, table.y)
    with pytest.raises(InputError, match="there is no folder"):
        GBRClassifier(checkpoint=tmp_path / "nowhere" / "c").fit(table.X, table.y)
    with pytest.raises(InputError, match="is no file"):
        GBRClassifier(checkpoint=tmp_path).fit(table.X, table.y)


def test_two_fits_that_write_to_one_file_are_told(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint"
    write_checkpoint(path, {"loops": []})

    def gone(source, target):
        Path(source).unlink()
        raise FileNotFoundError

    monkeypatch.setattr("os.replace", gone)
    with pytest.raises(CheckpointError, match="another fit is writing to the checkpoint"):
        write_checkpoint(path, {"loops": []})


def test_a_state_that_is_too_large_for_a_file_is_said_so(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 10)
    with pytest.raises(CheckpointError, match="Fit without a checkpoint"):
        write_checkpoint(tmp_path / "checkpoint", {"loops": []})
    assert list(tmp_path.iterdir()) == []


# --- what a model file says of it ---


def test_a_model_file_holds_the_seed_and_not_the_checkpoint(table, tmp_path):
    path = tmp_path / "a place on this disk"
    model = clone(MODELS["gbr"]).set_params(checkpoint=path).fit(table.X, table.y)
    blob = content(model, tmp_path)
    assert b"a place on this disk" not in blob
    loaded = load(tmp_path / "model")
    assert loaded.checkpoint is None
    assert loaded.random_state_ == 0


def test_a_model_file_that_names_a_checkpoint_is_refused(table, tmp_path, monkeypatch):
    model = clone(MODELS["gbr"]).fit(table.X, table.y).set_params(checkpoint="/etc/passwd")
    monkeypatch.setattr(GBRClassifier, "not_stored", ())
    model.save(tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="'checkpoint' is no attribute of a GBRClassifier"):
        load(tmp_path / "model")


def test_numbers_without_dimensions_survive(tmp_path):
    path = tmp_path / "checkpoint"
    held = {"number": np.array(0.1), "line": np.array([0.1]), "last": -np.inf, "none": None}
    write_checkpoint(path, held)
    found = read_checkpoint(path)
    assert found["number"].shape == ()
    assert found["line"].shape == (1,)
    assert (found["number"], found["last"], found["none"]) == (0.1, -np.inf, None)


def test_warnings_are_given_after_an_interruption_as_without_one(unfinished, table):
    model = GBRClassifier(max_iter=3, min_effective_share=0.9, random_state=0)

    def messages(model):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(table.X, table.y)
        return [str(w.message) for w in caught if issubclass(w.category, StablepredWarning)]

    whole = messages(clone(model))
    assert whole
    assert messages(clone(model).set_params(checkpoint=unfinished(model, writes=2))) == whole
