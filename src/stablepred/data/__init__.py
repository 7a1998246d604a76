"""Data worlds: environments, synthetic worlds, biased selection on real tables."""

from stablepred.data.environment import Environment
from stablepred.data.selection import biased_sample, deliverable_rows
from stablepred.data.synthetic import SyntheticWorld

__all__ = ["Environment", "SyntheticWorld", "biased_sample", "deliverable_rows"]
