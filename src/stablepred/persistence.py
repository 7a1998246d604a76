"""Model files: one safetensors file, arrays as tensors, everything else as JSON in its header.

No pickle: reading a file runs no code from it. Only classes that registered themselves with
:func:`storable`, and scikit-learn's own estimators whose state is plain numbers, can be stored.
"""

import json
import math
import os
import secrets
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from sklearn.base import BaseEstimator
from sklearn.utils import all_estimators

from stablepred._version import __version__
from stablepred.exceptions import InputError, ModelFileError

FORMAT = 1
# The model in a folder, as ``stablepred fit`` writes it.
MODEL_FILE = "model.safetensors"

T = TypeVar("T", bound=type)

_classes: dict[str, type] = {}


def storable(cls: T) -> T:
    """Class decorator: allow objects of this class in model files."""
    _classes[cls.__name__] = cls
    return cls


class Storable:
    """Mixin: the method ``save`` of every estimator."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file (safetensors with a JSON header, no pickle).

        The file is complete or not there at all. Read it with :func:`stablepred.load`.
        """
        save(self, path)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write ``model`` to ``path``, completely or not at all."""
    arrays: dict[str, np.ndarray] = {}
    content = {
        "format": FORMAT,
        "stablepred": __version__,
        "model": _encode(model, type(model).__name__, arrays),
    }
    blob = to_bytes(arrays, metadata={"stablepred": json.dumps(content, allow_nan=False)})
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file for the model.")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as stream:
            stream.write(blob)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that was written with ``save``, from its file or its folder.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ModelFileError
        When the file is damaged, of another format, or no model file at all.
    """
    if Path(path).is_dir():
        path = Path(path) / MODEL_FILE
    if not Path(path).is_file():
        raise FileNotFoundError(f"no model file at {os.fspath(path)}")
    try:
        with safe_open(os.fspath(path), framework="np") as file:
            header = (file.metadata() or {}).get("stablepred")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(
            f"{os.fspath(path)} is not a stablepred model file: {error}"
        ) from error
    if header is None:
        raise ModelFileError(f"{os.fspath(path)} was not written by stablepred.")
    try:
        content = json.loads(header)
        if content["format"] != FORMAT:
            raise ModelFileError(
                f"{os.fspath(path)} has format {content['format']!r}, this version reads {FORMAT}. "
                f"It was written by stablepred {content.get('stablepred')!r}: install that version."
            )
        return _decode(content["model"], arrays)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{os.fspath(path)} is damaged: {error}") from error


def _encode(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    """JSON for ``value``; its arrays go to ``arrays``. ``place`` names it in errors."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, place, arrays)
    if isinstance(value, list | tuple):
        items = [_encode(item, f"{place}[{k}]", arrays) for k, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": [[key, _encode(value[key], f"{place}.{key}", arrays)] for key in value]}
    if isinstance(value, pd.DataFrame):
        columns = [
            [name, _encode(value[name].to_numpy(), f"{place}.{name}", arrays)] for name in value
        ]
        return {"frame": columns, "index": _encode(value.index.to_list(), f"{place}.index", arrays)}
    return _encode_object(value, place, arrays)


def _encode_array(value: np.ndarray, place: str, arrays: dict[str, np.ndarray]) -> Any:
    if value.dtype.kind in "biuf":
        arrays[place] = np.ascontiguousarray(value)
        return {"array": place}
    if all(isinstance(item, str) for item in value.ravel()) and value.ndim == 1:
        return {"strings": [str(item) for item in value], "object": value.dtype == object}
    raise InputError(f"{place} cannot be stored: an array of {value.dtype}.")


def _encode_object(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    name = type(value).__name__
    foreign = isinstance(value, BaseEstimator) and type(value).__module__.startswith("sklearn.")
    private = [key for key in getattr(value, "__dict__", {}) if key.startswith("_")]
    if private or (_classes.get(name) is not type(value) and not foreign):
        raise InputError(
            f"{place} is a {type(value).__module__}.{name}, which cannot be stored without pickle. "
            "Set it to a plain value (an int for random_state or cv, say) before saving; for an "
            "inner model that has no plain state, keep its weights (sample_weight_) instead."
        )
    fields = {key: _encode(item, f"{place}.{key}", arrays) for key, item in vars(value).items()}
    return {"sklearn" if foreign else "object": name, "state": fields}


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "strings" in value:
        return np.array(value["strings"], dtype=object if value["object"] else str)
    if "float" in value:
        return float(value["float"])
    if "tuple" in value:
        return tuple(_decode(item, arrays) for item in value["tuple"])
    if "dict" in value:
        return {key: _decode(item, arrays) for key, item in value["dict"]}
    if "frame" in value:
        columns = {name: _decode(item, arrays) for name, item in value["frame"]}
        return pd.DataFrame(columns, index=_decode(value["index"], arrays))
    return _decode_object(value, arrays)


def _decode_object(value: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    known = _classes if "object" in value else dict(all_estimators())
    name = str(value.get("object", value.get("sklearn")))
    if name not in known:
        raise ValueError(f"it names an unknown class, {name!r}.")
    result = object.__new__(known[name])
    for key, item in value["state"].items():
        object.__setattr__(result, key, _decode(item, arrays))
    return result
