"""The paper's theory (section 4, appendices A to E): one function per statement, which it names."""

import typing as _typing

from stablepred._extras import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred.theory.alpha import MaximumImbalance as MaximumImbalance
    from stablepred.theory.alpha import MultinomialImbalance as MultinomialImbalance
    from stablepred.theory.alpha import expected_imbalance as expected_imbalance
    from stablepred.theory.alpha import imbalance_bound as imbalance_bound
    from stablepred.theory.alpha import imbalance_mean as imbalance_mean
    from stablepred.theory.alpha import maximum_imbalance as maximum_imbalance
    from stablepred.theory.alpha import missing_distribution as missing_distribution
    from stablepred.theory.alpha import multinomial_imbalance as multinomial_imbalance
    from stablepred.theory.patterns import JointImbalance as JointImbalance
    from stablepred.theory.patterns import Overlap as Overlap
    from stablepred.theory.patterns import exact_weights as exact_weights
    from stablepred.theory.patterns import joint_imbalance as joint_imbalance
    from stablepred.theory.patterns import missing_patterns as missing_patterns
    from stablepred.theory.patterns import overlap as overlap
    from stablepred.theory.risk import RiskBound as RiskBound
    from stablepred.theory.risk import (
        johnson_lindenstrauss_dimension as johnson_lindenstrauss_dimension,
    )
    from stablepred.theory.risk import rademacher_term as rademacher_term
    from stablepred.theory.risk import risk_bound as risk_bound

__getattr__, __dir__, __all__ = _attach(__name__)
