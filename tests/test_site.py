"""The documentation site: every public name has a page, and stories of the gallery run."""

import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
STORIES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.fixture
def api_pages(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import api_pages

    return api_pages


def test_every_public_name_has_a_page(api_pages, tmp_path):
    api_pages.write_api_index(tmp_path)
    entries = re.findall(r"^   (\w+)$", (tmp_path / "index.rst").read_text(), re.MULTILINE)
    assert len(entries) == len(set(entries))
    for module in map(import_module, api_pages.MODULES):
        listed = getattr(module, "__all__", [])
        assert {name for name in listed if not name.startswith("__")} <= set(entries), module


def test_every_module_that_lists_its_names_is_in_the_api(api_pages):
    source = ROOT / "src"
    files = [*source.glob("stablepred/*.py"), *source.glob("stablepred/*/__init__.py")]
    public = [path for path in files if not re.match(r"_[a-z]", path.name)]
    faces = [path.relative_to(source) for path in public if "__all__" in path.read_text()]
    dotted = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in faces}
    assert dotted <= set(api_pages.MODULES)


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


def test_every_story_has_its_place_in_the_gallery(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    from gallery_order import STORIES as IN_ORDER

    assert sorted(IN_ORDER) == [path.stem for path in STORIES]


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
