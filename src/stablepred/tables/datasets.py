"""Real data sets by name: found, read, checked and typed.

A table is looked for in the path given, else in the folder that the environment variable
``STABLEPRED_DATA`` names, else in the cache, else at OpenML, which keeps what it fetched in the
cache. Nothing is fetched unless a data set is asked for by name and found nowhere else.
"""

import gzip
import hashlib
import io
import os
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from sklearn.datasets import fetch_openml, load_breast_cancer

from stablepred.exceptions import InputError, StablepredWarning
from stablepred.tables.column_types import as_text, typed
from stablepred.tables.sources import DATASETS, Source

FOLDER_VARIABLE = "STABLEPRED_DATA"
GZIP = b"\x1f\x8b"
COMMENT = "|"  # how adult.test marks its first line


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A real table, ready to be cut into environments.

    Attributes
    ----------
    frame : pandas.DataFrame
        Typed columns: numbers, categories (missing values are NaN) and booleans. The outcome is
        one of them, as 0/1.
    outcome : str
        Name of the outcome's column.
    environments : tuple of str
        Columns that suggest environments.
    citation, licence : str
        What to cite, and under which terms the table is published.
    """

    frame: pd.DataFrame
    outcome: str
    environments: tuple[str, ...]
    citation: str
    licence: str

    def __repr__(self) -> str:
        rows, columns = self.frame.shape
        return (
            f"Dataset({rows} rows, {columns} columns, outcome {self.outcome!r} with rate "
            f"{self.frame[self.outcome].mean():.3f})"
        )


def load_dataset(name: str, path: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a real data set by name.

    Parameters
    ----------
    name : {"bank", "bank-additional", "adult", "diabetes", "credit", "breast-cancer"}
        ``stablepred.data.DATASETS`` says what they are.
    path : path-like, optional
        The file, plain or with ``.gz``, or the folder that holds it. Without it the folder in
        ``STABLEPRED_DATA`` is searched, then the cache, then OpenML is asked. ``"breast-cancer"``
        comes with scikit-learn and needs no file.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        When the name is unknown, no file is found, or a file is not the one that is expected.

    Examples
    --------
    >>> from stablepred.data import load_dataset
    >>> load_dataset("breast-cancer")
    Dataset(569 rows, 31 columns, outcome 'malignant' with rate 0.373)
    """
    source = DATASETS.get(name)
    if source is None:
        raise InputError(f"there is no data set {name!r}; the names are {list(DATASETS)}.")
    text = _raw_table(name, source, None if path is None else Path(path))
    frame = source.prepare(typed(text, source)).drop(columns=list(source.dropped))
    return Dataset(frame, source.outcome, source.environments, source.citation, source.licence)


def cache_folder() -> Path:
    """Where files are looked for and OpenML's answers are kept: ``stablepred`` in ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "stablepred"


# --- finding ------------------------------------------------------------------------------------


def _raw_table(name: str, source: Source, path: Path | None) -> pd.DataFrame:
    """The table as text, with the names of the files' columns."""
    if not source.files:
        if path is not None:
            raise InputError(f"{name!r} comes with scikit-learn; leave the path out.")
        cells = load_breast_cancer(as_frame=True).frame
        return as_text(cells).set_axis(list(source.names), axis=1)
    files = _find_files(name, source, path)
    if files is None:
        return _from_openml(name, source)
    contents = [_uncompressed(file) for file in files]
    parts = [_parsed(*each, name, source) for each in zip(files, contents, strict=True)]
    where = " and ".join(f"the file {str(file)!r}" for file in files)
    _check_rows(where, sum(map(len, parts)), source.rows)
    _warn_if_changed(name, source, files, contents)
    return pd.concat(parts, ignore_index=True)[list(source.names)]


def _find_files(name: str, source: Source, path: Path | None) -> list[Path] | None:
    """The files in the first place that has them; None where OpenML is to be asked."""
    if path is not None:
        return _in_given_path(name, source, path)
    for folder in _folders():
        found = _in_folder(folder, source)
        if found:
            return found
    return None


def _in_given_path(name: str, source: Source, path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"there is no file or folder {str(path)!r} to load {name!r} from.")
    if path.is_file():
        if len(source.files) == 1:
            return [path]
        path = path.parent  # the other files stand beside it
    found = _in_folder(path, source)
    if found is None:
        raise InputError(
            f"the folder {str(path)!r} lacks files of {name!r}: it needs {_listed(source)}, plain "
            "or with .gz."
        )
    return found


def _folders() -> Iterator[Path]:
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        yield Path(named)
    yield cache_folder()


def _in_folder(folder: Path, source: Source) -> list[Path] | None:
    """All files of a data set, or None where one is missing."""
    found = []
    for file in source.files:
        spellings = (file + ending for ending in ("", ".gz", ".csv", ".csv.gz"))
        paths = [folder / spelling for spelling in spellings if (folder / spelling).is_file()]
        if not paths:
            return None
        found.append(paths[0])
    return found


def _listed(source: Source) -> str:
    return " and ".join(source.files)


def _from_openml(name: str, source: Source) -> pd.DataFrame:
    """Ask OpenML, or say which file to supply."""
    advice = (
        f"Put {_listed(source)} (plain or with .gz) into {str(cache_folder())!r}, or into the "
        f"folder that {FOLDER_VARIABLE} names, or pass its path. Source: {source.citation}"
    )
    if source.openml_id is None:
        raise InputError(f"no file of {name!r} was found, and OpenML does not have it. {advice}")
    try:
        fetched = fetch_openml(
            data_id=source.openml_id, as_frame=True, data_home=str(cache_folder())
        ).frame
    except OSError as error:
        raise InputError(
            f"no file of {name!r} was found, and OpenML (data set {source.openml_id}) could not be "
            f"reached: {error}. {advice}"
        ) from error
    where = f"OpenML's data set {source.openml_id}"
    _check_names(where, list(map(str, fetched.columns)), source.openml_names)
    _check_rows(where, len(fetched), source.rows)
    text = as_text(fetched[list(source.openml_names)])
    return text.set_axis(list(source.names), axis=1)


# --- reading and checking -----------------------------------------------------------------------


def _uncompressed(file: Path) -> bytes:
    try:
        content = file.read_bytes()
        return gzip.decompress(content) if content.startswith(GZIP) else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"the file {str(file)!r} cannot be read: {error}") from error


def _parsed(file: Path, content: bytes, name: str, source: Source) -> pd.DataFrame:
    """The table in one file, as text."""
    lines = content.lstrip().splitlines()
    if not lines:
        raise InputError(f"the file {str(file)!r} is empty; {name!r} has {source.rows} rows.")
    _check_separator(file, lines[-1].decode("utf-8", errors="replace"), source)
    skipped = 1 if lines[0].startswith(COMMENT.encode()) else 0
    try:
        frame = pd.read_csv(
            io.BytesIO(content),
            sep=source.separator,
            header=0 if source.header else None,
            skiprows=skipped,
            dtype=str,
            keep_default_na=False,  # "None" and "NA" are values like any other
            skipinitialspace=True,
        )
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(
            f"the file {str(file)!r} cannot be read as the table {name!r}: {error}"
        ) from error
    if not source.header and len(frame.columns) == source.columns:
        frame.columns = pd.Index(source.names)
    _check_names(f"the file {str(file)!r}", list(map(str, frame.columns)), source.names)
    return frame


def _check_separator(file: Path, line: str, source: Source) -> None:
    """Say which separator a file has when it is not the right one."""
    others = [mark for mark in (",", ";", "\t") if mark != source.separator]
    found = max(others, key=line.count)
    if source.separator not in line and line.count(found) + 1 == source.columns:
        raise InputError(
            f"the columns of {str(file)!r} are separated by {found!r}, but {source.separator!r} is "
            "expected. Take the file as it is published."
        )


def _check_names(where: str, found: list[str], expected: tuple[str, ...]) -> None:
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    if missing or extra:
        raise InputError(
            f"{where} has {len(found)} columns where {len(expected)} are expected: it lacks "
            f"{missing} and adds {extra}."
        )


def _check_rows(where: str, found: int, expected: int) -> None:
    if found != expected:
        raise InputError(f"{where} has {found} rows where {expected} are expected.")


def _warn_if_changed(name: str, source: Source, files: list[Path], contents: list[bytes]) -> None:
    """Warn where a file of the right shape is not byte for byte the published one."""
    for file, content, expected in zip(files, contents, source.sha256, strict=True):
        if hashlib.sha256(content).hexdigest() != expected:
            warnings.warn(
                f"rows and columns of {str(file)!r} are those of {name!r}, but its content is not "
                "that of the published file (the sha256 differs).",
                StablepredWarning,
                stacklevel=4,
            )
