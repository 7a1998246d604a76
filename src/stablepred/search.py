"""Search for the hyper-parameters that predict well, and equally well, in every environment."""

import typing as _typing

from stablepred._extras import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred.validation.search import StableSearchCV as StableSearchCV

__getattr__, __dir__, __all__ = _attach(__name__)
