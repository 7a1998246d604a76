"""The numbers on the theory page are those that its script prints."""

import importlib.util
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from stablepred.theory.alpha import enumerate_alphas

DOCS = Path(__file__).parents[1] / "docs"
SCRIPT = DOCS / "make_theory_picture.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the docs are not part of this copy")


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_theory_picture", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_block_of_numbers_is_on_the_page(script):
    page = (DOCS / "theory.md").read_text(encoding="utf-8")
    for block in script.sections():
        assert f"```\n{block}\n```" in page


def test_the_picture_can_be_drawn(script, tmp_path):
    backend = mpl.get_backend()
    script.draw(tmp_path / "theory.png")
    mpl.use(backend)
    assert (tmp_path / "theory.png").stat().st_size > 20_000
    assert (DOCS / "images" / "theory.png").exists()


def test_eight_of_the_balanced_arrangements_have_a_constant_feature():
    observed = (np.arange(2**16)[:, None] >> np.arange(16)) & 1
    observed = observed[observed.sum(axis=1) == 8]  # the order of enumerate_alphas
    ones = observed @ ((np.arange(16)[:, None] >> np.arange(4)) & 1)
    constant = ((ones == 0) | (ones == 8)).any(axis=1)
    balanced = enumerate_alphas(4, 8) < 1e-12
    assert np.count_nonzero(balanced) == 50
    assert np.count_nonzero(balanced & constant) == 8
