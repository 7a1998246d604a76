"""The methods of the command line by name, and how their parameters are set."""

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.linear_model import LogisticRegression

import stablepred as sp
from stablepred.cli.options import Method
from stablepred.cli.screen import parse_value
from stablepred.exceptions import InputError
from stablepred.tables.messages import nearest

METHODS: dict[Method, Callable[[int], Any]] = {
    "stable": lambda seed: sp.StableClassifier(random_state=seed),
    "lr": lambda seed: LogisticRegression(),
    "dlr": lambda seed: sp.DLRClassifier(random_state=seed),
    "gbr": lambda seed: sp.GBRClassifier(random_state=seed),
    "dgbr": lambda seed: sp.DGBRClassifier(random_state=seed),
    "dgbr-paper": lambda seed: sp.DGBRClassifier.from_paper(random_state=seed),
}


def set_parameters(estimator: Any, settings: Sequence[str]) -> None:
    """Set parameters from strings ``name=value``."""
    known = parameter_options(estimator)
    for entry in settings:
        name, equals, text = (part.strip() for part in entry.partition("="))
        if not equals:
            raise InputError(f"--set takes name=value, but was given {entry!r}.")
        if name not in known:
            raise InputError(
                f"{type(estimator).__name__} has no parameter {name!r} to set. "
                f"{nearest(name, [*known])}It has: {', '.join(sorted(known))}."
            )
        estimator.set_params(**{name: parse_value(text)})


def parameter_options(estimator: Any, *others: Method) -> dict[str, str]:
    """For each parameter the option that sets it, of other methods too."""
    found: dict[str, str] = {}
    for method in reversed(others):
        found |= dict.fromkeys(
            METHODS[method](0).get_params(deep=False), f"--method {method} --set"
        )
    found |= dict.fromkeys(estimator.get_params(deep=False), "--set")
    return {name: found[name] for name in found if name not in ("checkpoint", "estimator")}
