"""The methods of the command line, and how their parameters are set."""

from collections.abc import Sequence
from typing import Any

from stablepred.baselines.methods import CLASSIFIERS
from stablepred.cli.options import Method
from stablepred.cli.screen import parse_value
from stablepred.exceptions import InputError
from stablepred.tables.messages import nearest


def make_estimator(method: Method, seed: int) -> Any:
    """The method as ``compare`` knows it."""
    return CLASSIFIERS[method.replace("-", "_")](seed)


def set_parameters(estimator: Any, settings: Sequence[str]) -> None:
    """Set parameters from strings ``name=value``."""
    known = sorted(estimator.get_params(deep=False).keys() - {"estimator"})
    for entry in settings:
        name, equals, text = (part.strip() for part in entry.partition("="))
        if not equals:
            raise InputError(f"--set takes name=value, but was given {entry!r}.")
        if name not in known:
            raise InputError(
                f"{type(estimator).__name__} has no parameter {name!r} to set. "
                f"{nearest(name, known)}It has: {', '.join(known)}."
            )
        estimator.set_params(**{name: parse_value(text)})
