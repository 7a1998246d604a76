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
    """Check the parameters by this table, and by the ``rules`` of the estimator's class."""
    for name, rule in (RULES | getattr(type(estimator), "rules", {})).items():
        if name in vars(estimator):
            rule(name, vars(estimator)[name])


def at_least(least: float, *, integer: bool = False) -> Rule:
    """A finite number, or an integer, that is at least ``least``."""
    kind, noun = (Integral, "an integer") if integer else (Real, "a finite number")

    def check(name: str, value: Any) -> None:
        if (
            isinstance(value, bool)
            or not isinstance(value, kind)
            or not least <= float(value) < np.inf
        ):
            raise InputError(f"{name} must be {noun} of at least {least}, but is {value!r}.")

    return check


def one_of(*allowed: Any) -> Rule:
    """One of the allowed values."""

    def check(name: str, value: Any) -> None:
        value = value.item() if isinstance(value, np.generic) else value
        if not any(type(value) is type(choice) and value == choice for choice in allowed):
            listed = ", ".join(map(repr, allowed))
            raise InputError(f"{name} must be one of {listed}, not {value!r}.")

    return check


def between(low: float, high: float) -> Rule:
    """A number strictly between two."""

    def check(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, Real) or not low < float(value) < high:
            raise InputError(
                f"{name} must lie strictly between {low:g} and {high:g}, but is {value!r}."
            )

    return check


def optional(rule: Rule) -> Rule:
    """None, or what a rule says."""
    return lambda name, value: None if value is None else rule(name, value)


def check_share(name: str, value: Any) -> None:
    """A share of the rows that is less than all of them."""
    at_least(0)(name, value)
    if value >= 1:
        raise InputError(
            f"{name} must be less than 1 (1 would make all weights equal), but is {value!r}."
        )


def check_number_or_auto(name: str, value: Any) -> None:
    """``"auto"`` or a number of at least 0."""
    (one_of("auto") if isinstance(value, str) else at_least(0))(name, value)


def check_cv(name: str, value: Any) -> None:
    """A number of folds, or splits if there are any; the rest is left to scikit-learn."""
    if isinstance(value, Real):
        at_least(2, integer=True)(name, value)
    elif isinstance(value, Sized) and len(value) == 0:
        raise InputError(NO_SPLITS)


def check_verbose(name: str, value: Any) -> None:
    """How much to report: a number of at least 0, or a boolean."""
    at_least(0)(name, int(value) if isinstance(value, bool | np.bool_) else value)


def check_hidden(name: str, value: Any) -> None:
    """The widths of layers."""
    listed = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    widths: list[Any] = list(value) if listed else []
    if not widths or not all(isinstance(width, Integral) and int(width) >= 1 for width in widths):
        raise InputError(
            f"{name} must name at least one layer by its number of units, an integer of at least "
            f"1, for example (10, 10), but is {value!r}."
        )


def check_path(name: str, value: Any) -> None:
    """Where a file can be written."""
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{name} must be a file path or None, but is {value!r}.")
    if not Path(value).parent.is_dir():
        raise InputError(
            f"{name} {value} cannot be written: there is no folder {Path(value).parent}."
        )


STRENGTHS = ("balance", "reconstruction", "weight_l2", "l2", "weight_sum", "network_l2")

RULES: dict[str, Rule] = {
    **dict.fromkeys((*STRENGTHS, "tol", "gamma", "adjustment"), at_least(0)),
    **dict.fromkeys(("bias_bound", "network_bound"), optional(at_least(0))),
    **dict.fromkeys(("fit_intercept", "standardize", "guard", "reduced"), one_of(True, False)),
    "l1": check_number_or_auto,
    "max_iter": at_least(1, integer=True),
    "verbose": check_verbose,
    "after": optional(at_least(1, integer=True)),
    "n_folds": at_least(2, integer=True),
    "cv": check_cv,
    "min_effective_share": check_share,
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
    "hidden": optional(check_hidden),
    "checkpoint": optional(check_path),
}
