"""Objects as JSON and arrays, and back.

Numbers, strings, booleans, None and lists are themselves; everything else is an object of JSON
with a tag: ``array``, ``strings``, ``float`` (one that is not finite), ``tuple``, ``dict``,
``frame`` or ``object`` (of a class registered with :func:`storable`, or of scikit-learn).
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from stablepred.exceptions import InputError
from stablepred.io.objects import build, conforms, find_class

Arrays = dict[str, np.ndarray]
DEEPEST = 32
# Bytes of all arrays of strings of fixed width together: one long string makes all of them wide.
FIXED_WIDTH = 1 << 20
Key = str | int | float
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """JSON for ``value``; its arrays are added to ``arrays``. Errors call it ``name``."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list):
        return [encode(item, f"{name}[{k}]", arrays) for k, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": encode(list(value), name, arrays)}
    if isinstance(value, dict):
        keys = [encode(key, f"{name}: a key", arrays) for key in value]
        items = [encode(item, f"{name}.{key}", arrays) for key, item in value.items()]
        return {"dict": [list(pair) for pair in zip(keys, items, strict=True)]}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biuf":
            while name in arrays:  # names with dots in them may collide
                name += "'"
            arrays[name] = np.asarray(value, order="C")
            return {"array": name}
        if value.ndim == 1 and all(isinstance(item, str) for item in value):
            return {"strings": [str(item) for item in value], "object": value.dtype == object}
        raise InputError(f"{name} cannot be stored: an array of {value.dtype}.")
    if isinstance(value, pd.DataFrame):
        # Columns of one type as one array, others as a list of arrays.
        whole = len(set(value.dtypes)) == 1 and value.to_numpy().dtype.kind in "biuf"
        columns = value.to_numpy() if whole else [value[column].to_numpy() for column in value]
        return {
            "frame": encode(list(value), name, arrays),
            "index": encode(value.index.to_list(), f"{name}.index", arrays),
            "values": encode(columns, name, arrays),
        }
    cls = type(value)
    private = any(key.startswith("_") for key in getattr(value, "__dict__", {}))
    if private or find_class(cls.__name__) is not cls:
        advice = "Set it to a plain value (an int for random_state or cv, say) before saving."
        if hasattr(value, "predict"):
            advice = "Store the fitted estimator_ alone: skops.io.dump(model.estimator_, path)."
        raise InputError(f"{name} is a {cls.__name__}, which needs pickle to be stored. {advice}")
    left = getattr(cls, "not_stored", ())
    stored = {key: item for key, item in vars(value).items() if key not in left}
    state = {key: encode(item, f"{name}.{key}", arrays) for key, item in stored.items()}
    return {"object": cls.__name__, "state": state}


# --- decoding ---


def decode_model(item: Any, arrays: Arrays) -> Any:
    """The object that :func:`encode` was given, checked."""
    if not isinstance(item, dict) or set(item) != {"object", "state"}:
        raise ValueError("what it holds is no object of this library")
    return decode(item, arrays)


def decode(item: Any, arrays: Arrays) -> Any:
    """Whatever :func:`encode` was given; every array must be used, and once."""
    left = dict(arrays)
    result = _decode(item, left, DEEPEST, [FIXED_WIDTH])
    if left:
        raise ValueError(f"nothing uses its array {next(iter(left))[:80]!r}")
    return result


def _decode(item: Any, arrays: Arrays, depth: int, room: list[int]) -> Any:
    """The value of a part; each array is taken out as it is used, and so is room for strings."""
    if not isinstance(item, list | dict):
        return item
    if not depth:
        raise ValueError(f"its parts are nested more than {DEEPEST} deep")

    def values(parts: Any, hint: Any = list) -> Any:
        is_list = isinstance(parts, list)
        found = [_decode(part, arrays, depth - 1, room) for part in parts] if is_list else None
        if not conforms(found, hint):
            raise ValueError(f"a {hint} was expected, but {str(parts)[:40]!r} found")
        return found

    if isinstance(item, list):
        return values(item)
    match sorted(item):
        case ["array"]:
            name = item["array"]
            if not isinstance(name, str) or name not in arrays:
                raise ValueError(f"array {str(name)[:80]!r} is missing, or used twice")
            return arrays.pop(name)
        case ["float"]:
            return NOT_FINITE[item["float"]]
        case ["tuple"]:
            return tuple(values(item["tuple"]))
        case ["dict"]:
            pairs = values(item["dict"], list[list[Any]])
            _check_keys([key for key, _ in pairs])
            return dict(pairs)
        case ["object", "strings"]:
            strings = values(item["strings"], list[str])
            if item["object"] is True:
                return np.array(strings, dtype=object)
            room[0] -= 4 * len(strings) * max(map(len, strings), default=0)
            if room[0] < 0:
                raise ValueError("its arrays of strings are too wide")
            return np.array(strings, dtype=str)
        case ["frame", "index", "values"]:
            names, index = values(item["frame"]), values(item["index"], list[Key])
            return _frame(names, index, _decode(item["values"], arrays, depth - 1, room))
        case ["object", "state"]:
            name, state = item["object"], item["state"]
            cls = find_class(name) if isinstance(name, str) else None
            if cls is None or not isinstance(state, dict):
                raise ValueError(f"it names an unknown class, {str(name)[:40]!r}, or lacks a state")
            parts = {k: _decode(part, arrays, depth - 1, room) for k, part in state.items()}
            return build(cls, parts)
    raise ValueError(f"it has a part with the unknown keys {sorted(item)[:10]}")


def _frame(names: list[Any], index: list[Any], values: Any) -> pd.DataFrame:
    _check_keys(names)
    shape = (len(index), len(names))
    if isinstance(values, np.ndarray) and values.shape == shape:
        return pd.DataFrame(values, index=index, columns=names, copy=False)
    fits = isinstance(values, list) and len(values) == len(names)
    if not fits or any(getattr(column, "shape", None) != shape[:1] for column in values):
        raise ValueError("a table does not fit its rows and columns")
    return pd.DataFrame(dict(zip(names, values, strict=True)), index=index, copy=False)


def _check_keys(keys: list[Any]) -> None:
    if not conforms(keys, list[Key]) or len(set(keys)) < len(keys):
        raise ValueError("a key is neither a string nor a number, or occurs twice")
