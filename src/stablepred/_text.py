"""Numbers and names as strings: compact, a dash for what is missing, harmless on a page."""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest

MINUS = "−"
MISSING = "–"

WHOLE = 300  # a longer name is cut even where the whole of it is shown on hovering
# Marks that turn the direction of what follows, on the page as in the name.
DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Label(str):
    """A name as shown; on a page the ``whole`` of it appears on hovering."""

    __slots__ = ("whole",)
    whole: str

    def __html__(self) -> str:
        shown = escape(self)
        return shown if self == self.whole else f'<span title="{escape(self.whole)}">{shown}</span>'


def label(name: object, width: int = 28) -> Label:
    """A name cut in the middle to ``width`` characters, since names often differ at their end."""
    text = printable(str(name)) or "(no name)"
    head = (width - 1) * 2 // 3
    fits = len(text) <= width
    found = Label(text if fits else f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}")
    found.whole = text if len(text) <= WHOLE else text[: WHOLE - 1] + "…"
    return found


def labels(names: Iterable[object], width: int = 28) -> list[Label]:
    """Names cut to a width; those that would look alike, after the beginning they share."""
    texts = [str(name) for name in names]
    found = [label(text, width) for text in texts]
    for shown in [shown for shown, times in Counter(found).items() if times > 1]:
        alike = [k for k, one in enumerate(found) if one == shown]
        letters = zip_longest(*(texts[k] for k in alike))
        start = next((k for k, these in enumerate(letters) if len(set(these)) > 1), -1)
        for k in alike if start >= 0 else ():
            whole = found[k].whole
            found[k] = label(f"…{texts[k][max(0, start - 4) :]}", width)
            found[k].whole = whole
    return found


def printable(text: str) -> str:
    """The text without control characters, lone surrogates and marks that turn its direction."""
    return "".join(
        "\ufffd" if c in DIRECTIONS or unicodedata.category(c) in ("Cc", "Cs") else c for c in text
    )


def number(value: float, decimals: int = 3) -> str:
    """A number with a fixed number of decimals; a dash if it is not finite."""
    if not math.isfinite(value):
        return MISSING
    return f"{value:z,.{decimals}f}".replace("-", MINUS)


def signed(value: float) -> str:
    text = number(value)
    return f"+{text}" if value > 0 and text.strip("0.,–") else text


def percent(value: float, decimals: int = 0) -> str:
    return MISSING if not math.isfinite(value) else f"{number(100 * value, decimals)} %"


def interval(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"


ERRORS = {
    "rmse": "RMSE",
    "log_loss": "log loss",
    "zero_one": "zero-one error",
    "brier": "Brier score",
}


def error_name(error: str) -> str:
    return ERRORS.get(error) or label(error)


def count_noun(count: int, singular: str) -> str:
    return f"{count:,} {singular if count == 1 else singular + 's'}"


def join_words(words: Sequence[str], most: int = 5) -> str:
    """Words as a list in a sentence; many are cut to the first ones and a count."""
    if len(words) > most:
        return ", ".join(words[:most]) + f" and {len(words) - most} more"
    return " and ".join([*[", ".join(words[:-1])] * (len(words) > 1), *words[-1:]])
