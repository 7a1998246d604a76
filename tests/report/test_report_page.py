import os

import pandas as pd
import pytest
from html_reader import HOSTILE, read

from stablepred._text import label
from stablepred.exceptions import InputError
from stablepred.html.charts import Mark, Row, row_chart
from stablepred.html.page import Figure, Page, Section, Table, render, table_of, write_page


def a_page(name="feature", verdict="All is well."):
    frame = pd.DataFrame({"error": [0.1234, float("nan")]}, index=[name, "other"])
    chart = row_chart([Row(name, [Mark(0.2, "circle", "c-model")])], "RMSE", f"chart of {name}")
    blocks = [Figure(chart, f"Caption of {name}"), table_of(frame, f"Table of {name}")]
    facts = [Table("Facts", [], [(label(name), label(name))])]
    section = Section("one", "One", f"Title of {name}", [f"Text of {name}"], [blocks, facts])
    return Page(f"Report of {name}", verdict, [("Number", "1", name)], [section], "today")


def test_a_page_has_verdict_sections_figures_and_tables():
    page = read(render(a_page()))
    assert [n.text for n in page.all("h1")] == ["All is well."]
    assert [n.text for n in page.all("h2")] == ["Title of feature"]
    assert len(list(page.all("figure"))) == 1
    cells = [[c.text for c in row.all("td")] for row in page.all("tr")]
    assert cells[1:] == [["0.123"], ["–"], ["feature"]]
    assert next(page.all("a")).attributes["href"] == "#one"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_can_put_anything_on_the_page_but_text(name):
    harmless, hostile = read(render(a_page())), read(render(a_page(name, f"Verdict on {name}")))
    extra = {"span", "title"}  # the whole of a name that is cut
    tags = [[n.tag for n in page.all() if n.tag not in extra] for page in (harmless, hostile)]
    assert tags[0] == tags[1]
    attributes = [{key for n in page.all() for key in n.attributes} for page in (harmless, hostile)]
    assert attributes[1] - attributes[0] <= {"title"}


def test_a_long_name_is_cut_with_the_whole_of_it_on_hovering():
    name = "a_rather_long_name_of_a_feature_" * 3
    page = read(render(a_page(name)))
    spans = [n for n in page.all("span") if "title" in n.attributes]
    assert spans
    assert all(n.attributes["title"] == name and len(n.text) < 130 for n in spans)


def test_the_page_forbids_scripts_and_the_network():
    page = read(render(a_page()))
    (policy,) = [
        n.attributes["content"]
        for n in page.all("meta")
        if n.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert "default-src 'none'" in policy
    assert not list(page.all("script"))


def test_the_style_serves_day_night_and_paper():
    (style,) = read(render(a_page())).all("style")
    for needed in ("prefers-color-scheme: dark", "@media print", "min-width", "@page"):
        assert needed in style.text


# --- writing ---


def test_an_existing_file_is_replaced_and_nothing_else_is_left(tmp_path):
    target = tmp_path / "report.html"
    target.write_text("old")
    write_page(a_page(), target)
    assert target.read_text(encoding="utf-8").lstrip().startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_half_way_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="No space left on device"):
        write_page(a_page(), target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="No such file or directory"):
        write_page(a_page(), tmp_path / "nowhere" / "report.html")


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_page(a_page(), tmp_path / "file" / "report.html")


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        write_page(a_page(), tmp_path)


def test_the_template_and_the_style_come_with_the_package():
    from importlib.resources import files

    for name in ("page.html.jinja", "style.css"):
        assert (files("stablepred.html") / name).is_file()
