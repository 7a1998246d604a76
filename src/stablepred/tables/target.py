"""The outcome column of a table: two values, one of which is called 1; classes; or a number."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._text import count_noun
from stablepred.exceptions import InputError
from stablepred.io.save import storable
from stablepred.tables import types
from stablepred.tables.columns import STYLES, check_size
from stablepred.tables.messages import listed, not_two_values, shorten
from stablepred.tables.types import BOOLEANS, NUMBER, Mask

MOST_LEVELS, MOST_CLASSES = 20, 30  # more different numbers than levels are an amount
WHOLE = r"[+-]?\d+"


@storable
@dataclass(frozen=True)
class Target:
    """Which column is the outcome, and which of its two values is 1."""

    name: str
    negative: str
    positive: str

    def encode(self, column: pd.Series) -> NDArray[np.int64]:
        values = _check_known(column, [self.negative, self.positive])
        return (values == self.positive).astype(np.int64)

    def check_stored(self) -> None:
        if self.negative == self.positive:
            raise ValueError("the two values of a target must differ")


@storable
@dataclass(frozen=True)
class ClassTarget:
    """Which column is the outcome, and its values, of which there are more than two."""

    name: str
    values: list[str]

    def encode(self, column: pd.Series) -> NDArray[np.object_]:
        return _check_known(column, self.values)

    def check_stored(self) -> None:
        if len(set(self.values)) < max(3, len(self.values)):
            raise ValueError("the values of a target must differ, and be three or more")


@storable
@dataclass(frozen=True)
class NumberTarget:
    """Which column is the outcome, and how its numbers are written."""

    name: str
    style: str

    def encode(self, column: pd.Series) -> NDArray[np.float64]:
        found = types.read_numbers(column, self.style)
        check_size(found.values, str(column.name))
        if not found.finite.all():
            raise missing_target(str(column.name), ~found.finite, found.example)
        return found.values

    def check_stored(self) -> None:
        if self.style not in STYLES:
            raise ValueError(f"the style of the target must be one of {STYLES}")


AnyTarget = Target | ClassTarget | NumberTarget


def learn_target(
    column: pd.Series, positive: str | None = None, *, number: bool | None = None
) -> AnyTarget:
    """What an outcome is: two values, more classes, or a number.

    Of two values the last in sorted order is 1, unless ``positive`` says so. A number is what has
    more than `MOST_LEVELS` different numbers, or numbers that are not whole; or what ``number``
    says is one.
    """
    name = str(column.name)
    if number:
        return _learn_number(column)
    values = sorted(_classes(column)[1], key=lambda value: (_number(value) or 0.0, value))
    if number is None and positive is None and len(values) > 2 and _are_amounts(values, column):
        return _learn_number(column)
    if len(values) > MOST_CLASSES and positive is None:
        raise InputError(
            f"target {name!r} has {len(values):,} different values, more than {MOST_CLASSES} "
            f"classes: {_examples(values)}. Combine rare ones, or name another target."
        )
    if len(values) < 2 or (len(values) > 2 and positive is not None):
        few = "only one value" if len(values) == 1 else f"{len(values):,} different values"
        raise not_two_values(name, few, _examples(values))
    if len(values) > 2:
        return ClassTarget(name, values)
    if positive is not None:
        wanted = _canonical(positive.strip())
        if wanted not in values:
            raise InputError(
                f"the positive value {positive!r} is not in target {name!r}, which has "
                f"{_examples(values)}."
            )
        values.sort(key=lambda value: value == wanted)
    return Target(name, *values)


def is_missing(column: pd.Series) -> Mask:
    return types.to_text(column).missing


def _are_amounts(values: list[str], column: pd.Series) -> bool:
    numbers = [value for value in values if any(re.match(p, value) for p in NUMBER.values())]
    if isinstance(column.dtype, pd.CategoricalDtype) or 2 * len(numbers) < len(values):
        return False
    return len(values) > MOST_LEVELS or not all(re.fullmatch(WHOLE, value) for value in numbers)


def _learn_number(column: pd.Series) -> NumberTarget:
    name, style = str(column.name), "point"
    if types.check_kind(column) == "text":
        text = types.to_text(column)
        style = types.find_style(text)
        types.check_style(text, style, name)
    target = NumberTarget(name, style)
    if np.ptp(target.encode(column)) == 0:
        raise not_two_values(name, "only one value", _examples(_classes(column)[1]))
    return target


def _classes(column: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """For each row the index of its value, and the values: 1.0 and 1, TRUE and True are one."""
    text = types.to_text(column)
    if text.missing.any():
        raise missing_target(str(column.name), text.missing)
    index, values = pd.factorize(np.array([*map(_canonical, text.values)], object), sort=True)
    return index[text.codes], values.tolist()


def _check_known(column: pd.Series, known: list[str]) -> NDArray[np.object_]:
    codes, values = _classes(column)
    if odd := [value for value in values if value not in known]:
        wanted = " or ".join(map(repr, known)) if len(known) == 2 else f"among {_examples(known)}"
        raise InputError(
            f"target {str(column.name)!r} must be {wanted} as in training, but has "
            f"{_examples(odd)}. Recode it, leave such rows out, or name another target."
        )
    return np.array(values, dtype=object)[codes]


def missing_target(name: str, rows: Mask, example: str = "", how: str = "") -> InputError:
    found = f"is {shorten(example)!r}, no finite number, or missing" if example else "is missing"
    advice = f"leave such rows out{how}" if how else "delete such rows"
    return InputError(
        f"target {name!r} {found} in {count_noun(int(rows.sum()), 'row')} (the first is data row "
        f"{int(np.argmax(rows)) + 1}). Fill it in, or {advice}."
    )


def _canonical(value: str) -> str:
    if value.lower() in BOOLEANS:
        return value.capitalize()
    if re.fullmatch(WHOLE, value, re.ASCII):  # more digits than a float has are kept
        return str(int(value)) if len(value) < 1000 else value
    number = _number(value)
    return value if number is None else types.format_value(number) or value


def _number(value: str) -> float | None:
    return float(value) if re.match(NUMBER["point"], value, re.ASCII) else None


def _examples(values: Sequence[str]) -> str:
    return listed([repr(shorten(value)) for value in values], 5)
