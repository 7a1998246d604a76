"""Tables and models for the tests of the command line."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from stablepred.cli import app


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def run(*arguments):
    """Run a command as from a shell whose window has 80 columns."""
    result = CliRunner().invoke(
        app, [str(a) for a in arguments], prog_name="stablepred", env={"COLUMNS": "80"}
    )
    return Answer(result.exit_code, result.stdout, result.stderr)


def customers(n=400, seed=0):
    """A mixed table; who buys depends on age and job, and in the north on an offer too."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    job = rng.choice(["cook", "clerk", "smith"], n)
    region = rng.choice(["north", "south"], n)
    score = age / 30 + (job == "cook") + rng.normal(0, 0.6, n) - 1.9
    offer = np.where(region == "north", score + rng.normal(0, 1, n) > 0, rng.random(n) < 0.5)
    income = pd.Series(rng.normal(3000, 500, n).round(2)).mask(rng.random(n) < 0.1)
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "job": job,
            "offer": np.where(offer, "yes", "no"),
            "country": "here",
            "region": region,
            "bought": np.where(score > 0, "yes", "no"),
        }
    )


@pytest.fixture(name="run")
def run_fixture():
    return run


@pytest.fixture(name="customers")
def customers_fixture():
    return customers


@pytest.fixture(scope="session")
def train(tmp_path_factory):
    """A CSV file to train on."""
    path = tmp_path_factory.mktemp("tables") / "train.csv"
    customers().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def test_table(tmp_path_factory):
    """A CSV file of other customers."""
    path = tmp_path_factory.mktemp("tables") / "test.csv"
    customers(300, seed=1).to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory, train):
    """A model folder, fitted without the region."""
    path = tmp_path_factory.mktemp("models") / "model"
    answer = run(
        "fit", train, "--target", "bought", "--method", "lr", "--drop", "region", "-o", path
    )
    assert answer.code == 0, answer.err
    return path


@pytest.fixture(scope="session")
def bank():
    """The raw bank marketing file, where there is one."""
    beside = Path(__file__).parents[2] / ".." / "shared" / "data"
    path = Path(os.environ.get("STABLEPRED_DATA", beside)) / "bank-full.csv.gz"
    if not path.exists():
        pytest.skip(f"there is no {path}; STABLEPRED_DATA may name its folder")
    return path
