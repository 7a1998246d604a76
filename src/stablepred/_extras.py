"""What is imported on first use: packages of an extra, and public names."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

# Packages and the extras that bring them.
EXTRAS = {
    "duckdb": "tables",
    "jinja2": "report",
    "matplotlib": "plot",
    "narwhals": "tables",
    "onnx": "onnx",
    "optuna": "optuna",
    "pyarrow": "tables",
    "rich": "cli",
    "typer": "cli",
}


def require(module: str, need: str) -> Any:
    """Import a module for what ``need`` names, or say which extra has it."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        from stablepred.exceptions import MissingExtraError  # loads scikit-learn

        raise MissingExtraError(
            f"{need} needs {package}, which is not installed: "
            f"pip install 'stablepred[{EXTRAS[package]}]'."
        ) from error


class Lazy:
    """Stands for a module of an extra at the top of a file, and imports it when it is used."""

    def __init__(self, module: str, need: str) -> None:
        self._module, self._need = module, need

    def __getattr__(self, name: str) -> Any:
        return getattr(require(self._module, self._need), name)


NEED = "reading text columns and table files"
pa: Any = Lazy("pyarrow", NEED)
pc: Any = Lazy("pyarrow.compute", NEED)
arrow_csv: Any = Lazy("pyarrow.csv", NEED)
parquet: Any = Lazy("pyarrow.parquet", NEED)
nw: Any = Lazy("narwhals", "counting the rows of a table")


def attach(face: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for the module ``face``.

    They offer what its source imports under ``if TYPE_CHECKING:``; what it imports from itself are
    its submodules, which ``__all__`` leaves out.
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
