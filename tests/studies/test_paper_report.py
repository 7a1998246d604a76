import json
import shlex

import numpy as np
import pandas as pd
import pytest
from fake_records import fake_run
from typer.testing import CliRunner

from stablepred import __version__
from stablepred.cli import app
from stablepred.exceptions import StablepredWarning
from studies import plots
from studies.methods import GRIDS
from studies.paper import PaperStudy
from studies.paper.page import elapsed
from studies.tables import duration, markdown


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The whole paper from made-up results."""
    folder = tmp_path_factory.mktemp("my results")

    def no_picture(panels, title, columns, path, **options):
        path.write_text(title)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PaperStudy, "run", fake_run)
        # Most pictures are of these two kinds; they are drawn in the tests below.
        patch.setattr(plots, "plot_curves", no_picture)
        patch.setattr(plots, "plot_frontiers", no_picture)
        done = reproduce("paper", "--tuned", "--seeds", 3, "--output", folder)
    assert done.exit_code == 0, done.output
    return folder / "paper", done.output


def test_the_whole_paper_gives_every_figure(whole):
    folder, output = whole
    drawn = {path.stem for path in folder.glob("*.png")}
    curves = [f"figure-{k}" for k in range(4, 11)] + ["assumption-1", "literal-mediator"]
    expected = {*curves, *(f"{name}-summary" for name in curves)}
    assert drawn == expected | {"figure-3", "figure-11", "figure-12"}
    for name in ("figure-3", "figure-11", "figure-12"):
        assert (folder / f"{name}.png").stat().st_size > 10_000
    assert str(folder / "paper.md") in output.replace("\n", "")


def test_the_page_says_how_it_was_made_and_shows_every_picture(whole):
    folder, _ = whole
    text = (folder / "paper.md").read_text(encoding="utf-8")
    output = shlex.quote(str(folder.parent))
    command = f"stablepred reproduce paper --seeds 3 --first-seed 1000 --tuned --output {output}"
    assert text.splitlines()[2] == f"`{command}`"
    assert f"Version {__version__}; seeds 1000 to 1002 (published seeds)" in text
    assert "of computing in" in text
    for path in folder.glob("*.png"):
        assert f"]({path.name})" in text
    assert "GBR in figure-4a (4.0%)" in text
    assert "DGBR 0.00 ± 0.00" in text


def test_tables_are_there_as_markdown_and_as_csv(whole):
    folder, _ = whole
    text = (folder / "paper.md").read_text(encoding="utf-8")
    for title in ("## Bars", "## The paper's claims", "## All panels", "## Tuned"):
        assert title in text
    panels = pd.read_csv(folder / "paper-panels.csv")
    assert len(panels) == (9 + 3 + 5 * 3 + 14 + 3) * 17
    assert set(pd.read_csv(folder / "paper-claims.csv")["verdict"]) == {"holds", "does not hold"}
    trends = pd.read_csv(folder / "paper-trends.csv")
    assert "Average_Error falls, then rises as λ1 grows" in set(trends["claim"])
    bars = pd.read_csv(folder / "paper-bars.csv")
    assert "figure-5a" not in set(bars["panel"])  # it is 4h
    tuned = pd.read_csv(folder / "paper-tuned.csv")
    assert len(tuned) == 19 * len(GRIDS)
    assert set(tuned["n"]) == {1000, 2000, 4000}


def test_a_finished_run_is_drawn_again_from_its_records_alone(whole, monkeypatch):
    folder, _ = whole

    def never(definition):
        raise AssertionError("everything is recorded")

    monkeypatch.setattr(PaperStudy, "run", never)
    before = (folder / "records.jsonl").read_bytes()
    done = reproduce("figure-6", "--seeds", 2, "--output", folder.parent)
    assert done.exit_code == 0, done.output
    assert (folder / "records.jsonl").read_bytes() == before
    assert "seeds 1000 to 1001" in (folder / "figure-6.md").read_text(encoding="utf-8")
    for name in ("figure-6", "figure-6-summary"):
        assert (folder / f"{name}.png").stat().st_size > 10_000


def test_what_two_figures_share_is_recorded_once(whole):
    folder, _ = whole
    keys = [json.loads(line)["key"] for line in (folder / "records.jsonl").read_text().splitlines()]
    assert len(set(keys)) == len(keys)


def test_a_damaged_record_is_computed_again(tmp_path, monkeypatch):
    computed = []

    def compute(definition):
        computed.append(definition.get("method"))
        return fake_run(definition)

    monkeypatch.setattr(PaperStudy, "run", compute)
    arguments = ("figure-4e", "--seeds", 1, "--output", tmp_path)
    assert reproduce(*arguments).exit_code == 0
    path = tmp_path / "paper" / "records.jsonl"
    path.write_text(path.read_text()[:-40])
    computed.clear()
    with pytest.warns(StablepredWarning, match="line 12: not a complete record"):
        assert reproduce(*arguments).exit_code == 0
    assert computed == ["DGBR (paper, intercept)"]


def test_a_folder_that_cannot_be_written_is_named_before_anything_is_run(tmp_path, monkeypatch):
    def never(definition):
        raise AssertionError("nothing may be run")

    monkeypatch.setattr(PaperStudy, "run", never)
    (tmp_path / "file").write_text("not a folder")
    done = reproduce("figure-4e", "--output", tmp_path / "file")
    assert done.exit_code == 2
    message = " ".join(done.output.split())
    assert f"Not a directory: '{tmp_path / 'file' / 'paper'}'" in message


def test_an_unknown_figure_gives_the_list():
    done = reproduce("figure-4", "figure-17")
    assert done.exit_code == 2
    assert "unknown study 'figure-17'" in done.output
    for name in ("figure-3", "figure-12", "assumption-1", "paper", "tuning-study"):
        assert name in done.output


@pytest.mark.slow
def test_the_quick_version_really_runs(tmp_path):
    names = ("figure-4e", "figure-3", "figure-11", "figure-12a")
    done = reproduce(*names, "--quick", "--output", tmp_path)
    assert done.exit_code == 0, done.output
    folder = tmp_path / "paper"
    lines = (folder / "records.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert {r["definition"].get("seed") for r in records} == {1000, 1001, None}
    text = (folder / "figure-4e.md").read_text(encoding="utf-8")
    assert "--seeds 2 --first-seed 1000 --quick" in text
    panels = pd.read_csv(folder / "figure-4e-panels.csv").set_index("method")
    assert panels.loc["DGBR", "Average_Error"] > 0
    assert all((folder / f"{name}.png").exists() for name in names)


def test_quick_results_go_to_a_folder_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PaperStudy, "run", fake_run)
    assert reproduce("figure-3", "--quick").exit_code == 0
    assert (tmp_path / "results" / "quick" / "paper" / "figure-3.png").exists()
    assert reproduce("figure-3").exit_code == 0
    assert (tmp_path / "results" / "paper" / "figure-3.png").exists()


# --- text ---


def test_wall_time_is_the_union_of_what_ran_side_by_side():
    spans = np.array([[0.0, 10.0], [5.0, 12.0], [30.0, 40.0], [1000.0, 1010.0]])
    assert elapsed(spans) == 40.0 + 10.0
    assert [duration(s) for s in (59, 600, 9000)] == ["59 s", "10 min", "2.5 h"]


def test_bars_inside_a_cell_are_escaped():
    assert "P(Y\\|V)" in markdown(pd.DataFrame({"a": ["P(Y|V)", None]}))
