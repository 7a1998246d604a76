"""Real data sets by name: found, read, checked and typed.

A table is looked for in the path given, else in the folder that the environment variable
``STABLEPRED_DATA`` names, else in the cache, else at OpenML, which keeps what it fetched in the
cache. Nothing is fetched unless a data set is asked for by name and found nowhere else. A file is
checked against ``datasets.toml``, so that no study runs on another table than the one it names.
"""

import gzip
import hashlib
import io
import os
import tomllib
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_breast_cancer

from stablepred.exceptions import InputError, StablepredWarning

FOLDER_VARIABLE = "STABLEPRED_DATA"
GZIP = b"\x1f\x8b"
COMMENT = b"|"  # how adult.test marks its first line
MISSING = "?"
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
BANK_FIRST_YEAR = 2008


@dataclass(frozen=True)
class Source:
    """One data set as it is published.

    The ``outcome`` becomes 1 where it is one of ``positive``. ``names`` are the columns of the
    ``files``, of which ``numeric`` hold numbers and ``flags`` "yes" or "no"; all others are
    categories, and ``dropped`` must not be used or say nothing. OpenML has the same columns as
    ``openml_names``.
    """

    title: str
    outcome: str
    rows: int
    citation: str
    positive: tuple[str, ...]
    names: tuple[str, ...]
    environments: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sha256: tuple[str, ...] = ()
    separator: str = ","
    header: bool = True
    openml_id: int | None = None
    openml_names: tuple[str, ...] = ()
    licence: str = "CC BY 4.0"

    @property
    def columns(self) -> int:
        """Number of columns of the files."""
        return len(self.names)

    @classmethod
    def from_toml(cls, entry: dict[str, Any]) -> "Source":
        """A source from its entry in ``datasets.toml``."""
        fields = {name: str(field.type) for name, field in cls.__dataclass_fields__.items()}
        lists = {
            name: tuple(" ".join(part.split()) for part in value.split(","))
            for name, value in entry.items()
            if fields[name].startswith("tuple")
        }
        if entry.get("openml_names") == "as names":
            lists["openml_names"] = lists["names"]
        return cls(**entry | lists | {"citation": " ".join(entry["citation"].split())})


DATASETS = MappingProxyType(
    {
        name: Source.from_toml(entry)
        for name, entry in tomllib.loads(
            Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8")
        ).items()
    }
)


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
    text = _read_text(name, source, None if path is None else Path(path))
    frame = _prepare(pd.DataFrame({column: _type(text[column], source) for column in source.names}))
    frame = frame.drop(columns=list(source.dropped))
    return Dataset(frame, source.outcome, source.environments, source.citation, source.licence)


def cache_folder() -> Path:
    """Where files are looked for and OpenML's answers are kept: ``stablepred`` in ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "stablepred"


# --- finding ---


def _read_text(name: str, source: Source, path: Path | None) -> pd.DataFrame:
    """The table as text, with the names of the files' columns."""
    if not source.files:
        if path is not None:
            raise InputError(f"{name!r} comes with scikit-learn; leave the path out.")
        return _as_text(load_breast_cancer(as_frame=True).frame, source)
    files = _find_files(name, source, path)
    if files is None:
        return _fetch(name, source)
    contents = [_read_bytes(file) for file in files]
    parts = [_parse(*each, source) for each in zip(files, contents, strict=True)]
    _check_rows(" and ".join(map(str, files)), sum(map(len, parts)), source)
    _warn_if_changed(name, source, files, contents)
    return pd.concat(parts, ignore_index=True)[list(source.names)]


def _find_files(name: str, source: Source, path: Path | None) -> list[Path] | None:
    """The files in the first folder that has them; None where OpenML is to be asked."""
    if path is None:
        named = os.environ.get(FOLDER_VARIABLE)
        folders = [*([Path(named)] if named else []), cache_folder()]
        return next(filter(None, (_in_folder(folder, source) for folder in folders)), None)
    if not path.exists():
        raise InputError(f"there is no file or folder {str(path)!r} to load {name!r} from.")
    if path.is_file() and len(source.files) == 1:
        return [path]
    folder = path.parent if path.is_file() else path  # the other files are beside it
    found = _in_folder(folder, source)
    if found is None:
        raise InputError(
            f"the folder {str(folder)!r} lacks files of {name!r}: it needs "
            f"{' and '.join(source.files)}, plain or with .gz."
        )
    return found


def _in_folder(folder: Path, source: Source) -> list[Path] | None:
    """All files of a data set, or None where one is missing."""
    endings = ("", ".gz", ".csv", ".csv.gz")
    found = [[folder / (file + ending) for ending in endings] for file in source.files]
    present = [[path for path in paths if path.is_file()] for paths in found]
    return [paths[0] for paths in present] if all(present) else None


def _fetch(name: str, source: Source) -> pd.DataFrame:
    """Ask OpenML, or say which file to supply."""
    advice = (
        f"Put {' and '.join(source.files)} (plain or with .gz) into {str(cache_folder())!r}, or "
        f"into the folder that {FOLDER_VARIABLE} names, or pass its path. Source: {source.citation}"
    )
    if source.openml_id is None:
        raise InputError(f"no file of {name!r} was found, and OpenML does not have it. {advice}")
    try:
        frame = fetch_openml(
            data_id=source.openml_id, as_frame=True, data_home=str(cache_folder())
        ).frame
    except OSError as error:
        raise InputError(
            f"no file of {name!r} was found, and OpenML (data set {source.openml_id}) could not be "
            f"reached: {error}. {advice}"
        ) from error
    where = f"OpenML's data set {source.openml_id}"
    _check_names(where, list(frame.columns), source.openml_names)
    _check_rows(where, len(frame), source)
    return _as_text(frame[list(source.openml_names)], source)


def _as_text(frame: pd.DataFrame, source: Source) -> pd.DataFrame:
    """Every value as it would be written in a file, under the names of the files."""
    columns = {
        name: frame[column].astype(str).str.strip(" '\"").where(frame[column].notna(), MISSING)
        for name, column in zip(source.names, frame.columns, strict=True)
    }
    return pd.DataFrame(columns)


# --- reading and checking ---


def _read_bytes(file: Path) -> bytes:
    try:
        content = file.read_bytes()
        return gzip.decompress(content) if content.startswith(GZIP) else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"the file {str(file)!r} cannot be read: {error}") from error


def _parse(file: Path, content: bytes, source: Source) -> pd.DataFrame:
    """The table in one file, as text."""
    if not content.strip():
        raise InputError(f"the file {str(file)!r} is empty; {source.rows} rows are expected.")
    try:
        frame = pd.read_csv(
            io.BytesIO(content),
            sep=source.separator,
            header=0 if source.header else None,
            skiprows=1 if content.lstrip().startswith(COMMENT) else 0,
            dtype=str,
            keep_default_na=False,  # "None" and "NA" are values like any other
            skipinitialspace=True,
        )
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"the file {str(file)!r} cannot be read as a table: {error}") from error
    if not source.header and len(frame.columns) == source.columns:
        frame.columns = pd.Index(source.names)
    _check_names(f"the file {str(file)!r}", list(frame.columns), source.names, source.separator)
    return frame


def _check_names(
    where: str, columns: Sequence[Any], expected: Sequence[str], separator: str = ""
) -> None:
    found = list(map(str, columns))
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    if missing or extra:
        by = f", separated by {separator!r}," if separator else ""
        raise InputError(
            f"{where} has {len(found)} columns where {len(expected)}{by} are expected: it lacks "
            f"{missing} and adds {extra}."
        )


def _check_rows(where: str, found: int, source: Source) -> None:
    if found != source.rows:
        raise InputError(f"{where} has {found} rows where {source.rows} are expected.")


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


# --- typing ---


def _type(column: pd.Series, source: Source) -> pd.Series:
    """A column of text as numbers, booleans or categories, and the outcome as 0/1."""
    text = column.astype(str).str.strip()
    present = text != MISSING
    if column.name == source.outcome:
        ones = text.isin(source.positive)
        if not ones.any() or ones.all() or not present.all():
            raise InputError(
                f"the outcome {source.outcome!r} must have values among {list(source.positive)} "
                f"(for 1) and others (for 0), but {int(ones.sum())} rows are 1 and the others are "
                f"{text[~ones].unique()[:5].tolist()}."
            )
        return ones.astype(np.int64)
    if column.name in source.numeric:
        numbers = pd.to_numeric(text.where(present), errors="coerce")
        _check_values(text[numbers.isna() & present], "hold numbers")
        return numbers
    if column.name in source.flags:
        _check_values(text[~text.str.lower().isin(["yes", "no"])], "be 'yes' or 'no'")
        return text.str.lower() == "yes"
    return text.where(present).astype("category")


def _check_values(wrong: pd.Series, must: str) -> None:
    if len(wrong):
        raise InputError(
            f"column {wrong.name!r} must {must}, but has {len(wrong)} other values "
            f"(e.g. {wrong.unique()[:3].tolist()})."
        )


def _prepare(frame: pd.DataFrame) -> pd.DataFrame:
    """What the order of the rows, or columns that are dropped, say."""
    if "poutcome" in frame:  # the calls of the bank are in order of date, from May 2008 on
        month = frame["month"].astype(str).map(MONTHS.index)
        new_year = month < month.shift(fill_value=0)
        return frame.assign(year=BANK_FIRST_YEAR + new_year.cumsum())
    if "patient_nbr" in frame:  # the stays of one patient are not independent: the first is kept
        order = frame["encounter_id"].sort_values(kind="stable").index
        first = ~frame.loc[order, "patient_nbr"].duplicated()
        return frame[first.loc[frame.index]].reset_index(drop=True)
    return frame
