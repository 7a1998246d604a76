"""Whatever stands in a file: it is refused by a stablepred exception, or it is a usable model."""

import importlib.util
import string
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from generated import NUMBERS, weighted_matrices
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import stablepred
from stablepred import Dichotomizer, OverlapFilter
from stablepred.exceptions import ModelFileError

TOOLS = Path(__file__).parents[2] / "tools"
pytestmark = [
    pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning"),
    pytest.mark.skipif(not TOOLS.is_dir(), reason="the folder tools is not part of this copy"),
]
# One folder for all examples: every example writes the file again.
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def fuzz():
    """The tool that spoils model files."""
    sys.path.insert(0, str(TOOLS))
    try:
        spec = importlib.util.spec_from_file_location("fuzz_models", TOOLS / "fuzz_models.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["fuzz_models"] = module
        spec.loader.exec_module(module)
        module.SECONDS = float("inf")  # nothing is timed in a test
        module.tally_of(range(0), seed=0)  # so that nothing is imported while memory is counted
        yield module
    finally:
        sys.path.remove(str(TOOLS))
        sys.modules.pop("fuzz_models")


@SAME_FOLDER
@given(st.binary(max_size=500))
def test_any_bytes_are_refused(tmp_path, blob):
    (tmp_path / "model").write_bytes(blob)
    with pytest.raises(ModelFileError):
        stablepred.load(tmp_path / "model")


@SAME_FOLDER
@given(number=st.integers(0, 1 << 32))
def test_a_spoiled_file_is_refused_or_usable(fuzz, number):
    tally = fuzz.tally_of(range(number, number + 2), seed=0, warm=False)
    assert tally.findings == []


def test_a_small_run_of_the_fuzz_tool_finds_nothing(fuzz):
    tally = fuzz.tally_of(range(300), seed=2)
    assert tally.findings == []
    assert sum(tally.counts.values()) == 300
    assert {how.split(",")[0] for how in tally.counts} == {"refused", "loaded"}
    page = fuzz.as_markdown(fuzz.record(tally, 300, 2))
    assert "| **findings** | 0 |" in page


def test_the_fuzz_tool_notices_what_it_looks_for(fuzz, monkeypatch, tmp_path):
    """A loader that lets everything pass, or that takes too much, would not go unseen."""
    (tmp_path / "model").write_bytes(b"nothing")
    monkeypatch.setattr(stablepred, "load", lambda path: 1 / 0)
    assert fuzz.observe(tmp_path / "model").verdict == "failed"
    model = Dichotomizer().fit(np.eye(3))
    model.thresholds_[0] = np.nan
    monkeypatch.setattr(stablepred, "load", lambda path: model)
    assert fuzz.observe(tmp_path / "model").verdict == "failed"
    monkeypatch.setattr(stablepred, "load", lambda path: bytes(1 << 27) and OverlapFilter())
    seen = fuzz.observe(tmp_path / "model")
    assert seen.peak > 1 << 27
    tally = fuzz.tally_of(range(0), seed=0)
    tally.add(0, "file", "change", 100, seen)
    assert len(tally.findings) == 1


NAMES = st.text(string.printable + "äß雨\0'\"{}[]\\", min_size=1, max_size=6)


@SAME_FOLDER
@given(weighted_matrices(NUMBERS, rows=(2, 6)), st.data())
def test_any_names_and_numbers_survive(tmp_path, table, data):
    x, weight = table
    width = x.shape[1]
    names = data.draw(st.lists(NAMES, min_size=width, max_size=width, unique=True))
    frame = pd.DataFrame(x, columns=pd.Index(names, dtype=object))
    for model in (Dichotomizer(), OverlapFilter()):
        model.fit(frame, sample_weight=weight)
        model.save(tmp_path / "model")
        loaded = stablepred.load(tmp_path / "model")
        assert loaded.feature_names_in_.tolist() == names
        for name, value in vars(model).items():
            np.testing.assert_array_equal(getattr(loaded, name), value)
