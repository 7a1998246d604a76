import re
import xml.etree.ElementTree as ET
from importlib.resources import files

import numpy as np
import pytest
from html_reader import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from stablepred.html.charts import BASELINES, ROLES, Mark, Row, method_styles, row_chart
from stablepred.html.svg import WIDTH, Scale, element, mark, name_within, text_width

CSS = (files("stablepred.html") / "style.css").read_text(encoding="utf-8")
finite = st.floats(-1e6, 1e6).map(lambda v: round(v, 6))


def parsed(drawing):
    """The chart as XML, which is stricter than HTML."""
    root = ET.fromstring(drawing)
    assert root.tag == "svg"
    assert root.get("aria-label")
    assert root.get("viewBox").split()[2] == f"{WIDTH:g}"
    return root


def texts(root):
    return ["".join(t.itertext()) for t in root.iter("text")]


# --- elements and scales ---


def test_text_and_attributes_are_escaped_but_drawings_are_not():
    inner = element("tspan", "a < b & c")
    assert element("text", inner, x=1.0, class_='"x"') == (
        '<text x="1" class="&quot;x&quot;"><tspan>a &lt; b &amp; c</tspan></text>'
    )


@given(st.lists(finite, min_size=1, max_size=8))
def test_a_scale_holds_all_values_and_ends_at_ticks(values):
    scale = Scale.over(values, 10, 110)
    assert scale.ticks[0][0] == pytest.approx(scale.low, abs=1e-6 * scale.step)
    assert scale.ticks[-1][0] == pytest.approx(scale.high, abs=1e-6 * scale.step)
    assert 2 <= len(scale.ticks) <= 12
    slack = 1e-9 * max(1, *map(abs, values))
    assert scale.low - slack <= min(values)
    assert max(values) <= scale.high + slack
    assert scale(scale.low) == 10
    assert scale(scale.high) == pytest.approx(110)


def test_ticks_have_as_many_decimals_as_they_need():
    ticks = [tick for _, tick in Scale.over([0, 0.5], 0, 1).ticks]
    assert ticks == ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    assert Scale.over([-2000, 2000], 0, 1).ticks[0][1] == "−2,000"


def test_a_name_is_cut_to_its_room_whatever_its_letters():
    for name in ("w" * 60, "i" * 60, "年" * 60, "Mixed Case & more of it, and still more"):
        cut = name_within(name, 100)
        assert text_width(cut) <= 100
        assert cut != cut.whole


@pytest.mark.parametrize("shape", [shape for shape, _ in (*ROLES.values(), *BASELINES)])
def test_every_shape_can_be_drawn(shape):
    assert ET.fromstring(mark(shape, 5, 5, "c-model", "hint")).find("title").text == "hint"


# --- charts ---


def test_rows_show_values_intervals_and_names():
    rows = [Row("a & b", [Mark(0.2, "circle", "c-model", "0.2", 0.1, 0.3)]), Row("c", [])]
    root = parsed(row_chart(rows, "RMSE", "errors", reference=(0.25, "now")))
    assert {"a & b", "c", "RMSE", "now"} <= set(texts(root))
    (circle,) = root.iter("circle")
    (whisker,) = [n for n in root.iter("line") if "whisker" in n.get("class")]
    assert float(whisker.get("x1")) < float(circle.get("cx")) < float(whisker.get("x2"))
    assert whisker.get("y1") == circle.get("cy")


def test_a_mark_without_a_value_is_not_drawn():
    root = parsed(row_chart([Row("a", [Mark(np.nan, "circle", "c-model")])], "x", "d"))
    assert not list(root.iter("circle"))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_cannot_break_out_of_a_chart(name):
    rows = [Row(name, [Mark(1.0, "circle", "c-model", name)])]
    root = parsed(row_chart(rows, name, name, reference=(1.0, name)))
    assert {node.tag for node in root.iter()}.isdisjoint({"script", "img"})


def test_a_line_runs_through_the_marks_of_each_method():
    values = [(0.1, 0.4), (0.2, 0.3), (0.3, 0.2)]
    rows = [
        Row(f"r={k}", [Mark(v, "circle", "c-model") for v in row]) for k, row in enumerate(values)
    ]
    root = parsed(row_chart(rows, "RMSE", "errors", joined=True))
    lines = [[p.split(",") for p in n.get("points").split()] for n in root.iter("polyline")]
    marks = [[c.get("cx"), c.get("cy")] for c in root.iter("circle")]
    assert lines == [marks[::2], marks[1::2]]


def test_zero_is_on_the_scale_where_it_is_asked_for():
    rows = [Row("a", [Mark(0.9, "circle", "c-model")])]
    assert "0.0" in texts(parsed(row_chart(rows, "x", "d", zero=True)))
    assert "0.0" not in texts(parsed(row_chart(rows, "x", "d")))


# --- colours ---


def luminance(colour):
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def variables(block):
    return dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block))


LIGHT = variables(CSS.split("}")[0])
DARK = LIGHT | variables(CSS.split("prefers-color-scheme: dark")[1].split("}")[0])
METHOD_COLOURS = ("model", "lr", "constant", "oracle", "first", "second", "third", "fourth")


def test_methods_keep_their_colours_by_night():
    assert [LIGHT[name] for name in METHOD_COLOURS] == [DARK[name] for name in METHOD_COLOURS]
    assert LIGHT["page"] != DARK["page"]


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_stands_out_from_the_page(scheme):
    for name in METHOD_COLOURS:
        assert contrast(scheme[name], scheme["page"]) > 3, name
    for name in ("ink", "quiet", "accent"):
        assert contrast(scheme[name], scheme["page"]) > 4.5, name


def test_every_method_has_a_colour_and_a_shape_of_its_own():
    roles = {"m": "model", "LR": "LR", "c": "constant", "o": "oracle"}
    roles |= {f"b{k}": "baseline" for k in range(4)}
    styles = method_styles(roles)
    assert len(set(styles.values())) == len(roles)
    for _, colour in styles.values():
        assert f".{colour} {{ color: var(--" in CSS
