"""The documentation site: every public name has a page, and stories of the gallery run."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import stablepred
import stablepred.data
import stablepred.search

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
STORIES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.fixture(scope="module")
def api_pages():
    sys.path.insert(0, str(DOCS))
    try:
        import api_pages
    finally:
        sys.path.remove(str(DOCS))
    return api_pages


def test_every_public_name_has_a_page(api_pages, tmp_path):
    api_pages.write_api_index(tmp_path)
    entries = re.findall(r"^   (\w+)$", (tmp_path / "index.rst").read_text(), re.MULTILINE)
    assert len(entries) == len(set(entries))
    for module in (stablepred, stablepred.data, stablepred.search, stablepred.theory):
        assert {name for name in module.__all__ if not name.startswith("__")} <= set(entries)


def test_every_page_is_reached_from_another():
    text = "\n".join(page.read_text() for page in DOCS.glob("*.md"))
    written = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    listed = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    entries = set(re.findall(r"[\w/*-]+(?=>?$)", "\n".join(listed), re.MULTILINE))
    assert written <= entries


def test_every_example_has_the_title_of_a_page():
    for path in (ROOT / "examples").glob("*.py"):
        title, line = path.read_text().removeprefix('"""').splitlines()[:2]
        assert line == "=" * len(title), path.name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_stories_of_the_gallery_print_and_draw(path, capsys, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt.close("all")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert plt.get_fignums()
    plt.close("all")
