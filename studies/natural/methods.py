"""What the study compares, and the columns that each method takes."""

from typing import Any

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from stablepred.data import TableEncoder
from studies.methods import (
    BOOSTING,
    CHOSEN_LR,
    CONSTANT,
    DGBR,
    GBR,
    LR,
    METHODS,
    OURS,
    Settings,
)

COMPARED = (CONSTANT, LR, CHOSEN_LR, BOOSTING, GBR, DGBR, OURS)
QUICK = (CONSTANT, LR, CHOSEN_LR, BOOSTING, OURS)
ENCODED = (GBR, DGBR)
CHANGES: dict[str, Settings] = {LR: {"max_iter": 1000}}


def make_method(name: str, seed: int) -> Any:
    """The unfitted method with all that turns a table into its columns."""
    model = METHODS[name](seed, **CHANGES.get(name, {}))
    if name in (LR, CHOSEN_LR):
        return make_pipeline(_standard_columns(), model)
    return make_pipeline(TableEncoder(dichotomize="mean"), model) if name in ENCODED else model


def settings(name: str) -> Settings:
    """The parameters that decide the result."""
    return METHODS[name].settings(**CHANGES.get(name, {})) if name in METHODS else {}


def _standard_columns() -> Any:
    """Numbers standardised, missing ones at their mean; one column per level of a category."""
    numbers = make_pipeline(
        StandardScaler(),
        SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
    )
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    )
