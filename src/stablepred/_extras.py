"""Packages that come with an extra: imported on first use, or the error says which to install."""

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
