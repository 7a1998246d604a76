"""Public names that are imported when they are first used, so that importing a face is cheap."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from stablepred._extras import EXTRAS, require


def attach(face: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for the module ``face``.

    They offer what the module imports under ``if TYPE_CHECKING:``, which its source says once for
    all; what it imports from itself are its submodules, which ``__all__`` leaves out.
    """
    module = sys.modules[face]
    assert module.__spec__ is not None
    source = module.__spec__.loader.get_source(face)  # type: ignore[union-attr]
    blocks = [part for part in ast.parse(source).body if isinstance(part, ast.If)]
    imports = [one for block in blocks for one in block.body if isinstance(one, ast.ImportFrom)]
    homes = {alias.name: one.module or "" for one in imports for alias in one.names}

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
        setattr(module, name, value)
        return value

    public = sorted(name for name in homes if homes[name] != face)
    return getattr_, lambda: sorted({*vars(module), *homes}), public
