"""Settings and small data that the tests share."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import settings

# Nothing is timed in a test, and the same code gives the same verdict every time. The long run
# (``make test-long``) looks elsewhere each time and prints how to come back to what it finds.
settings.register_profile(
    "stablepred", deadline=None, derandomize=True, database=None, max_examples=50
)
settings.register_profile("long", deadline=None, print_blob=True, database=None, max_examples=1000)
settings.load_profile("stablepred")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: run by make test-slow, not by make test")
    config.addinivalue_line("markers", "quality: whole fits on the data of the demonstration")


# Folders whose tests take long together: whole studies, and generated input.
LONG = {"studies", "properties"}


def pytest_collection_modifyitems(items):
    """Tests of these folders are slow tests, every one."""
    for item in items:
        if item.path.parent.name in LONG:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Tests run side by side; more threads than cores only wait for each other."""
    torch.set_num_threads(1)


class SmallTable:
    """0/1 features of which the second follows the first, and an outcome of two of them."""

    def __init__(self, n: int = 120, p: int = 5, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        x = (rng.random((n, p)) < 0.5).astype(float)
        x[:, 1] = np.where(rng.random(n) < 0.6, x[:, 0], x[:, 1])
        y = (x[:, 0] + x[:, 2] + rng.normal(0, 0.7, n) > 1).astype(int)
        self.X = pd.DataFrame(x, columns=[f"f{j}" for j in range(p)])
        self.x, self.y, self.n, self.p = x, y, n, p
        # Chosen by hand: dyadic weights would hide what rounding does.
        self.sample_weight = rng.integers(1, 4, n).astype(float)


@pytest.fixture(scope="session")
def table():
    """A small table that every estimator can be fitted on."""
    return SmallTable()


@pytest.fixture(scope="session")
def make_table():
    """Small tables of other sizes and seeds."""
    return SmallTable


@pytest.fixture(scope="module")
def short_screens():
    """Two iterations for the weights and the network of a screen: enough for what is no result."""
    from stablepred.models import screening

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screening, "SETTINGS", replace(screening.SETTINGS, max_iter=2))
        yield


@pytest.fixture(scope="session")
def data_folder():
    """The folder of the real data files; a test that asks for it is skipped where it is missing."""
    beside = Path(__file__).parents[1] / ".." / "shared" / "data"
    folder = Path(os.environ.get("STABLEPRED_DATA", beside))
    if not (folder / "bank-full.csv.gz").exists():
        pytest.skip(f"the data files are not in {folder}; STABLEPRED_DATA may name their folder")
    return folder


@pytest.fixture(scope="session")
def spark():
    """A Spark of one core on this machine."""
    sql = pytest.importorskip("pyspark.sql", reason="the extra 'spark' is not installed")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else its workers run whatever python3 is
    try:
        session = (
            sql.SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .getOrCreate()
        )
    except Exception as error:
        pytest.skip(f"Spark does not start (it needs Java): {error}")
    yield session
    session.stop()
