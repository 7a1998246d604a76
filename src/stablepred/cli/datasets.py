"""``stablepred datasets``: the real tables that can be loaded by name, and from where."""

from typing import Any

from stablepred.cli import options
from stablepred.cli.guard import plain_errors
from stablepred.cli.screen import say


def datasets(debug: options.Debug = False) -> None:
    """List the real tables that 'stablepred.data.load_dataset' knows, and where they come from.

    Example: stablepred datasets
    """
    with plain_errors(debug):
        from stablepred.data import DATASETS

        for name, source in DATASETS.items():
            for line in _lines(name, source):
                say(line)
        say("Files are looked for in the folder that STABLEPRED_DATA names; else OpenML is asked.")


def _lines(name: str, source: Any) -> list[str]:
    sources = [f"files {', '.join(source.files)}"] if source.files else []
    if source.openml_id is not None:
        sources.append(f"OpenML {source.openml_id}")
    return [
        f"{name}: {source.title}",
        f"  {source.rows:,} rows, {source.columns} columns, outcome {source.outcome}, "
        f"environments {', '.join(source.environments) or 'none suggested'}",
        f"  from {' or '.join(sources) or 'scikit-learn, no file needed'}",
        f"  {source.licence}; {source.citation}",
        "",
    ]
