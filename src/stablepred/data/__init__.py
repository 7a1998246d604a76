"""Environments, synthetic worlds, biased selection, real data sets, and tables as they come."""

from stablepred.data.environment import Environment
from stablepred.data.pattern_counts import PatternCounts, count_patterns
from stablepred.data.real import Dataset, load_dataset
from stablepred.data.selection import biased_sample, deliverable_rows
from stablepred.data.sources import DATASETS
from stablepred.data.synthetic import SyntheticWorld
from stablepred.data.table_encoder import TableEncoder
from stablepred.data.table_model import TableModel, fit_table
from stablepred.data.tables import read_table

__all__ = [
    "DATASETS",
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
    "read_table",
]
