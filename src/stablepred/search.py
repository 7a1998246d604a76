"""Search for the hyper-parameters that predict well, and equally well, in every environment.

The paper (section 5.3) minimises Average_Error + lambda * Stability_Error over validation
environments made from the training data alone: held-out rows in which the features found noisy
follow the outcome at other rates (``stablepred.validation.environments``).
"""

from stablepred.validation.search import StableSearchCV

__all__ = ["StableSearchCV"]
