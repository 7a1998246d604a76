"""The printed tables, character by character.

The expected output is in the folder golden; ``python tests/cli/test_golden.py`` writes them again.
"""

import contextlib
import io
import os
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from stablepred.cli import app
from stablepred.cli.fit import show_effects

GOLDEN = Path(__file__).parent / "golden"
MODEL = ("--target", "bought", "--method", "lr", "--drop", "region", "-o", "model")
COMMANDS = {
    "fit": ("fit", "train.csv", *MODEL),
    "evaluate": ("evaluate", "model", "train.csv", "--by", "region", "--max-stability", "0.2"),
    "evaluate-bins": ("evaluate", "model", "train.csv", "--by", "age", "--bins", "20,40,60,100"),
    "stress": ("stress", "model", "train.csv"),
    "predict": ("predict", "model", "new.csv"),
}


def write_tables(folder):
    """Tables that depend on no random numbers."""
    k = pd.Series(range(300))
    frame = pd.DataFrame(
        {
            "age": 18 + k * 37 % 60,
            "job": (k * 7 % 11).map(lambda j: ["cook", "clerk", "smith"][j % 3]),
            "offer": (k * 13 % 17 < 9).map({True: "yes", False: "no"}),
            "income": (1000 + k * 271 % 900).where(k % 9 > 0),
            "country": "here",
            "region": (k % 5 < 2).map({True: "north", False: "south"}),
        }
    )
    buys = (frame["age"] > 45) ^ (k * 5 % 7 == 0) ^ ((frame["offer"] == "yes") & (k % 5 < 2))
    frame["bought"] = buys.map({True: "yes", False: "no"})
    frame.to_csv(folder / "train.csv", index=False)
    frame.head(20).assign(job="miner").to_csv(folder / "new.csv", index=False)


def printed(command):
    result = CliRunner().invoke(app, command, env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    return tmp_path


def test_tables_are_printed_as_before(folder):
    for name, command in COMMANDS.items():
        assert printed(command) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8"), name


EFFECTS = pd.DataFrame(
    {
        "feature": [
            "age>40.9",
            f"job={'a job with a name longer than the line is wide ' * 2}",
            "b",
        ],
        "effect": [0.1234, -0.2, 0.0],
        "low": [0.1, -0.25, -0.01],
        "high": [0.15, -0.15, 0.01],
        "verdict": ["stable", "stable", "noisy"],
    }
)


def printed_effects():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show_effects(EFFECTS)
    return out.getvalue()


def test_effects_are_printed_as_before(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert printed_effects() == (GOLDEN / "effects.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    (GOLDEN / "effects.txt").write_text(printed_effects(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        write_tables(Path(place))
        for name, command in COMMANDS.items():
            (GOLDEN / f"{name}.txt").write_text(printed(command), encoding="utf-8")
