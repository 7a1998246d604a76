import re
import xml.etree.ElementTree as ET
from importlib.resources import files

import numpy as np
import pytest
from html_reader import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from stablepred.html import heatmap as heatmaps
from stablepred.html.charts import (
    Mark,
    Point,
    Row,
    Series,
    histogram,
    line_chart,
    row_chart,
    scatter_chart,
)
from stablepred.html.palette import BASELINES, MODEL, ROLES, method_styles
from stablepred.html.stability import order_environments
from stablepred.html.svg import WIDTH, element, mark, name_within, scale_over, text_width

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
    scale = scale_over(values, 10, 110)
    assert scale.ticks[0] == pytest.approx(scale.low, abs=1e-6 * scale.step)
    assert scale.ticks[-1] == pytest.approx(scale.high, abs=1e-6 * scale.step)
    assert 2 <= len(scale.ticks) <= 12
    slack = 1e-9 * max(1, *map(abs, values))
    assert scale.low - slack <= min(values)
    assert max(values) <= scale.high + slack
    assert scale(scale.low) == 10
    assert scale(scale.high) == pytest.approx(110)


def test_ticks_have_as_many_decimals_as_they_need():
    scale = scale_over([0, 0.5], 0, 1)
    assert [scale.tick_text(t) for t in scale.ticks] == ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    scale = scale_over([-2000, 2000], 0, 1)
    assert scale.tick_text(scale.ticks[0]) == "−2,000"


def test_a_name_is_cut_to_its_room_whatever_its_letters():
    for name in ("w" * 60, "i" * 60, "年" * 60, "Mixed Case & more of it, and still more"):
        cut = name_within(name, 100)
        assert text_width(cut.shown) <= 100
        assert cut.cut


@pytest.mark.parametrize("shape", [style.shape for style in (*ROLES.values(), *BASELINES)])
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
    rows = row_chart([Row(name, [Mark(1.0, "circle", "c-model", name)])], name, name)
    values = np.zeros((2, 2))
    point = Point(name, 0.1, 0.2, MODEL)
    for drawing in (
        rows,
        heatmaps.heatmap(values, [name, "b"], 1.0, name),
        scatter_chart([point], [], (name, name), name),
        line_chart([0, 1], [Series(name, [1, 2], MODEL)], (name, name), name),
    ):
        root = parsed(drawing)
        assert {node.tag for node in root.iter()}.isdisjoint({"script", "img"})


def test_a_line_has_its_band_and_its_marks():
    one = Series("a", [0.1, 0.2, 0.3], MODEL, [0.0, 0.1, 0.2], [0.2, 0.3, 0.4])
    root = parsed(line_chart([1, 2, 3], [one], ("r", "RMSE"), "lines", (2.5, "trained here")))
    assert len(list(root.iter("circle"))) == 3
    assert len(next(root.iter("polygon")).get("points").split()) == 6
    assert "trained here" in texts(root)


def test_a_long_line_has_no_marks():
    one = Series("a", [0.1] * 200, MODEL)
    root = parsed(line_chart(range(200), [one], ("r", "RMSE"), "lines"))
    assert not list(root.iter("circle"))


def test_names_in_a_scatter_plot_do_not_lie_on_each_other():
    rng = np.random.default_rng(0)
    points = [Point(f"method {k}", *rng.random(2), MODEL) for k in range(12)]
    points += [Point("same place", points[0].x, points[0].y, MODEL)]
    root = parsed(scatter_chart(points, [(0, 0), (1, 1)], ("x", "y"), "d"))
    boxes = []
    for node in root.iter("text"):
        if node.get("class") == "name":
            width = text_width(node.text)
            anchor = node.get("text-anchor", "start")
            left = float(node.get("x")) - {"start": 0, "middle": width / 2, "end": width}[anchor]
            boxes.append((left, float(node.get("y")), left + width))
    assert len(boxes) > 8
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or abs(a[1] - b[1]) >= 11


def test_bars_stand_for_their_shares():
    root = parsed(histogram([0.5, 0.25, 0.25], [0, 1, 2, 3], ("w", "%"), "d", (1.0, "mean 1")))
    heights = [float(bar.get("height")) for bar in root.iter("rect")]
    assert heights[0] == pytest.approx(2 * heights[1], rel=1e-3)
    assert heights[1] == heights[2]


def painted(root, p):
    """The matrix that a heatmap shows, read from its paths cell by cell."""
    cells = np.zeros((p, p))
    (group,) = [g for g in root.iter("g") if g.get("class") == "cells"]
    for path in group.iter("path"):
        sign = -1 if path.get("class") == "cold" else 1
        x, y = 0, 0
        for dx, dy, run in re.findall(r"m(-?\d+) (-?\d+)h(\d+)", path.get("d")):
            x, y = x + int(dx), y + int(dy)
            cells[y, x : x + int(run)] += sign * float(path.get("stroke-opacity"))
            x += int(run)
    return cells


@pytest.mark.parametrize("p", [1, 2, 7, 60])
def test_a_heatmap_shows_every_entry_in_its_shade(p):
    values = np.random.default_rng(p).uniform(-0.5, 0.5, (p, p))
    root = parsed(heatmaps.heatmap(values, [f"f{j}" for j in range(p)], 0.5, "d"))
    shade = 1 / heatmaps.SHADES
    np.testing.assert_allclose(painted(root, p), values / 0.5, atol=0.5 * shade + 0.01)


def test_a_heatmap_of_zeros_is_bare():
    root = parsed(heatmaps.heatmap(np.zeros((3, 3)), list("abc"), 0.0, "d"))
    assert not painted(root, 3).any()


def test_names_in_a_heatmap_never_crowd():
    root = parsed(heatmaps.heatmap(np.zeros((200, 200)), [f"f{j}" for j in range(200)], 1.0, "d"))
    assert 10 < len(texts(root)) < 70


# --- environments in order ---


def test_environments_that_count_something_stand_in_order():
    assert order_environments(["r=0.1", "r=0.5", "r = .9"]) is None
    assert order_environments(["r=0.1", "r=0.5", "r = 0.9"]) == ("r", [0.1, 0.5, 0.9])
    assert order_environments(["2019", "2020"]) == ("environment", [2019, 2020])
    assert order_environments(["r=1", "s=2"]) is None
    assert order_environments(["north", "south"]) is None


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
    assert len({(style.colour, style.shape) for style in styles.values()}) == len(roles)
    for style in styles.values():
        assert f".{style.colour} {{ color: var(--" in CSS
