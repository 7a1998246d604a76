"""Real data sets by name: found, read and typed."""

import os
import tomllib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_breast_cancer

from stablepred.exceptions import InputError

FOLDER_VARIABLE = "STABLEPRED_DATA"
ENDINGS = ("", ".gz", ".csv", ".csv.gz")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
BANK_FIRST_YEAR = 2008


@dataclass(frozen=True)
class Source:
    """One data set as it is published; ``datasets.toml`` explains the fields."""

    title: str
    outcome: str
    positive: Sequence[str]
    rows: int
    columns: int
    citation: str
    environments: Sequence[str] = ()
    categories: Sequence[str] = ()
    dropped: Sequence[str] = ()
    files: Sequence[str] = ()
    separator: str = ","
    names: Sequence[str] = ()
    header: bool = True
    openml_id: int | None = None
    licence: str = "CC BY 4.0"


_ENTRIES = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8"))
DATASETS = {name: Source(**entry) for name, entry in _ENTRIES.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A real table, ready to be cut into environments.

    Attributes
    ----------
    frame : pandas.DataFrame
        Numbers, categories (missing values are NaN), booleans, and the outcome as 0/1.
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
        The file, plain or with ``.gz``, or its folder. Without it the folder in
        ``STABLEPRED_DATA`` is searched, then the cache; else it is downloaded from OpenML.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from stablepred.data import load_dataset
    >>> load_dataset("breast-cancer")
    Dataset(569 rows, 31 columns, outcome 'malignant' with rate 0.373)
    """
    source = DATASETS.get(name)
    if source is None:
        raise InputError(f"there is no data set {name!r}; the names are {list(DATASETS)}.")
    if source.files:
        files = _find_files(name, source, path)
        frame = _read_files(files, source) if files else _fetch(name, source)
    elif path is None:
        frame = load_breast_cancer(as_frame=True).frame.rename(columns={"target": source.outcome})
    else:
        raise InputError(f"{name!r} comes with scikit-learn; leave the path out.")
    frame = _prepare(frame.apply(_type, args=(source,))).drop(columns=list(source.dropped))
    environments = tuple(source.environments)
    return Dataset(frame, source.outcome, environments, source.citation, source.licence)


def cache_folder() -> Path:
    """Where files are looked for and OpenML's answers are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "stablepred")


def _find_files(name: str, source: Source, path: str | os.PathLike[str] | None) -> list[Path]:
    """The files in the first folder that has them; none where OpenML is to be asked."""
    if path is None:
        folders = [Path(os.environ.get(FOLDER_VARIABLE) or cache_folder()), cache_folder()]
    elif Path(path).is_file() and len(source.files) == 1:
        return [Path(path)]
    else:  # the other files are beside it
        folders = [Path(path).parent if Path(path).is_file() else Path(path)]
    for folder in folders:
        places = [[folder / (file + ending) for ending in ENDINGS] for file in source.files]
        found = [[place for place in each if place.is_file()] for each in places]
        if all(found):
            return [each[0] for each in found]
    if path is None:
        return []
    raise InputError(
        f"there are no files of {name!r} in {str(folders[0])!r}: it needs "
        f"{' and '.join(source.files)}, plain or with .gz."
    )


def _read_files(files: list[Path], source: Source) -> pd.DataFrame:
    # "None" and "NA" are values like any other.
    options: dict[str, Any] = {"sep": source.separator, "dtype": str, "keep_default_na": False}
    if not source.header:
        options |= {"header": None, "comment": "|"}  # the first line of adult.test
    where = " and ".join(map(str, files))
    try:
        parts = [pd.read_csv(file, skipinitialspace=True, **options) for file in files]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{where} cannot be read: {error}") from error
    frame = pd.concat(parts, ignore_index=True)
    _check_shape(frame, source, where)
    if not source.header:
        return frame.set_axis(list(source.names), axis=1)
    needed = source.names or (source.outcome, *source.categories, *source.dropped)
    if missing := [name for name in needed if name not in frame]:
        raise InputError(f"{where} lacks the columns {missing}; it has {list(frame.columns)}.")
    return frame[list(source.names or frame.columns)]


def _fetch(name: str, source: Source) -> pd.DataFrame:
    """Ask OpenML, or say which file to supply."""
    number, why = source.openml_id, "OpenML does not have it"
    if number is not None:
        try:
            found = fetch_openml(data_id=number, as_frame=True, data_home=str(cache_folder()))
            _check_shape(found.frame, source, f"OpenML's data set {number}")
            return found.frame.set_axis(list(source.names or found.frame), axis=1)
        except OSError as error:
            why = f"OpenML (data set {number}) could not be reached: {error}"
    raise InputError(
        f"no file of {name!r} was found, and {why}. Put {' and '.join(source.files)} (plain or "
        f"with .gz) into {str(cache_folder())!r}, or into the folder that {FOLDER_VARIABLE} "
        f"names, or pass its path. Source: {source.citation}"
    )


def _check_shape(frame: pd.DataFrame, source: Source, where: str) -> None:
    if frame.shape != (source.rows, source.columns):
        raise InputError(
            f"{where} has {frame.shape[0]} rows and {frame.shape[1]} columns where {source.rows} "
            f"and {source.columns}, in a file separated by {source.separator!r}, are expected."
        )


def _type(column: pd.Series, source: Source) -> pd.Series:
    text = column.astype(str).str.strip(" '\"").where(column.notna() & (column != "?"))
    if column.name == source.outcome:
        positive = text.isin(source.positive)
        if not positive.any() or text.isna().any():
            raise InputError(
                f"the outcome {source.outcome!r} must have values among {list(source.positive)} "
                f"(for 1) and others (for 0), but has {text.unique()[:5].tolist()}."
            )
        return positive.astype(np.int64)
    if column.name not in source.categories:
        numbers = pd.to_numeric(text, errors="coerce")
        if (numbers.notna() == text.notna()).all():
            return numbers
        if set(text.str.lower()) == {"yes", "no"}:
            return text.str.lower() == "yes"
    return text.astype("category")


def _prepare(frame: pd.DataFrame) -> pd.DataFrame:
    if "poutcome" in frame:  # the calls of the bank are in order of date, from May 2008 on
        month = frame["month"].astype(str).map(MONTHS.index)
        new_year = month < month.shift(fill_value=0)
        return frame.assign(year=BANK_FIRST_YEAR + new_year.cumsum())
    if "patient_nbr" in frame:  # the stays of one patient are not independent: the first is kept
        order = frame["encounter_id"].sort_values(kind="stable").index
        first = ~frame.loc[order, "patient_nbr"].duplicated()
        return frame[first.loc[frame.index]].reset_index(drop=True)
    return frame
