import re

import matplotlib as mpl
import pandas as pd
import pytest
from html_reader import HOSTILE, read

from stablepred._text import label
from stablepred.html.page import (
    Block,
    Page,
    Section,
    make_figure,
    make_table,
    render,
)
from stablepred.plotting.rows import MODEL, QUIET, Display, Marks, draw_rows


def drawing_of(name):
    marks = [Marks(name, [0.2], ("o", MODEL)), Marks("other", [0.3], ("s", QUIET), hollow=True)]
    return lambda ax: draw_rows(Display(), ax, [name], marks, name)


def svg_of(drawing, description):
    return make_figure(drawing, description, "").drawing


def a_page(name="feature", verdict="All is well."):
    frame = pd.DataFrame({"error": [0.1234, float("nan")]}, index=[name, "other"])
    figure = make_figure(drawing_of(name), f"chart of {name}", f"Caption of {name}")
    blocks = [figure, make_table(frame, f"Table of {name}")]
    facts = [Block("Facts", rows=[(label(name), label(name))])]
    section = Section("one", "One", f"Title of {name}", [f"Text of {name}"], [blocks, facts])
    return Page(f"Report of {name}", verdict, [], [("Number", "1", name)], [section], "today")


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
    # The whole of a name that is cut, and its second line on a chart.
    extra = {"span", "title", "g", "text"}
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


# --- figures ---


def test_a_figure_brings_neither_styles_nor_identifiers_nor_addresses_to_the_page():
    svg = svg_of(drawing_of("feature"), "a chart")
    assert svg.startswith("<svg ")
    assert svg.count("<svg") == svg.count("</svg>") == 1
    for foreign in ("<style", "clip-path", "http", "<!DOCTYPE", "<?xml", 'id="axes', "DejaVu"):
        assert foreign not in svg
    referred = set(re.findall(r'href="#([^"]*)"', svg))
    assert referred <= set(re.findall(r' id="([^"]*)"', svg))


def test_a_figure_takes_its_neutral_colours_from_the_page_and_keeps_those_of_the_methods():
    svg = svg_of(drawing_of("feature"), "a chart")
    assert set(re.findall(r"#[0-9a-f]{6}", svg)) == {MODEL, QUIET}
    assert set(re.findall(r"var\(--([a-z]+)\)", svg)) == {"ink", "quiet", "rule", "page", "sans"}


def test_names_are_text_on_a_figure():
    root = read(svg_of(drawing_of("cost in $ & <b>"), 'a "chart" of <b>'))
    assert "cost in $ & <b>" in [node.text for node in root.all("text")]
    (svg,) = root.all("svg")
    assert svg.attributes["aria-label"] == 'a "chart" of <b>'


def test_the_settings_of_a_notebook_do_not_reach_the_page():
    expected = svg_of(drawing_of("feature"), "a chart")
    with mpl.rc_context({"text.usetex": True, "font.size": 30, "svg.fonttype": "path"}):
        assert svg_of(drawing_of("feature"), "a chart") == expected


def test_letters_that_the_drawing_font_lacks_are_left_to_the_browser():
    assert "年年年" in svg_of(drawing_of("年年年"), "a chart")


@pytest.mark.parametrize(("n_rows", "said"), [(40, False), (41, True), (200, True)])
def test_a_figure_says_so_where_it_does_not_show_all_rows(n_rows, said):
    caption = make_figure(drawing_of("feature"), "a chart", "Rows.", n_rows).caption
    assert (f"Only the 40 largest of {n_rows} are drawn." in caption) is said


def test_the_template_and_the_style_come_with_the_package():
    from importlib.resources import files

    for name in ("page.html.jinja", "style.css"):
        assert (files("stablepred.html") / name).is_file()
