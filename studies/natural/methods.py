"""What the study compares, and the columns that each method takes."""

from typing import Any

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from stablepred.baselines.methods import registered
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
    Method,
    Settings,
)


def _registered(name: str) -> Method:
    return Method(
        lambda random_state=None: registered(numeric=False)[name](random_state), revision=2
    )


# Methods of the field: DRO, and LR under weights.
DRO, DWR, SRDO = "DRO (chi²)", "LR + DWR", "LR + SRDO"
FIELD = {DRO: _registered("dro_chi2"), DWR: _registered("dwr"), SRDO: _registered("srdo")}
KNOWN = METHODS | FIELD
# Methods that are given the labels of several training environments.
WITH_LABELS, GROUP_DRO = "Stable (environments)", "group DRO"

# On all rows, and in the quick version; with at most so many rows, the others as well.
ON_ALL_ROWS = (CONSTANT, LR, CHOSEN_LR, BOOSTING, OURS)
COMPARED = (CONSTANT, LR, CHOSEN_LR, BOOSTING, GBR, DGBR, *FIELD, OURS)
FIRST_SEED_ONLY = (DGBR,)  # it takes most of the time
CHANGES: dict[str, Settings] = {LR: {"max_iter": 1000}}


def make_method(name: str, seed: int) -> Any:
    """The unfitted method with all that turns a table into its columns."""
    model = KNOWN[name](seed, **CHANGES.get(name, {}))
    if name in (LR, CHOSEN_LR):
        return make_pipeline(_standard_columns(), model)
    if name in (GBR, DGBR):
        return make_pipeline(TableEncoder(dichotomize="mean"), model)
    return make_pipeline(TableEncoder(), model) if name in FIELD else model


def settings(name: str) -> Settings:
    """The parameters that decide the result."""
    return KNOWN[name].settings(**CHANGES.get(name, {})) if name in KNOWN else {}


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
