"""Environments, synthetic worlds, biased selection, real data sets, and tables as they come."""

import typing as _typing

from stablepred._extras import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred.tables.datasets import DATASETS as DATASETS
    from stablepred.tables.datasets import Dataset as Dataset
    from stablepred.tables.datasets import load_dataset as load_dataset
    from stablepred.tables.encoder import TableEncoder as TableEncoder
    from stablepred.tables.engines import PatternCounts as PatternCounts
    from stablepred.tables.engines import count_patterns as count_patterns
    from stablepred.tables.engines import predict_table as predict_table
    from stablepred.tables.files import read_table as read_table
    from stablepred.tables.table_model import TableModel as TableModel
    from stablepred.tables.table_model import fit_table as fit_table
    from stablepred.worlds.continuous import ContinuousWorld as ContinuousWorld
    from stablepred.worlds.environment import Environment as Environment
    from stablepred.worlds.selection import biased_sample as biased_sample
    from stablepred.worlds.selection import deliverable_rows as deliverable_rows
    from stablepred.worlds.synthetic import SyntheticWorld as SyntheticWorld

__getattr__, __dir__, __all__ = _attach(__name__)
