"""The outcome column of a table: two values, one of which is called 1."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.io.save import storable
from stablepred.tables.messages import in_rows, listed, not_two_values, shorten
from stablepred.tables.types import BOOLEANS, NUMBER, Categories, format_value, to_categories


@storable
@dataclass(frozen=True)
class Target:
    """Which column is the outcome, and which of its two values is 1."""

    name: str
    negative: str
    positive: str

    def encode(self, column: pd.Series) -> NDArray[np.int64]:
        """The outcome as 0/1; any third value, or none, is an error."""
        found = _classes(column)
        odd = [value for value in found.values if value not in (self.negative, self.positive)]
        if odd:
            raise InputError(
                f"target {str(column.name)!r} must be {self.negative!r} or {self.positive!r} as in "
                f"training, but has {_examples(odd)}. Recode it, or name another target."
            )
        ones = np.array([value == self.positive for value in found.values], dtype=np.int64)
        return ones[found.codes]

    def decode(self, positive: NDArray[np.bool_]) -> NDArray[np.object_]:
        """Predictions as the values that the column has."""
        return np.array([self.negative, self.positive], dtype=object)[positive.astype(np.intp)]

    def check_stored(self) -> None:
        """Raise ValueError unless there are two values."""
        if self.negative == self.positive:
            raise ValueError("the two values of a target must differ")


def learn_target(column: pd.Series, positive: str | None = None) -> Target:
    """The two values of an outcome; the last in sorted order is 1, unless ``positive`` says so."""
    name = str(column.name)
    values = sorted(_classes(column).values, key=lambda value: (_number(value), value))
    if len(values) != 2:
        few = "only one value" if len(values) == 1 else f"{len(values):,} different values"
        raise not_two_values(name, few, [_examples(values)])
    if positive is not None:
        wanted = _canonical(positive.strip())
        if wanted not in values:
            raise InputError(
                f"the positive value {positive!r} is not in target {name!r}, which has "
                f"{_examples(values)}."
            )
        values.sort(key=lambda value: value == wanted)
    return Target(name, *values)


def _classes(column: pd.Series) -> Categories:
    """The values of an outcome, none missing: 1.0 and 1 are the same, and so are TRUE and True."""
    found = to_categories(column)
    if found.missing.any():
        rows = np.flatnonzero(found.missing)
        raise InputError(
            f"target {str(column.name)!r} is missing in {in_rows(len(rows))} (the first is data "
            f"row {rows[0] + 1}). Fill it in, or remove such rows."
        )
    index, values = pd.factorize(np.array([*map(_canonical, found.values)], object), sort=True)
    return Categories(values.tolist(), index[found.codes])


def _canonical(value: str) -> str:
    if value.lower() in BOOLEANS:
        return value.capitalize()
    if re.fullmatch(r"[+-]?\d+", value, re.ASCII):  # more digits than a float has are kept
        return str(int(value)) if len(value) < 1000 else value
    return format_value(_number(value)) or value if _is_number(value) else value


def _is_number(value: str) -> bool:
    return re.match(NUMBER["point"], value, re.ASCII) is not None


def _number(value: str) -> float:
    return float(value) if _is_number(value) else 0.0


def _examples(values: list[str]) -> str:
    return listed([repr(shorten(value)) for value in values], 5)
