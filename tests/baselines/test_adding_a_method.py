"""The page on how to add a method does what it says."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from stablepred.baselines import methods
from stablepred.io import objects

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-method.md"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_the_blocks_of_the_page_run_in_order(monkeypatch, capsys):
    monkeypatch.setattr(methods, "REGRESSORS", dict(methods.REGRESSORS))
    monkeypatch.setattr(objects, "_classes", dict(objects._classes))
    module = ModuleType("adding_a_method")  # so that its class can be pickled
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = vars(module)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert "even" in capsys.readouterr().out
    assert names["report"].table["message"].eq("").all()
    assert names["named"].table.loc["even", "message"] == ""
