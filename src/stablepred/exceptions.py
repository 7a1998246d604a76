"""What can go wrong, by name. Messages say which column, what was found, what to do."""

from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning


class InputError(ValueError):
    """The input cannot be used; the message says which part, what was found and what to do."""


class MissingExtraError(InputError, ImportError):
    """A package is not installed; the message says which extra brings it."""


class ModelFileError(InputError):
    """A model file is damaged, foreign, or not a model file at all."""


class CheckpointError(InputError):
    """A checkpoint is damaged, foreign, or of another fit."""


class ShardError(RuntimeError):
    """A fit on row shards cannot go on, because another process has failed or hangs."""


class StablepredWarning(UserWarning):
    """Base of all warnings of this library."""


class ConvergenceWarning(StablepredWarning, SklearnConvergenceWarning):
    """A solver stopped at its iteration limit."""


class DegenerateWeightsWarning(StablepredWarning):
    """The balancing weights collapsed onto few rows, or are all equal."""


class CollapsedEmbeddingWarning(StablepredWarning):
    """An embedding hardly varies over the rows, so that balancing it says nothing."""


class ConstantFeatureWarning(StablepredWarning):
    """A feature (or a pair of features) has one value only and takes no part in the fit."""


class RedundantFeatureWarning(StablepredWarning):
    """Two features are equal in every row, or opposite, so that no weights can balance them."""


class OverlapWarning(StablepredWarning):
    """A feature is nearly always 0 or nearly always 1 and was left out."""


class ConstantPredictionWarning(StablepredWarning):
    """The fitted model predicts the same probability for every row."""


class TableWarning(StablepredWarning):
    """A column of a table was left out, or new rows hold what was not there in training."""
