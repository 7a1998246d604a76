"""Files that commands read and write (models, tables, results), and the methods that they fit."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import stablepred
from stablepred._text import count_noun
from stablepred.baselines.methods import CLASSIFIERS
from stablepred.cli.options import STANDARD, Method
from stablepred.cli.screen import parse_value, say, working
from stablepred.evaluation.predictions import PlainTable
from stablepred.exceptions import InputError
from stablepred.io import atomic
from stablepred.tables.files import TableFile, open_table
from stablepred.tables.groups import group_rows
from stablepred.tables.messages import Note, check_known, listed, nearest, note_lines
from stablepred.tables.table_model import TableModel
from stablepred.tables.target import ClassTarget

References = dict[str, dict[str, Any]]  # predictions by role, then by environment


def make_estimator(method: Method, seed: int) -> Any:
    return CLASSIFIERS[method.replace("-", "_")](seed)


def set_parameters(estimator: Any, settings: Sequence[str]) -> None:
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


# --- what is read ---


def load_model(folder: Path) -> TableModel:
    if not folder.exists():
        raise InputError(f"there is no model folder {folder}. Write one with 'stablepred fit'.")
    model = stablepred.load(folder)
    if not isinstance(model, TableModel):
        raise InputError(
            f"{folder} holds a {type(model).__name__} without the encoding of a table. Give a "
            "folder that 'stablepred fit' wrote."
        )
    return model


def open_input(path: Path) -> TableFile:
    if path == STANDARD:
        return open_table("standard input", sys.stdin.buffer)
    return open_table(path)


def read(file: TableFile, columns: Sequence[str] | None = None) -> pd.DataFrame:
    with working(f"reading {file.path.name}"):
        return file.read(columns)


def select_columns(
    file: TableFile, drop: Sequence[str] | None, target: str | None
) -> tuple[list[str], list[str]]:
    """The columns to read and those to leave out; a name that is no column may be several."""
    if target is not None:
        check_known(target, file.columns, "target")
    dropped: list[str] = []
    for entry in drop or ():
        parts = [entry] if entry in file.columns else [part.strip() for part in entry.split(",")]
        for name in parts:
            check_known(name, file.columns, "column to drop")
        dropped += parts
    if target in dropped:
        raise InputError(f"{target!r} is the target; it cannot be dropped.")
    kept = [name for name in file.columns if name not in dropped]
    return kept, list(dict.fromkeys(dropped))


def open_rows(model: TableModel, path: Path, *used: str) -> TableFile:
    """New rows for a model; the columns that neither it nor anything else uses are named."""
    file = open_input(path)
    for name in used:
        check_known(name, file.columns, f"{path}: column")
    model.encoder.check_has_columns(file.columns)
    known = {*model.encoder.used_columns, *used}
    if ignored := [name for name in file.columns if name not in known]:
        say(f"ignored, not used by the model: {listed(ignored)}")
    return file


def distinct_name(path: Path, others: Sequence[Path]) -> str:
    """The name of a file, or its whole path where others have the same name."""
    return path.name if [other.name for other in others].count(path.name) == 1 else str(path)


def load_environments(
    folder: Path,
    paths: Sequence[Path],
    target: str | None,
    by: str | None = None,
    bins: str | None = None,
    min_rows: int = 1,
    comparing: str = "",
) -> tuple[TableModel, list[PlainTable], References]:
    """A model, one environment per file or per group of one file, and what references predict.

    What is ``comparing`` environments needs two of them.
    """
    model = load_model(folder)
    if isinstance(model.target, ClassTarget):
        raise InputError(
            f"target {model.target.name!r} has {len(model.target.values)} classes; only two, or a "
            "number, can be compared across environments. Use 'stablepred predict'."
        )
    if len({path.resolve() for path in paths}) < len(paths):
        raise InputError("a file is given twice; name each once.")
    if by is not None and len(paths) > 1:
        raise InputError("several files are an environment each; --by cuts a single file.")
    if bins is not None and by is None:
        raise InputError("--bins cuts the column that --by names. Name it.")
    outcome = model.target.name if target is None else target
    extra = [outcome] if by is None else [outcome, by]
    found: list[PlainTable] = []
    surprises: list[Note] = []
    references: References = {}
    for path in paths:
        file = open_rows(model, path, *extra)
        frame = read(file, list(dict.fromkeys([*model.encoder.used_columns, *extra])))
        y = model.target.encode(frame[outcome])
        features, unexpected = model.features(frame)
        surprises += unexpected
        beside = {"constant": np.full(len(frame), model.base_rate)}
        if model.references is not None:
            beside = {role: f(frame) for role, f in model.references.predictors().items()}
        groups: dict[str, Any] = {distinct_name(path, paths): slice(None)}
        if by is not None:
            groups = _cut_rows(frame[by], bins, min_rows)
        for name, rows in groups.items():
            found.append(PlainTable(name, features[rows], y[rows]))
            for role, predicted in beside.items():
                references.setdefault(role, {})[name] = predicted[rows]
    for line in note_lines(surprises):
        say(line)
    if comparing and len(found) < 2:
        raise InputError(
            f"{comparing} compares environments, but there is only one. Name a column with --by, "
            "or give several files."
        )
    return model, found, references


def _cut_rows(column: pd.Series, bins: str | None, min_rows: int) -> dict[str, Any]:
    """The rows of each environment; values with few rows are left out if two others remain.

    In summaries all count alike, and the chance errors of a few rows would hide what thousands of
    others show.
    """
    try:
        edges = None if bins is None else [float(edge) for edge in bins.split(",")]
    except ValueError:
        raise InputError(
            f"--bins must be numbers with commas between them, as 20,30,40, but is {bins!r}."
        ) from None
    groups = group_rows(column, edges)
    for line in groups.notes:
        say(line)
    sizes = {name: int(rows.sum()) for name, rows in groups.rows.items()}
    few = [f"{name} ({count_noun(n, 'row')})" for name, n in sizes.items() if n < min_rows]
    if few and len(sizes) - len(few) >= 2:
        say(f"left out, under {min_rows} rows: {listed(few)}; --min-rows 1 takes them in")
        return {name: rows for name, rows in groups.rows.items() if sizes[name] >= min_rows}
    if few and len(sizes) > 1:
        say(f"fewer than two environments have {min_rows} rows (--min-rows): none is left out")
    return groups.rows


# --- what is written: checked before any work is done, complete or not there at all ---


def check_file(path: Path | None, *, force: bool) -> None:
    """Raise early when a file cannot be written to ``path``."""
    if path is None or path == STANDARD:
        return
    target = atomic.check_file(path)
    if target.exists() and not force:
        raise InputError(f"{path} exists. Name another file, or replace it with --force.")
    target.parent.mkdir(parents=True, exist_ok=True)
    atomic.check_writable(target.parent)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a name to write to; the file gets its own name when the block is done."""
    if path != STANDARD:
        with atomic.new_file(path) as temporary:
            yield temporary
        return
    with TemporaryDirectory() as folder:
        yield Path(folder, "output")
        with Path(folder, "output").open("rb") as content:
            assert sys.__stdout__ is not None  # messages go to standard error meanwhile
            shutil.copyfileobj(content, sys.__stdout__.buffer)
            sys.__stdout__.flush()


def write_csv(frame: pd.DataFrame, path: Path | None, **options: Any) -> None:
    if path is not None:
        with new_file(path) as temporary:
            frame.to_csv(temporary, **options)
