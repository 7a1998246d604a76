"""Pictures of models and their errors, in scikit-learn's way: one Display per picture.

Every Display is made by ``from_estimator`` or a like constructor, which draws at once; ``plot``
draws again, ``ax_`` and ``figure_`` are matplotlib's. The pages of reports show the same pictures.
"""

import typing as _typing

from stablepred._extras import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred.plotting.displays import BalanceDisplay as BalanceDisplay
    from stablepred.plotting.displays import EnvironmentErrorsDisplay as EnvironmentErrorsDisplay
    from stablepred.plotting.displays import StabilityPriceDisplay as StabilityPriceDisplay
    from stablepred.plotting.displays import VariableEffectsDisplay as VariableEffectsDisplay
    from stablepred.plotting.displays import WeightsDisplay as WeightsDisplay

__getattr__, __dir__, __all__ = _attach(__name__)
