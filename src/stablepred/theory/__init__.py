"""The paper's theory (section 4 and appendices A to E), one function per statement.

================================================  =================================================
statement                                         function
================================================  =================================================
``thm1``, ``prop:svindep``, ``prop:yvindep``      :func:`exact_weights`
Assumption 2, ``pro:population_overlap``          :func:`overlap`, :func:`missing_patterns`
alpha, eqs. 9 and 10                              :func:`maximum_imbalance`
``lemma:alpha``, eq. 12                           :func:`imbalance_bound`, :func:`imbalance_mean`
``thm:mean_alpha``, eq. 11                        :func:`expected_imbalance`,
                                                  :func:`missing_distribution`,
                                                  :func:`multinomial_imbalance`
epsilon_x, eq. 13                                 :func:`joint_imbalance`
``thm:upper_bound_risk``, eq. 14                  :func:`rademacher_term`, :func:`risk_bound`
the lemma of Johnson and Lindenstrauss            :func:`johnson_lindenstrauss_dimension`
================================================  =================================================
"""

import typing as _typing

from stablepred._lazy import attach as _attach

if _typing.TYPE_CHECKING:
    from stablepred.theory.alpha import (
        MaximumImbalance,
        MultinomialImbalance,
        expected_imbalance,
        imbalance_bound,
        imbalance_mean,
        maximum_imbalance,
        missing_distribution,
        multinomial_imbalance,
    )
    from stablepred.theory.patterns import (
        JointImbalance,
        Overlap,
        exact_weights,
        joint_imbalance,
        missing_patterns,
        overlap,
    )
    from stablepred.theory.risk import (
        RiskBound,
        johnson_lindenstrauss_dimension,
        rademacher_term,
        risk_bound,
    )

__all__ = [
    "JointImbalance",
    "MaximumImbalance",
    "MultinomialImbalance",
    "Overlap",
    "RiskBound",
    "exact_weights",
    "expected_imbalance",
    "imbalance_bound",
    "imbalance_mean",
    "johnson_lindenstrauss_dimension",
    "joint_imbalance",
    "maximum_imbalance",
    "missing_distribution",
    "missing_patterns",
    "multinomial_imbalance",
    "overlap",
    "rademacher_term",
    "risk_bound",
]

__getattr__, __dir__ = _attach(__name__)
