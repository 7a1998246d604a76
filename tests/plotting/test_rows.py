import re
from importlib.resources import files
from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from stablepred.html.page import NEUTRAL
from stablepred.plotting.rows import (
    BASELINES,
    NAME_WIDTH,
    ROLES,
    Display,
    Marks,
    draw_rows,
    method_looks,
)

mpl.use("Agg")
CSS = (files("stablepred.html") / "style.css").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def boxes(display, artists):
    """Where texts end up on the drawn figure, in pixels."""
    display.figure_.canvas.draw()
    return [artist.get_window_extent() for artist in artists]


def overlap(one, other):
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1


# --- names ---


def test_forty_long_names_do_not_touch_each_other_or_the_marks():
    names = [f"marital-status=Married-civ-spouse {k}" for k in range(40)]
    display = draw_rows(
        Display(), None, names, [Marks("m", np.linspace(0, 1, 40), ("o", "C0"))], "x"
    )
    shown = display.ax_.get_yticklabels()
    assert len({text.get_text() for text in shown}) == 40
    assert max(len(text.get_text()) for text in shown) <= NAME_WIDTH
    found = boxes(display, shown)
    for above, below in pairwise(found):
        assert not overlap(above, below)
    assert max(box.x1 for box in found) < display.ax_.get_window_extent().x0
    assert min(box.x0 for box in found) >= 0


@pytest.mark.parametrize(
    "span", [(0.246, 0.603), (0.27199, 0.27231), (-2e3, 2e3), (0, 9e-4), (0, 6e10), (1, 1)]
)
def test_numbers_along_the_scale_do_not_overlap(span):
    display = draw_rows(Display(), None, ["a", "b"], [Marks("m", span, ("o", "C0"))], "x")
    display.figure_.set_size_inches(380 / 72, 2)
    found = [box for box in boxes(display, display.ax_.get_xticklabels()) if box.width]
    assert len(found) >= 3
    assert not any(overlap(a, b) for a, b in pairwise(found))


# --- marks ---


def test_rows_run_from_top_to_bottom_with_a_mark_each_and_none_where_there_is_no_value():
    display = draw_rows(
        Display(), None, ["a", "b", "c"], [Marks("m", [1, np.nan, 3], ("o", "C0"))], "x"
    )
    (line,) = display.ax_.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [1, np.nan, 3])
    heights = line.get_ydata()
    assert list(heights) == sorted(heights)
    assert display.ax_.yaxis_inverted()


def test_the_legend_names_all_methods_whatever_their_letters():
    names = ["_private", "cost in $ and $", "<b>"]
    series = [Marks(name, [k], ("o", "C0")) for k, name in enumerate(names)]
    display = draw_rows(Display(), None, ["row"], series, "x")
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == names
    display.figure_.canvas.draw()  # no formula is looked for in names


def test_the_first_series_lies_on_top():
    series = [Marks(name, [0], ("o", "C0")) for name in "abc"]
    display = draw_rows(Display(), None, ["row"], series, "x")
    depths = [line.get_zorder() for line in display.ax_.get_lines()]
    assert depths == sorted(depths, reverse=True)


def test_given_axes_are_drawn_on_and_their_figure_keeps_its_size():
    figure, ax = plt.subplots(figsize=(3, 2))
    display = draw_rows(Display(), ax, list("abcdefgh"), [Marks("m", range(8), ("o", "C0"))], "x")
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert list(figure.get_size_inches()) == [3, 2]


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


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_stands_out_from_the_page(scheme):
    for _, colour in [*ROLES.values(), *BASELINES]:
        assert contrast(colour, scheme["page"]) > 3, colour
    for name in ("ink", "quiet", "accent"):
        assert contrast(scheme[name], scheme["page"]) > 4.5, name


def test_figures_are_drawn_in_the_colours_that_the_page_replaces():
    assert {name: colour for colour, name in NEUTRAL.items()}.items() <= LIGHT.items()


def test_every_method_has_a_colour_and_a_shape_of_its_own():
    roles = {"m": "model", "LR": "LR", "c": "constant", "o": "oracle"}
    roles |= {f"b{k}": "baseline" for k in range(4)}
    assert len(set(method_looks(roles).values())) == len(roles)
