"""Which classes may stand in a file, and how objects come back from their stored state.

The constructor is called with its parameters. Fitted attributes of estimators, whose names end in
"_", are set after that. Whatever is annotated must have the type that its annotation says.
"""

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from numbers import Real
from typing import Any, TypeVar, get_args, get_origin

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from stablepred.io.values import brief

T = TypeVar("T", bound=type)

_classes: dict[str, type] = {}


def storable(cls: T) -> T:
    """Class decorator: allow objects of this class in model files.

    Its attributes are the parameters of its constructor (a dataclass, say); an estimator has fitted
    attributes besides. A class with more to say about what is valid than the types of its
    parameters has a method ``check_stored``, which raises ValueError. Parameters that are about
    a run and not about the model are named in ``not_stored``, and have a default.
    """
    _classes[cls.__name__] = cls
    return cls


def registered(name: str) -> type | None:
    """The class that was registered under this name."""
    if name not in _classes:  # perhaps its module is not imported yet
        for face in map(import_module, ("stablepred", "stablepred.data")):
            for public in face.__all__:
                getattr(face, public)
    return _classes.get(name)


def not_stored(cls: type) -> tuple[str, ...]:
    """Parameters that have no place in a file."""
    return getattr(cls, "not_stored", ())


@cache
def parameters_of(cls: type) -> Mapping[str, inspect.Parameter]:
    """The parameters of a class's constructor."""
    return inspect.signature(cls, eval_str=True).parameters


@cache
def hints_of(cls: type) -> Mapping[str, Any]:
    """The annotated attributes of a class."""
    return typing.get_type_hints(cls)


def built(cls: type, state: dict[str, Any]) -> Any:
    """An object of ``cls`` from its stored state."""
    parameters = {
        name: parameter
        for name, parameter in parameters_of(cls).items()
        if name not in not_stored(cls)
    }
    given = {name: value for name, value in state.items() if name in parameters}
    fitted = {name: value for name, value in state.items() if name not in parameters}
    _check_names(cls, fitted)
    _check_types(cls, given, {name: p.annotation for name, p in parameters.items()})
    _check_types(cls, fitted, hints_of(cls))
    missing = [
        name
        for name, parameter in parameters.items()
        if name not in given and parameter.default is inspect.Parameter.empty
    ]
    if missing:
        raise ValueError(f"the {cls.__name__} lacks {missing}")
    result = cls(**given)
    for name, value in fitted.items():
        setattr(result, name, value)
    return result


def _check_names(cls: type, fitted: dict[str, Any]) -> None:
    """Fitted attributes only: nothing private, and nothing that the class has already."""
    for name in fitted:
        own = issubclass(cls, BaseEstimator) and name.endswith("_") and name.isidentifier()
        if not own or name.startswith("_") or hasattr(cls, name):
            raise ValueError(f"{name[:40]!r} is no attribute of a {cls.__name__}")


def _check_types(cls: type, given: dict[str, Any], hints: Mapping[str, Any]) -> None:
    for name, value in given.items():
        hint = hints.get(name, inspect.Parameter.empty)
        if hint is not inspect.Parameter.empty and not conforms(value, hint):
            raise ValueError(f"{name} of a {cls.__name__} cannot be {brief(value)}")


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value is of the annotated type, through unions and containers."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, argument) for argument in arguments)
    if origin is typing.Literal:
        return value in arguments
    check = _CHECKS.get(origin or hint)
    if check is not None:
        return check(value, arguments)
    return not isinstance(hint, type) or isinstance(value, hint)


def _sequence(*kinds: type[Any]) -> Callable[[Any, tuple[Any, ...]], bool]:
    def check(value: Any, arguments: tuple[Any, ...]) -> bool:
        if not isinstance(value, kinds):
            return False
        parts = value.tolist() if isinstance(value, np.ndarray) else list(value)
        if kinds == (tuple,) and arguments and arguments[1:] != (Ellipsis,):
            return len(parts) == len(arguments) and all(map(conforms, parts, arguments))
        return all(conforms(part, item) for part in parts for item in arguments[:1])

    return check


def _mapping(value: Any, arguments: tuple[Any, ...]) -> bool:
    key, item = arguments or (Any, Any)
    return isinstance(value, dict) and all(
        conforms(name, key) and conforms(part, item) for name, part in value.items()
    )


def _array(value: Any, arguments: tuple[Any, ...]) -> bool:
    """``NDArray[np.float64]`` and the like."""
    if not isinstance(value, np.ndarray):
        return False
    scalar = get_args(arguments[1])[:1] if len(arguments) > 1 else ()
    return all(not isinstance(kind, type) or issubclass(value.dtype.type, kind) for kind in scalar)


_CHECKS: dict[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    Any: lambda value, arguments: True,
    None: lambda value, arguments: value is None,
    types.NoneType: lambda value, arguments: value is None,
    float: lambda value, arguments: isinstance(value, Real),
    list: _sequence(list),
    tuple: _sequence(tuple),
    Sequence: _sequence(list, tuple, np.ndarray),
    dict: _mapping,
    np.ndarray: _array,
    pd.DataFrame: lambda value, arguments: isinstance(value, pd.DataFrame),
}
