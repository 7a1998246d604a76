"""Data worlds: environments, synthetic worlds, biased selection; tables as they come."""

from stablepred.data.environment import Environment
from stablepred.data.selection import biased_sample, deliverable_rows
from stablepred.data.synthetic import SyntheticWorld
from stablepred.data.table_encoder import TableEncoder
from stablepred.data.table_model import TableModel, fit_table
from stablepred.data.tables import read_table

__all__ = [
    "Environment",
    "SyntheticWorld",
    "TableEncoder",
    "TableModel",
    "biased_sample",
    "deliverable_rows",
    "fit_table",
    "read_table",
]
