"""Objects as JSON and arrays, and back.

Numbers, texts, truth values, None and lists are themselves; everything else is an object of JSON
with a tag: ``array``, ``strings``, ``float`` (one that is not finite), ``tuple``, ``dict``,
``frame``, ``object`` (of a class registered with :func:`storable`) or ``sklearn``.
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from stablepred.exceptions import InputError
from stablepred.io.container import LARGEST_INTEGER, Arrays
from stablepred.io.inner_models import INNER_MODELS, RETIRED, inner_class
from stablepred.io.objects import built, not_stored, parameters_of, registered
from stablepred.io.rules import check

DEEPEST = 32
# Bytes of all arrays of texts of fixed width together: one long text makes all of them wide.
FIXED_WIDTH = 1 << 20
Key = str | int | float
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


# --- encoding ---


def encoded(value: Any, place: str, arrays: Arrays) -> Any:
    """JSON for ``value``; its arrays go to ``arrays``. ``place`` names it in errors."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if not -LARGEST_INTEGER <= value < LARGEST_INTEGER:
            raise InputError(f"{place} cannot be stored: an integer of more than 64 bits.")
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return _encoded_array(value, place, arrays)
    if isinstance(value, list | tuple):
        items = [encoded(item, f"{place}[{k}]", arrays) for k, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": _encoded_pairs(value, place, arrays)}
    if isinstance(value, pd.DataFrame):
        return _encoded_frame(value, place, arrays)
    return _encoded_object(value, place, arrays)


def _encoded_array(value: np.ndarray, place: str, arrays: Arrays) -> Any:
    if value.dtype.kind in "biuf":
        while place in arrays:  # names with dots in them may meet
            place += "'"
        arrays[place] = np.asarray(value, order="C")
        return {"array": place}
    if all(isinstance(item, str) for item in value.ravel()) and value.ndim == 1:
        return {"strings": [str(item) for item in value], "object": value.dtype == object}
    raise InputError(f"{place} cannot be stored: an array of {value.dtype}.")


def _encoded_frame(value: pd.DataFrame, place: str, arrays: Arrays) -> Any:
    """Columns of one type as one array, others one by one."""
    index = encoded(value.index.to_list(), f"{place}.index", arrays)
    kinds = set(value.dtypes)
    if len(kinds) == 1 and isinstance(only := kinds.pop(), np.dtype) and only.kind in "biuf":
        values = encoded(value.to_numpy(), place, arrays)
        return {"frame": encoded(list(value), place, arrays), "index": index, "values": values}
    columns = {name: value[name].to_numpy() for name in value}
    return {"frame": _encoded_pairs(columns, place, arrays), "index": index}


def _encoded_pairs(value: dict[Any, Any], place: str, arrays: Arrays) -> list[Any]:
    return [
        [encoded(key, f"{place}: a key", arrays), encoded(item, f"{place}.{key}", arrays)]
        for key, item in value.items()
    ]


def _encoded_object(value: Any, place: str, arrays: Arrays) -> Any:
    kind = type(value)
    inner = kind.__name__ in INNER_MODELS and inner_class(kind.__name__) is kind
    private = [key for key in getattr(value, "__dict__", {}) if key.startswith("_")]
    if private or (registered(kind.__name__) is not kind and not inner):
        raise InputError(
            f"{place} is a {kind.__module__}.{kind.__name__}, which cannot be stored without "
            "pickle. Set it to a plain value (an int for random_state or cv, say) before saving; "
            "for an inner model that has no plain state, keep its weights (sample_weight_) instead."
        )
    stored = {key: item for key, item in vars(value).items() if key not in not_stored(kind)}
    fields = {key: encoded(item, f"{place}.{key}", arrays) for key, item in stored.items()}
    return {"sklearn" if inner else "object": kind.__name__, "state": fields}


# --- decoding ---


def decoded(model: Any, arrays: Arrays) -> Any:
    """The object that :func:`encoded` was given, checked; every array must be used, and once."""
    if not isinstance(model, dict) or set(model) != {"object", "state"}:
        raise ValueError("what it holds is no object of this library")
    return decoded_value(model, arrays)


def decoded_value(item: Any, arrays: Arrays) -> Any:
    """Whatever :func:`encoded` was given; every array must be used, and once."""
    reader = _Reader(arrays)
    result = reader.value(item)
    if reader.arrays:
        raise ValueError(f"nothing uses its array {next(iter(reader.arrays))[:80]!r}")
    return result


class _Reader:
    """Walks through the JSON and takes each array out as it is met."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = dict(arrays)
        self.depth = 0
        self.fixed_width = 0

    def value(self, item: Any) -> Any:
        if isinstance(item, str):
            return _readable(item)
        if not isinstance(item, list | dict):
            return item
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError(f"its parts are nested more than {DEEPEST} deep")
        result = self._list(item) if isinstance(item, list) else self._tagged(item)
        self.depth -= 1
        return result

    def _tagged(self, item: dict[str, Any]) -> Any:
        read = READERS.get(frozenset(item))
        if read is None:
            raise ValueError(f"it has a part with the unknown keys {sorted(item)[:10]}")
        return read(self, item)

    def _list(self, items: Any) -> list[Any]:
        if not isinstance(items, list):
            raise ValueError(f"a list was expected, but {str(items)[:40]!r} found")
        return [self.value(item) for item in items]

    def _pairs(self, items: Any) -> dict[Key, Any]:
        """Keys with values, each key once."""
        result: dict[Key, Any] = {}
        for item in self._list(items):
            if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], Key):
                raise ValueError("a list of keys and values holds something else")
            if item[0] in result:
                raise ValueError(f"the key {str(item[0])[:40]!r} stands twice in one part of it")
            result[item[0]] = item[1]
        return result

    def array(self, item: dict[str, Any]) -> np.ndarray:
        name = item["array"]
        if not isinstance(name, str) or name not in self.arrays:
            raise ValueError(f"array {str(name)[:80]!r} is missing, or used twice")
        return self.arrays.pop(name)

    def strings(self, item: dict[str, Any]) -> np.ndarray:
        texts = self._list(item["strings"])
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a list of texts holds something else")
        if item["object"] is True:
            return np.array(texts, dtype=object)
        self.fixed_width += 4 * len(texts) * max(map(len, texts), default=0)
        if self.fixed_width > FIXED_WIDTH:
            raise ValueError("its arrays of texts are too wide")
        return np.array(texts, dtype=str)

    def not_finite(self, item: dict[str, Any]) -> float:
        return NOT_FINITE[item["float"]]

    def tuple_of(self, item: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self._list(item["tuple"]))

    def dictionary(self, item: dict[str, Any]) -> dict[Key, Any]:
        return self._pairs(item["dict"])

    def columns(self, item: dict[str, Any]) -> pd.DataFrame:
        columns, labels = self._pairs(item["frame"]), self._list(item["index"])
        for name, column in columns.items():
            if not isinstance(column, np.ndarray) or column.shape != (len(labels),):
                raise ValueError(f"column {str(name)[:40]!r} of a table does not fit its rows")
        return pd.DataFrame(columns, index=_labels(labels), copy=False)

    def matrix(self, item: dict[str, Any]) -> pd.DataFrame:
        names, labels = self._list(item["frame"]), self._list(item["index"])
        values = self.value(item["values"])
        if not isinstance(values, np.ndarray) or values.shape != (len(labels), len(names)):
            raise ValueError("a table does not fit its rows and columns")
        return pd.DataFrame(values, index=_labels(labels), columns=_labels(names), copy=False)

    def object_of(self, item: dict[str, Any]) -> Any:
        name = item["object"]
        cls = registered(name) if isinstance(name, str) else None
        return self._built(cls, name, item["state"])

    def inner_model(self, item: dict[str, Any]) -> Any:
        name = item["sklearn"]
        cls = inner_class(name) if isinstance(name, str) and name in INNER_MODELS else None
        state = item["state"]
        if cls is not None and isinstance(state, dict):
            known = parameters_of(cls)
            state = {key: state[key] for key in state if key in known or key not in RETIRED}
        return self._built(cls, name, state)

    def _built(self, cls: type | None, name: Any, state: Any) -> Any:
        if cls is None:
            raise ValueError(f"it names an unknown class, {str(name)[:40]!r}")
        if not isinstance(state, dict):
            raise ValueError(f"the state of a {name} is missing")
        result = built(cls, {key: self.value(item) for key, item in state.items()})
        check(result)
        return result


def _readable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the text {text[:40]!r} cannot be written as UTF-8") from None
    return text


def _labels(labels: list[Any]) -> list[Any]:
    if not all(isinstance(label, Key) for label in labels):
        raise ValueError("the names of a table are neither texts nor numbers")
    return labels


READERS = {
    frozenset(["array"]): _Reader.array,
    frozenset(["strings", "object"]): _Reader.strings,
    frozenset(["float"]): _Reader.not_finite,
    frozenset(["tuple"]): _Reader.tuple_of,
    frozenset(["dict"]): _Reader.dictionary,
    frozenset(["frame", "index"]): _Reader.columns,
    frozenset(["frame", "index", "values"]): _Reader.matrix,
    frozenset(["object", "state"]): _Reader.object_of,
    frozenset(["sklearn", "state"]): _Reader.inner_model,
}
