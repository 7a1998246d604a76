"""The bound on the risk under approximate balancing (``thm:upper_bound_risk``, eq. 14).

With probability at least 1 - delta, and RC of :func:`rademacher_term`,

    L_P(f^) <= L_P(f*) + RC + 3 sqrt(log(2 / delta) / (2n))
             + 2 max_{x, f} E[l(f(x), y) | x]  sum_x |epsilon_x|
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.random_projection import johnson_lindenstrauss_min_dim

from stablepred._parameters import between
from stablepred.exceptions import InputError
from stablepred.theory.checks import check_binary, check_bound, check_integer, check_weights
from stablepred.theory.patterns import joint_imbalance


@dataclass(frozen=True)
class RiskBound:
    """The four parts of the bound; prints as a table."""

    best_risk: float | None  #: L_P(f*), if known.
    complexity: float  #: The Rademacher term.
    deviation: float  #: The term of the confidence 1 - delta.
    imbalance: float  #: The term of the joint imbalance.
    max_loss: float  #: The largest expected loss in the class; no risk is above it.
    delta: float  #: One minus the confidence.

    @property
    def excess(self) -> float:
        """How far the risk can be above the best one: the last three parts."""
        return self.complexity + self.deviation + self.imbalance

    @property
    def total(self) -> float | None:
        """The bound on the risk itself; None where the best risk is not known."""
        return None if self.best_risk is None else self.best_risk + self.excess

    @property
    def vacuous(self) -> bool:
        """Whether the bound (best risk 0 if not known) is no smaller than the largest loss."""
        return (self.best_risk or 0.0) + self.excess >= self.max_loss

    def __str__(self) -> str:
        best = "not given" if self.best_risk is None else f"{self.best_risk:.4g}"
        total = f"best risk + {self.excess:.4g}" if self.total is None else f"{self.total:.4g}"
        meaning = "vacuous: not below" if self.vacuous else "below"
        return (
            f"best risk    {best}\n"
            f"complexity   {self.complexity:.4g}\n"
            f"deviation    {self.deviation:.4g} (confidence {1 - self.delta:g})\n"
            f"imbalance    {self.imbalance:.4g}\n"
            f"bound        {total}\n"
            f"             {meaning} the largest possible loss, {self.max_loss:.4g}"
        )


def _norms(model: Any) -> dict[str, Any]:
    """The smallest class that holds a fitted model, as arguments of `rademacher_term`."""
    coefficients = np.atleast_2d(np.asarray(getattr(model, "coef_", np.nan), dtype=np.float64))
    if not np.isfinite(coefficients).all() or len(coefficients) != 1:
        raise InputError(
            f"{type(model).__name__} has no finite coef_ with one row; give a fitted linear or "
            "deep classifier of two classes."
        )
    encoders = getattr(model, "encoders_", [])  # none, or a single one
    on_features = not encoders or model.head_ == "features"
    layers = [] if on_features else encoders[0]  # of A (d_out, d_in) and b (d_out,)
    # The paper's models have no intercept; here it is the weight of the constant neuron.
    beta = np.append(coefficients, np.ravel(getattr(model, "intercept_", 0.0)))
    return {
        "p": layers[0][0].shape[1] if layers else coefficients.shape[1],
        "hidden": [len(b) for _, b in layers],
        "beta_l2_bound": float(beta @ beta),
        "beta_l1_bound": float(np.abs(beta).sum()),
        "network_bound": float(sum((a**2).sum() for a, _ in layers)),
        "bias_bounds": [float(np.linalg.norm(b)) for _, b in layers],
    }


def _beta_reach(
    p: int,
    hidden: Sequence[int] = (),
    beta_l2_bound: float = math.inf,
    beta_l1_bound: float = math.inf,
    **others: Any,
) -> float:
    """min(sqrt(lambda_4 l_K), lambda_5); no |beta'[phi; 1]| is larger, as 0 <= phi <= 1."""
    l2 = check_bound(beta_l2_bound, "beta_l2_bound", finite=False)
    l1 = check_bound(beta_l1_bound, "beta_l1_bound", finite=False)
    reach = min(math.sqrt(l2 * ([p, *hidden][-1] + 1)), l1)
    if math.isinf(reach):
        raise InputError("give a finite beta_l2_bound, a finite beta_l1_bound, or both.")
    return reach


def rademacher_term(
    n: int,
    p: int,
    *,
    hidden: Sequence[int] = (),
    beta_l2_bound: float = math.inf,
    beta_l1_bound: float = math.inf,
    network_bound: float = 0.0,
    bias_bounds: float | Sequence[float] = 0.0,
) -> float:
    """The complexity of the class of models (second part of ``thm:upper_bound_risk``, eq. 14).

        RC = 2^{K+3} sqrt(2 log(2p) / n) min(sqrt(lambda_4 l_K), lambda_5) prod_k B_k sqrt(l_{k-1})

    with B_k = sqrt(lambda_7 + M_k^2), l_0 = p + 1 and l_k = d_k + 1 for d_k neurons in layer k. The
    lambdas are bounds on norms, not the strengths of eq. 19; it rises with each of them.

    Parameters
    ----------
    n, p : int
        Number of rows and of features.
    hidden : sequence of int
        Widths d_1 ... d_K of the encoder's layers. Empty for a model that is linear in the
        features: then K = 0 and the product is 1.
    beta_l2_bound, beta_l1_bound : float
        lambda_4, on ||beta||_2^2, and lambda_5, on ||beta||_1. One of them may be infinite.
    network_bound : float
        lambda_7, on sum_k ||A_k||_F^2 (on each ||A_k||_F^2 in RFWDGBR).
    bias_bounds : float or sequence of K floats
        M_k, on ||b_k||_2; one number stands for all layers.
    """
    if np.ndim(bias_bounds) and np.size(bias_bounds) != len(hidden):
        raise InputError(
            f"bias_bounds has {np.size(bias_bounds)} entries, but the encoder has {len(hidden)} "
            "layers; give one bound for each layer, or one number for all."
        )
    several = np.broadcast_to(np.asarray(bias_bounds), len(hidden)).tolist()
    n, p = check_integer(n, "n", 1), check_integer(p, "p", 1)
    widths = [p, *(check_integer(width, "every entry of hidden", 1) for width in hidden)]
    network = check_bound(network_bound, "network_bound")
    biases = [check_bound(bias, "every entry of bias_bounds") for bias in several]
    reach = _beta_reach(p, hidden, beta_l2_bound, beta_l1_bound)
    pairs = zip(biases, widths, strict=False)
    layers = (math.sqrt((network + b**2) * (d + 1)) for b, d in pairs)  # B_k sqrt(l_{k-1})
    return 2.0 ** (len(hidden) + 3) * math.sqrt(2 * math.log(2 * p) / n) * reach * math.prod(layers)


def risk_bound(
    model: Any = None,
    X: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    n: int | None = None,
    p: int | None = None,
    hidden: Sequence[int] = (),
    beta_l2_bound: float | None = None,
    beta_l1_bound: float | None = None,
    network_bound: float | None = None,
    bias_bounds: float | Sequence[float] | None = None,
    imbalance: float | None = None,
    max_loss: float | None = None,
    delta: float = 0.05,
    best_risk: float | None = None,
) -> RiskBound:
    """The four parts of the bound on the risk (``thm:upper_bound_risk``, eq. 14).

    For a fitted model, with its own norms: ``risk_bound(model, X)``; or for a class of models, by
    numbers: ``risk_bound(n=1000, p=5, beta_l1_bound=1.0, imbalance=0.1)``.

    Parameters
    ----------
    model : fitted classifier, optional
        Its ``coef_`` (with ``intercept_``, as the weight of the constant neuron), ``encoders_``
        and ``sample_weight_`` are used. A model without encoder, or with ``head="features"``, is
        linear: K = 0. A model without ``sample_weight_`` has equal weights.
    X : array or frame of 0/1, shape (n, p), optional
        The rows the model was fitted on, for n, p and the joint imbalance.
    sample_weight : array of shape (n,), optional
        The weights that were given to ``fit``; they multiply the model's own.
    n, p : int, optional
        Number of rows and of features, where they do not follow from ``X`` or ``model``.
    hidden, beta_l2_bound, beta_l1_bound, network_bound, bias_bounds : optional
        The class of models, as in :func:`rademacher_term`; not together with ``model``.
    imbalance : float, optional
        sum_x |epsilon_x|, between 0 and 2, where it is not to be computed from ``X``.
    max_loss : float, optional
        max_{x, f} E[l(f(x), y) | x]. By default what the norm bounds allow at worst:
        log(1 + exp(min(sqrt(lambda_4 l_K), lambda_5))), as all neurons lie in [0, 1].
    delta : float, default=0.05
        One minus the confidence.
    best_risk : float, optional
        L_P(f*), the smallest risk in the class. Without it the bound is an excess over it.

    Notes
    -----
    The bound is mostly vacuous at the sizes in use, and less certain than it looks: the deviation
    term is that of a loss in [0, 1] (the logistic loss goes up to ``max_loss``), rows of unequal
    weight say less than n rows of equal weight, and the norms of a fitted model were found from the
    data. What it shows is that smaller norms, more rows and better balance bring it down.
    """
    between(0, 1)("delta", delta)
    names = ("hidden", "beta_l2_bound", "beta_l1_bound", "network_bound", "bias_bounds")
    bounds = (tuple(hidden) or None, beta_l2_bound, beta_l1_bound, network_bound, bias_bounds)
    given = {name: b for name, b in zip(names, bounds, strict=True) if b is not None}
    if model is not None and (given or p is not None):
        raise InputError("give a fitted model, or p, hidden and the bounds on norms, not both.")
    rows, features, epsilon = _sample(model, X, sample_weight, n, p, imbalance)
    within = {"p": features, **given} if model is None else _norms(model)
    complexity = rademacher_term(rows, **within)
    worst = np.logaddexp(0.0, _beta_reach(**within)) if max_loss is None else max_loss
    return RiskBound(
        best_risk=None if best_risk is None else check_bound(best_risk, "best_risk"),
        complexity=complexity,
        deviation=3 * math.sqrt(math.log(2 / float(delta)) / (2 * rows)),
        imbalance=2 * check_bound(worst, "max_loss") * epsilon,
        max_loss=float(worst),
        delta=float(delta),
    )


def _sample(
    model: Any, X: Any, sample_weight: ArrayLike | None, n: Any, p: Any, epsilon: Any
) -> tuple[int, int, float]:
    """n, p and the sum of |epsilon_x|: as given, else from X and the weights."""
    p = getattr(model, "n_features_in_", p)
    if X is not None:
        x, _ = check_binary(X)
        if p not in (None, x.shape[1]):
            raise InputError(f"X has {x.shape[1]} features, but {p} were expected.")
        ones = np.ones(len(x))
        c = check_weights(ones if sample_weight is None else sample_weight, len(x))
        w = check_weights(getattr(model, "sample_weight_", ones), len(x))
        n, p = np.count_nonzero(c) if n is None else n, x.shape[1]
        epsilon = joint_imbalance(x, c * w).total if epsilon is None else epsilon
    if n is None or p is None or epsilon is None:
        raise InputError("give the rows X, or n, p and imbalance as numbers.")
    if check_bound(epsilon, "imbalance") > 2 + 1e-9:
        raise InputError(f"imbalance is a sum of |epsilon_x|, at most 2, but is {epsilon!r}.")
    return check_integer(n, "n", 1), check_integer(p, "p", 1), float(epsilon)


def johnson_lindenstrauss_dimension(n: int, epsilon: float) -> int:
    """Dimension in which n points keep their distances up to 1 +- epsilon (section 4.1).

        k >= 4 log(n) / (epsilon^2 / 2 - epsilon^3 / 3)

    scikit-learn's ``johnson_lindenstrauss_min_dim``, rounded down to an integer. The lemma speaks
    of a suitable linear map, not of a trained sigmoid network, and the dimension does not depend on
    p: for a thousand points at epsilon = 1/2 it is 331, more than the features in use.

    Parameters
    ----------
    n : int
        Number of points.
    epsilon : float
        Largest relative change of a squared distance, between 0 and 1. (The paper states the
        lemma up to 1/2.)
    """
    between(0, 1)("epsilon", epsilon)
    return int(johnson_lindenstrauss_min_dim(check_integer(n, "n", 1), eps=epsilon))
