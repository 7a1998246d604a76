"""What the parameters of all estimators must be: one table, by name."""

import os
from collections.abc import Callable, Sequence, Sized
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from stablepred.exceptions import InputError

Rule = Callable[[str, Any], Any]
NO_SPLITS = "cv has no splits. Pass a number of folds of at least 2, a splitter or some splits."


def check_parameters(estimator: Any) -> None:
    for name, rule in (RULES | getattr(type(estimator), "rules", {})).items():
        if name in vars(estimator):
            rule(name, vars(estimator)[name])


def _rule(what: str, is_met: Callable[[Any], bool]) -> Rule:
    def check(name: str, value: Any) -> None:
        if not is_met(value):
            raise InputError(f"{name} must {what}, but is {value!r}.")

    return check


def _is_number(value: Any, kind: type = Real) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def at_least(least: float, *, integer: bool = False) -> Rule:
    kind, noun = (Integral, "an integer") if integer else (Real, "a finite number")
    return _rule(
        f"be {noun} of at least {least}",
        lambda value: _is_number(value, kind) and least <= float(value) < np.inf,
    )


def one_of(*allowed: Any) -> Rule:
    def is_allowed(value: Any) -> bool:
        value = value.item() if isinstance(value, np.generic) else value
        return any(type(value) is type(choice) and value == choice for choice in allowed)

    return _rule(f"be one of {', '.join(map(repr, allowed))}", is_allowed)


def between(low: float, high: float) -> Rule:
    return _rule(
        f"lie strictly between {low:g} and {high:g}",
        lambda value: _is_number(value) and low < float(value) < high,
    )


def optional(rule: Rule) -> Rule:
    return lambda name, value: None if value is None else rule(name, value)


def _check_share(name: str, value: Any) -> None:
    at_least(0)(name, value)
    _rule("be less than 1 (1 would make all weights equal)", lambda share: share < 1)(name, value)


def _check_l1(name: str, value: Any) -> None:
    (one_of("auto") if isinstance(value, str) else at_least(0))(name, value)


def _check_verbose(name: str, value: Any) -> None:
    at_least(0)(name, int(value) if isinstance(value, bool | np.bool_) else value)


def _check_cv(name: str, value: Any) -> None:
    """A number of folds, or splits if there are any; the rest is left to scikit-learn."""
    if isinstance(value, Real):
        at_least(2, integer=True)(name, value)
    elif isinstance(value, Sized) and len(value) == 0:
        raise InputError(NO_SPLITS)


def _are_widths(value: Any) -> bool:
    listed = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    return (
        listed and len(value) > 0 and all(_is_number(one, Integral) and one >= 1 for one in value)
    )


def _check_path(name: str, value: Any) -> None:
    _rule("be a file path or None", lambda path: isinstance(path, str | os.PathLike))(name, value)
    if not (folder := Path(value).parent).is_dir():
        raise InputError(f"{name} {value} cannot be written: there is no folder {folder}.")


STRENGTHS = ("balance", "reconstruction", "weight_l2", "l2", "weight_sum", "network_l2")

RULES: dict[str, Rule] = {
    **dict.fromkeys((*STRENGTHS, "tol", "gamma", "adjustment"), at_least(0)),
    **dict.fromkeys(("bias_bound", "network_bound"), optional(at_least(0))),
    **dict.fromkeys(("fit_intercept", "standardize", "guard", "reduced"), one_of(True, False)),
    "l1": _check_l1,
    "max_iter": at_least(1, integer=True),
    "verbose": _check_verbose,
    "after": optional(at_least(1, integer=True)),
    "n_folds": at_least(2, integer=True),
    "cv": _check_cv,
    "min_effective_share": _check_share,
    "radius": between(0, np.inf),
    "level": between(0, 1),
    "device": one_of("auto", "cpu", "cuda"),
    "dichotomize": one_of(None, "mean", "median"),
    "strategy": one_of("mean", "median"),
    "order": one_of(1, 2),
    "solver": one_of("sequential", "alternating", "alternating-random"),
    "refit": one_of("auto", False, "weighted"),
    "head": one_of("auto", "features", "embedding"),
    "divergence": one_of("chi2", "cvar", "kl"),
    "hidden": optional(_rule("name at least one layer by its width, as (10, 10)", _are_widths)),
    "checkpoint": optional(_check_path),
}
