"""Methods of the field, each in one short file written from its paper, behind one interface."""

import typing as _typing

from stablepred._extras import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred.baselines.anchor import AnchorRegressor as AnchorRegressor
    from stablepred.baselines.dro import DROClassifier as DROClassifier
    from stablepred.baselines.dro import DRORegressor as DRORegressor
    from stablepred.baselines.dwr import DWRBalancer as DWRBalancer
    from stablepred.baselines.group_dro import GroupDROClassifier as GroupDROClassifier
    from stablepred.baselines.srdo import SRDOBalancer as SRDOBalancer

__getattr__, __dir__, __all__ = _attach(__name__)
