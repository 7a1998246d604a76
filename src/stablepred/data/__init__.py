"""Data worlds: environments, synthetic worlds, biased selection on real tables, real data sets."""

from stablepred.data.environment import Environment
from stablepred.data.real import Dataset, load_dataset
from stablepred.data.selection import biased_sample, deliverable_rows
from stablepred.data.sources import DATASETS
from stablepred.data.synthetic import SyntheticWorld

__all__ = [
    "DATASETS",
    "Dataset",
    "Environment",
    "SyntheticWorld",
    "biased_sample",
    "deliverable_rows",
    "load_dataset",
]
