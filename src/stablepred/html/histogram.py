"""A distribution as bars."""

from collections.abc import Sequence

from stablepred.html.svg import (
    WIDTH,
    Drawing,
    chart,
    element,
    line,
    scale_over,
    text,
    x_axis,
    y_axis,
)
from stablepred.html.text import number, percent

HEIGHT = 240.0
LEFT, RIGHT, TOP, BOTTOM = 42.0, WIDTH - 14, 30.0, HEIGHT - 40


def histogram(
    shares: Sequence[float],
    edges: Sequence[float],
    titles: tuple[str, str],
    description: str,
    reference: tuple[float, str],
) -> Drawing:
    """Shares of a whole between ``edges``, as bars.

    Parameters
    ----------
    shares : sequence of float
        One per bin.
    edges : sequence of float
        One more than bins.
    titles : (str, str)
        Of the horizontal and of the vertical axis.
    description : str
        What a screen reader says.
    reference : (float, str)
        A value to mark, and its name.
    """
    across = scale_over(edges, LEFT, RIGHT)
    up = scale_over([0.0, *(100 * share for share in shares)], BOTTOM, TOP, 4)
    parts = [*y_axis(up, LEFT, RIGHT, titles[1]), *x_axis(across, BOTTOM, BOTTOM, titles[0])]
    for share, low, high in zip(shares, edges[:-1], edges[1:], strict=True):
        left, right, top = across(low), across(high), up(100 * share)
        hint = f"{percent(share, 1)} between {number(low, 2)} and {number(high, 2)}"
        bar = {"x": left + 0.4, "y": top, "width": right - left - 0.8, "height": BOTTOM - top}
        parts.append(element("rect", element("title", hint), **bar, class_="bar c-model"))
    x = across(reference[0])
    parts.append(line(x, TOP, x, BOTTOM, "zero"))
    parts.append(text(x + 4, TOP + 10, reference[1], "start", "tick"))
    return chart(HEIGHT, parts, description)
