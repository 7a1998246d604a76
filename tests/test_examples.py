"""The example scripts run, on smaller data."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

pytestmark = pytest.mark.slow


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


def test_variants_prints_every_variant_in_every_world(capsys, monkeypatch):
    example = load("variants")
    monkeypatch.setattr(example, "WORLDS", {"P(V|S)": example.WORLDS["P(V|S)"]})
    example.main(range(1), rows=200, test_rows=200)
    assert len(capsys.readouterr().out.splitlines()) == 1 + 7 + len(example.CHANGES)


def test_shards_fits_on_two_processes():
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*torchrun, "--nproc-per-node", "2", str(EXAMPLES / "shards.py")]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rank 1: the weights of 2000 of 4000 rows" in done.stdout
