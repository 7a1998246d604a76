"""Search for the hyper-parameters that predict well, and equally well, in every environment.

The paper (section 5.3) minimises Average_Error + lambda * Stability_Error over validation
environments made from the training data alone: held-out rows in which the features found noisy
follow the outcome at other rates (``stablepred.validation.environments``).
"""

import typing as _typing

from stablepred._extras import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred.validation.search import StableSearchCV as StableSearchCV

__getattr__, __dir__, __all__ = _attach(__name__)
