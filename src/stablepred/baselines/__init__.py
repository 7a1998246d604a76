"""Methods of the field, each in one short file written from its paper, behind one interface."""

import typing as _typing

from stablepred._lazy import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred.baselines.anchor import AnchorRegressor
    from stablepred.baselines.dro import DROClassifier, DRORegressor
    from stablepred.baselines.dwr import DWRBalancer
    from stablepred.baselines.group_dro import GroupDROClassifier
    from stablepred.baselines.srdo import SRDOBalancer

__all__ = [
    "AnchorRegressor",
    "DROClassifier",
    "DRORegressor",
    "DWRBalancer",
    "GroupDROClassifier",
    "SRDOBalancer",
]

__getattr__, __dir__ = _attach(__name__)
