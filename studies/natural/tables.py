"""Thirteen tables with natural environments, and made-up ones for the quick version.

The files of eight of them, ``heart.csv.gz`` and so on (columns ``env``, ``y``, then the features),
are looked for in ``natural`` below the folder that ``STABLEPRED_DATA`` names, in that folder, and
in the same two places of the cache. The other five are those of ``stablepred.data.load_dataset``,
in groups of age.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred.exceptions import InputError
from stablepred.tables.datasets import FOLDER_VARIABLE, cache_folder, load_dataset

Counts = Mapping[str, int]

# Rows of every environment, so that the cases are known without the files.
NATURAL: dict[str, Counts] = {
    "chile88": {"C": 384, "N": 237, "S": 489, "SA": 591},
    "compas": {"African-American": 3175, "Caucasian": 2103, "Hispanic": 509, "Other": 343},
    "crash": {
        "y1997": 3975,
        "y1998": 4427,
        "y1999": 4516,
        "y2000": 4420,
        "y2001": 4115,
        "y2002": 4764,
    },
    "heart": {"cleveland": 303, "hungarian": 294, "switzerland": 123, "va": 200},
    "oulad": {
        "AAA": 601,
        "BBB": 5471,
        "CCC": 2278,
        "DDD": 3805,
        "EEE": 2112,
        "FFF": 5060,
        "GGG": 2235,
    },
    "students": {"GP-mat": 349, "GP-por": 423, "MS-por": 226},
    "wine": {"red": 1359, "white": 3961},
    "wvs": {"Australia": 1874, "Norway": 1127, "Sweden": 1003, "USA": 1377},
}
BY_AGE: dict[str, Counts] = {
    "bank": {"<30": 5273, "30s": 18089, "40s": 11655, "50+": 10194},
    "bank-additional": {"<30": 5669, "30s": 16938, "40s": 10526, "50+": 8055},
    "adult": {"<30": 14515, "30s": 12929, "40s": 10724, "50+": 10674},
    "diabetes": {"<40": 4515, "40s": 6878, "50s": 12466, "60s": 15960, "70s": 18210, "80+": 13489},
    "credit": {"<30": 9618, "30s": 11238, "40s": 6464, "50+": 2680},
}
MADE_UP: dict[str, Counts] = {
    "made-up numbers": {"a": 180, "b": 120, "c": 110},
    "made-up categories": {"a": 150, "b": 120},
}
ENVIRONMENTS: dict[str, Counts] = NATURAL | BY_AGE | MADE_UP
AGE_BOUNDS, AGE_NAMES = [0, 30, 40, 50, 200], ["<30", "30s", "40s", "50+"]
DECADES = {0: "<40", 40: "40s", 50: "50s", 60: "60s", 70: "70s", 80: "80+"}  # of the patients
NO_FEATURES = ("age", "AGE", "year")  # they make the environments, or the order of the rows does


@dataclass(frozen=True, eq=False)
class NaturalTable:
    """A table with the environment of every row.

    Attributes
    ----------
    X : DataFrame
        Numbers and categories as they come, with missing values.
    y : ndarray
        0 or 1.
    environment : ndarray of str
    """

    X: pd.DataFrame
    y: NDArray[np.int64]
    environment: NDArray[np.str_]


@lru_cache(maxsize=2)
def load_table(name: str) -> NaturalTable:
    """A table by name; InputError where its file is not found or is another one."""
    if name in NATURAL:
        frame = pd.read_csv(_find_file(f"{name}.csv.gz"), dtype={"env": str})
        table = _make_table(frame.drop(columns=["env", "y"]), frame["y"], frame["env"])
    else:
        table = _by_age(name) if name in BY_AGE else _make_up(name)
    names, counts = np.unique(table.environment, return_counts=True)
    found = dict(zip(names.tolist(), counts.tolist(), strict=True))
    if found != ENVIRONMENTS[name]:
        raise InputError(
            f"the table {name!r} has other rows per environment than the study expects: {found}, "
            f"expected are {dict(ENVIRONMENTS[name])}."
        )
    return table


def _find_file(file: str) -> Path:
    """The first of the places that has the file."""
    named = os.environ.get(FOLDER_VARIABLE)
    folders = [*([Path(named)] if named else []), cache_folder()]
    places = [place / file for folder in folders for place in (folder / "natural", folder)]
    for path in places:
        if path.is_file():
            return path
    raise InputError(
        f"{file!r} was not found; put it into {str(cache_folder() / 'natural')!r}, or into "
        f"'natural' below the folder that {FOLDER_VARIABLE} names."
    )


def _make_table(X: pd.DataFrame, y: pd.Series, environment: pd.Series) -> NaturalTable:
    """Booleans become 0/1, and strings categories; constant columns are left out."""
    columns = {}
    for name in X.columns[X.nunique() > 1]:
        column = X[name]
        is_number = pd.api.types.is_numeric_dtype(column)
        columns[str(name)] = column * 1 if is_number else column.astype("category")
    return NaturalTable(
        pd.DataFrame(columns), y.to_numpy(dtype=np.int64), environment.to_numpy(dtype=str)
    )


def _by_age(name: str) -> NaturalTable:
    """A data set of the library, in groups of age."""
    dataset = load_dataset(name)
    frame = dataset.frame
    age = frame["AGE" if "AGE" in frame else "age"]
    X = frame.drop(columns=[dataset.outcome, *NO_FEATURES], errors="ignore")
    if name != "diabetes":
        groups = pd.cut(age, AGE_BOUNDS, right=False, labels=AGE_NAMES)
        return _make_table(X, frame[dataset.outcome], groups)
    decade = age.astype(str).str.extract(r"\[(\d+)-")[0].astype(int)
    # Codes of diagnoses: the first character names the chapter.
    for code in ("diag_1", "diag_2", "diag_3"):
        X[code] = X[code].astype(object).str[:1]
    groups = decade.where(decade >= 40, 0).clip(upper=80).map(DECADES)
    return _make_table(X, frame[dataset.outcome], groups)


def _make_up(name: str) -> NaturalTable:
    """A table whose outcome follows the same rule everywhere, with features that move."""
    counts = ENVIRONMENTS[name]
    rng = np.random.default_rng(len(name))
    environment = pd.Series(np.repeat(list(counts), list(counts.values())))
    n = len(environment)
    shift = environment.map({e: 0.3 * k for k, e in enumerate(counts)}).to_numpy()
    z = rng.normal(size=(n, 4)) + shift[:, None]
    y = pd.Series((rng.random(n) < 1 / (1 + np.exp(-1.5 * z[:, 0] + z[:, 1]))).astype(int))
    X = pd.DataFrame(z).add_prefix("x")
    if name == "made-up categories":
        X = X.apply(lambda x: pd.cut(x, [-9, -0.5, 0.5, 9], labels=["low", "middle", "high"]))
    else:
        X.loc[rng.random(n) < 0.2, "x3"] = np.nan
    return _make_table(X, y, environment)
