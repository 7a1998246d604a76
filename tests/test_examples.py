"""The example scripts run, on smaller data."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
def test_evidence_prints_a_line_per_world(capsys, monkeypatch):
    example = load("evidence")
    monkeypatch.setattr(example, "WORLDS", example.WORLDS[:2])
    example.main(range(1), rows=500)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_two_cheats_prints_every_model(capsys):
    load("two_cheats").main(rows=300, test_rows=200)
    assert len(capsys.readouterr().out.splitlines()) == 8
