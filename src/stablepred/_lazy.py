"""Public names that are imported when they are first used, so that importing a face is cheap."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from stablepred._extras import EXTRAS, require


def attach(
    face: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for the module ``face``.

    ``modules`` maps a module to the names that the face takes from it, separated by spaces; the
    names that it takes from itself are its submodules.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def getattr_(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {face!r} has no attribute {name!r}")
        if homes[name] == face:
            return import_module(f"{face}.{name}")
        try:
            value = getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package in EXTRAS:
                require(package, f"{face}.{name}")  # says which extra has it
            raise
        setattr(sys.modules[face], name, value)
        return value

    def dir_() -> list[str]:
        return sorted({*vars(sys.modules[face]), *homes})

    return getattr_, dir_
