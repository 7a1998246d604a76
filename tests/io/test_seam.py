"""What the folder io knows of the classes that it stores: that they may check themselves."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import stablepred
from stablepred import Dichotomizer, load
from stablepred.exceptions import InputError, ModelFileError
from stablepred.io import save as save_module
from stablepred.io.save import save_method, storable

IO = Path(save_module.__file__).parent


@storable
class Halver(BaseEstimator):
    """An estimator as a newcomer would add it, in one class."""

    save = save_method
    offset_: np.ndarray

    def __init__(self, *, by=2.0):
        self.by = by

    def fit(self, X, y=None):
        self.offset_ = np.zeros(np.shape(X)[1])
        return self

    def check_stored(self):
        if self.by <= 0:
            raise ValueError("by must be positive")


def test_a_class_says_itself_what_is_valid(tmp_path):
    Halver(by=4.0).fit(np.eye(2)).save(tmp_path / "model")
    assert load(tmp_path / "model").by == 4.0
    with pytest.raises(InputError, match="this Halver cannot be stored: by must be positive"):
        Halver(by=-1.0).save(tmp_path / "model")
    assert load(tmp_path / "model").by == 4.0


def test_a_class_is_checked_when_it_is_loaded(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.delattr(Halver, "check_stored")
        Halver(by=-1.0).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="by must be positive"):
        load(tmp_path / "model")


def test_io_names_no_class_of_this_library():
    classes = [name for name in stablepred.__all__ if name[0].isupper()]
    found = {path.name: [n for n in classes if n in path.read_text()] for path in IO.glob("*.py")}
    assert {file: names for file, names in found.items() if names} == {}


def test_the_method_says_what_it_does():
    assert "no pickle" in Dichotomizer.save.__doc__
