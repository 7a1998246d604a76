"""Reading models and tables for the commands."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import stablepred
from stablepred.cli.options import STANDARD
from stablepred.cli.screen import progress, say
from stablepred.exceptions import InputError
from stablepred.tables.columns import Note
from stablepred.tables.encoder import note_lines
from stablepred.tables.files import TableFile, open_table
from stablepred.tables.groups import group_rows
from stablepred.tables.messages import listed, unknown_column
from stablepred.tables.table_model import TableModel
from stablepred.worlds.environment import Environment


def load_model(folder: Path) -> TableModel:
    """The model in a folder that ``stablepred fit`` wrote."""
    if not folder.exists():
        raise InputError(f"there is no model folder {folder}. Write one with 'stablepred fit'.")
    model = stablepred.load(folder)
    if not isinstance(model, TableModel):
        raise InputError(
            f"{folder} holds a {type(model).__name__} without the encoding of a table. Give a "
            "folder that 'stablepred fit' wrote."
        )
    return model


@contextmanager
def opened(path: Path) -> Iterator[TableFile]:
    """The table at a path; what can be read only once, as standard input, is copied first."""
    if path != STANDARD and not path.is_fifo():
        yield open_table(path)
        return
    name = "standard input" if path == STANDARD else str(path)
    with TemporaryDirectory() as folder:
        copy = Path(folder, "table")
        source = nullcontext(sys.stdin.buffer) if path == STANDARD else path.open("rb")
        with source as stream, copy.open("wb") as content:
            shutil.copyfileobj(stream, content)
        try:
            yield open_table(copy)
        except InputError as error:
            raise InputError(str(error).replace(str(copy), name)) from None


def read(file: TableFile, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """All rows of some columns, with progress."""
    with progress(f"reading {file.path.name}") as report:
        return file.read(columns, report)


def select_columns(
    file: TableFile, drop: Sequence[str] | None, target: str | None
) -> tuple[list[str], list[str]]:
    """The columns to read and those to leave out; a name that is no column may be several."""
    if target is not None and target not in file.columns:
        raise unknown_column(target, file.columns, "target")
    dropped: list[str] = []
    for entry in drop or ():
        parts = [entry] if entry in file.columns else [part.strip() for part in entry.split(",")]
        for name in parts:
            if name not in file.columns:
                raise unknown_column(name, file.columns, "column to drop")
        dropped += parts
    if target in dropped:
        raise InputError(f"{target!r} is the target; it cannot be dropped.")
    kept = [name for name in file.columns if name not in dropped]
    return kept, list(dict.fromkeys(dropped))


def say_ignored(model: TableModel, file: TableFile, *used: str) -> None:
    """Name the columns that neither the model nor anything else uses."""
    known = {*model.encoder.used_columns, *used}
    ignored = [name for name in file.columns if name not in known]
    if ignored:
        say(f"ignored, not used by the model: {listed(ignored)}")


@dataclass(frozen=True)
class Labelled:
    """The rows of a table with their outcome, as a model takes them."""

    features: pd.DataFrame
    y: NDArray[np.int64]
    by: pd.Series | None
    surprises: list[Note]


def labelled(model: TableModel, path: Path, target: str | None, by: str | None = None) -> Labelled:
    """Read what the model uses, the outcome, and the column that tells environments."""
    outcome = model.target.name if target is None else target
    extra = {"target": outcome} if by is None else {"target": outcome, "column": by}
    with opened(path) as file:
        for what, name in extra.items():
            if name not in file.columns:
                raise unknown_column(name, file.columns, f"{path}: {what}")
        model.encoder.check_has_columns(file.columns)
        say_ignored(model, file, *extra.values())
        frame = read(file, list(dict.fromkeys([*model.encoder.used_columns, *extra.values()])))
    y = model.target.encode(frame[outcome])
    features, surprises = model.encoder.encode(frame)
    return Labelled(features, y, None if by is None else frame[by], surprises)


def environments(
    model: TableModel,
    paths: Sequence[Path],
    target: str | None,
    by: str | None,
    bins: str | None,
) -> list[Environment]:
    """One environment per file, or one file cut by a column."""
    if by is not None and len(paths) > 1:
        raise InputError("several files are an environment each; --by cuts a single file.")
    if bins is not None and by is None:
        raise InputError("--bins cuts the column that --by names. Name it.")
    edges = None if bins is None else _edges(bins)
    found: list[Environment] = []
    surprises: list[Note] = []
    for path in paths:
        rows = labelled(model, path, target, by)
        surprises += rows.surprises
        if rows.by is None:
            name = path.name if [p.name for p in paths].count(path.name) == 1 else str(path)
            found.append(Environment(name, rows.features, rows.y))
            continue
        groups = group_rows(rows.by, edges)
        for line in groups.notes:
            say(line)
        for name, chosen in groups.rows.items():
            found.append(Environment(name, rows.features[chosen], rows.y[chosen]))
    for line in note_lines(surprises):
        say(line)
    return found


def _edges(text: str) -> list[float]:
    """Numbers from a text such as 20,30,40."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            "--bins must be numbers with commas between them, for example 20,30,40, but is "
            f"{text!r}."
        ) from None
