"""Records of runs: one JSON line each, keyed by a hash of what was run.

An interrupted run continues where it stopped: what is recorded is not computed again. A line that
is incomplete, or does not fit its key, is skipped with a warning and its run is repeated.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stablepred.exceptions import StablepredWarning

Definition = Mapping[str, Any]
Result = dict[str, Any]


def definition_key(definition: Definition) -> str:
    """A hash of everything in the definition; the order of its entries does not matter."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Records:
    """A JSONL file of results by definition, of which the last counts; it need not exist yet."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._results: dict[str, Result] = {}
        text = self.path.read_bytes().decode(errors="replace") if self.path.exists() else ""
        lines = text.split("\n")
        self._start = "\n" if lines[-1] else ""  # nothing is appended to a torn line
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                if record["key"] != definition_key(record["definition"]):
                    raise ValueError
                self._results[record["key"]] = record["result"]
            except (ValueError, KeyError, TypeError):
                warnings.warn(
                    f"{self.path}, line {number}: not a complete record; it is skipped and its "
                    "run will be computed again.",
                    StablepredWarning,
                    stacklevel=2,
                )

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, definition: Definition) -> bool:
        return definition_key(definition) in self._results

    def __getitem__(self, definition: Definition) -> Result:
        return self._results[definition_key(definition)]

    def add(self, definition: Definition, result: Result) -> None:
        """Append a record; it is on the disk when this returns."""
        key = definition_key(definition)
        line = json.dumps({"key": key, "definition": definition, "result": result})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{self._start}{line}\n")
            file.flush()
            os.fsync(file.fileno())
        self._start = ""
        self._results[key] = json.loads(line)["result"]
