"""Environments, synthetic worlds, biased selection, real data sets, and tables as they come."""

import typing as _typing

from stablepred._lazy import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred.tables.counting import PatternCounts, count_patterns
    from stablepred.tables.datasets import DATASETS, Dataset, load_dataset
    from stablepred.tables.encoder import TableEncoder
    from stablepred.tables.engines import predict_table
    from stablepred.tables.files import read_table
    from stablepred.tables.table_model import TableModel, fit_table
    from stablepred.worlds.continuous import ContinuousWorld
    from stablepred.worlds.environment import Environment
    from stablepred.worlds.selection import biased_sample, deliverable_rows
    from stablepred.worlds.synthetic import SyntheticWorld

__all__ = [
    "DATASETS",
    "ContinuousWorld",
    "Dataset",
    "Environment",
    "PatternCounts",
    "SyntheticWorld",
    "TableEncoder",
    "TableModel",
    "biased_sample",
    "count_patterns",
    "deliverable_rows",
    "fit_table",
    "load_dataset",
    "predict_table",
    "read_table",
]

__getattr__, __dir__ = _attach(__name__)
