"""Which classes a file may hold, and how objects are made again from their stored state.

The constructor is called with its parameters. Fitted attributes of estimators, whose names end in
"_", are set after that; classes of this package name theirs by annotations. Whatever is annotated
must have the type that its annotation says. Then the object checks itself (``check_stored``).
"""

import inspect
import re
import types
import typing
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from numbers import Real
from typing import Any, TypeVar, get_args, get_origin

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from stablepred.io import values

T = TypeVar("T", bound=type)
EMPTY = inspect.Parameter.empty

_KINDS: dict[Any, Any] = {None: types.NoneType, float: Real, Sequence: list | tuple | np.ndarray}
_classes: dict[str, type] = {}


def storable(cls: T) -> T:
    """Class decorator: allow objects of this class in model files.

    Its attributes are the parameters of its constructor; an estimator has fitted ones besides,
    which its class names by annotations.
    ``check_stored(self)``, if there is one, raises ValueError unless the object could have been
    fitted. Parameters about a run are named in ``not_stored``, and have a default.
    """
    _classes[cls.__name__] = cls
    return cls


def find_class(name: str) -> type | None:
    if name not in _classes:  # perhaps its module is not imported yet
        for face in map(import_module, ("stablepred", "stablepred.data", "stablepred.baselines")):
            for public in face.__all__:
                getattr(face, public)
    return _classes.get(name) or find_sklearn_class(name)


def check(model: Any) -> None:
    if find_sklearn_class(type(model).__name__) is type(model):
        check_sklearn_model(model)
    elif hasattr(model, "check_stored"):
        model.check_stored()


@cache
def _signature(cls: type) -> tuple[dict[str, inspect.Parameter], dict[str, Any]]:
    parameters = dict(inspect.signature(cls, eval_str=True).parameters)
    hints = {name: p.annotation for name, p in parameters.items() if p.annotation is not EMPTY}
    return parameters, typing.get_type_hints(cls) | hints


def build(cls: type, state: dict[str, Any]) -> Any:
    """Make an object of ``cls`` from its stored state, and check it."""
    parameters, hints = _signature(cls)
    not_stored = getattr(cls, "not_stored", ())
    parameters = {name: p for name, p in parameters.items() if name not in not_stored}
    own = find_sklearn_class(cls.__name__) is not cls
    state = {k: v for k, v in state.items() if k in parameters or not _is_retired(k, v, own)}
    given = {name: value for name, value in state.items() if name in parameters}
    fitted = {name: value for name, value in state.items() if name not in parameters}
    known = {*hints, "n_features_in_", "feature_names_in_"} if own else {*fitted}
    for name in fitted:  # of an estimator, and none that its class has already
        is_new = re.fullmatch(r"[a-z]\w*_", name) and not hasattr(cls, name)
        if not (is_new and name in known and issubclass(cls, BaseEstimator)):
            raise ValueError(f"{name[:40]!r} is no attribute of a {cls.__name__}")
    for name, value in state.items():
        if not conforms(value, hints.get(name, Any)):
            raise ValueError(f"{name} of a {cls.__name__} cannot be {values.brief(value)}")
    if lacking := {name for name, p in parameters.items() if p.default is EMPTY} - given.keys():
        raise ValueError(f"the {cls.__name__} lacks {sorted(lacking)}")
    result = cls(**given)
    for name, value in fitted.items():
        setattr(result, name, value)
    check(result)
    return result


def _is_retired(name: str, value: Any, own: bool) -> bool:
    """Whether an earlier version wrote what no prediction depends on any more."""
    if own:  # which of the features an encoder keeps: all
        return name == "overlap" or (name == "kept_" and bool(np.all(value)))
    return name in ("multi_class", "n_jobs", "penalty")


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value is of the annotated type, through unions and containers."""
    origin: Any = get_origin(hint) or hint
    arguments = get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, argument) for argument in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is Any or not (origin is None or isinstance(origin, type)):
        return True
    kind: Any = _KINDS.get(origin, origin)
    if not isinstance(value, kind):
        return False
    if origin is np.ndarray:  # NDArray[np.float64] and the like
        scalars = get_args(arguments[1]) if arguments else ()
        return all(issubclass(value.dtype.type, scalar) for scalar in scalars if scalar is not Any)
    if origin is dict and arguments:
        return all(all(map(conforms, pair, arguments)) for pair in value.items())
    if origin is tuple and arguments and arguments[1:] != (Ellipsis,):
        return len(value) == len(arguments) and all(map(conforms, value, arguments))
    parts = value.tolist() if isinstance(value, np.ndarray) else value
    return not arguments or all(conforms(part, arguments[0]) for part in parts)


# --- scikit-learn's estimators that a file may hold, and what makes them valid ---

_REGRESSORS = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"),
    *("BayesianRidge", "HuberRegressor", "QuantileRegressor", "SGDRegressor"),
)
# Where each class is defined.
SKLEARN_MODELS = {
    **dict.fromkeys([*_REGRESSORS, "LogisticRegression"], "sklearn.linear_model"),
    **dict.fromkeys(["LinearSVC", "LinearSVR"], "sklearn.svm"),
}


def find_sklearn_class(name: str) -> type | None:
    return getattr(import_module(SKLEARN_MODELS[name]), name) if name in SKLEARN_MODELS else None


def check_sklearn_model(model: Any) -> None:
    """Refuse parameters that scikit-learn refuses, and shapes that do not fit each other."""
    model._validate_params()
    if not values.is_fitted(model):
        return
    p = values.n_features(model)
    shapes: dict[str, values.Shape] = {"coef_": (p,), "intercept_": (1,)}
    if is_classifier(model):
        k = len(values.labels(model))
        functions = 1 if k == 2 else k
        shapes = {"coef_": (functions, p), "intercept_": (functions,)}
        if getattr(model, "solver", None) == "liblinear" and k > 2:
            raise ValueError("solver 'liblinear' has no more than two classes")
    for name, shape in shapes.items():
        # Single numbers and those of 32 bits are as good for scikit-learn.
        value = np.atleast_1d(values.attribute(model, name))
        wide = value.astype(np.float64) if value.dtype.kind == "f" else value
        values.check_numbers(wide, f"{name} of the {type(model).__name__}", shape)
    values.check_finite_sums("coef_", np.ravel(model.coef_), np.ravel(model.intercept_))
