"""The paper's formulas, one feature and one row at a time, in NumPy."""

import math

import numpy as np


def sigmoid_layers(x, layers):
    """phi(x) of one row after the other."""
    embedded = []
    for row in np.asarray(x, dtype=float):
        hidden = row
        for weight, bias in layers:
            hidden = 1 / (1 + np.exp(-(np.asarray(weight) @ hidden + np.asarray(bias))))
        embedded.append(hidden)
    return np.array(embedded)


def balance(x, v, phi=lambda x: x, scale=1.0, shared=None):
    """L_Bal (eqs. 4 and 17): phi of X with column j set to zero, for each treatment j."""
    return sum(float((gap**2).sum()) for gap in gaps(x, v, phi, scale, shared))


def gaps(x, v, phi=lambda x: x, scale=1.0, shared=None):
    """The vectors whose squared norms L_Bal adds up, one for each treatment."""
    vectors = []
    for j in range(x.shape[1]):
        removed = x.copy()
        removed[:, j] = 0
        if shared is not None:
            removed[:, np.flatnonzero(shared[j])] = 0
        embedded = phi(removed)
        on, off = sum(v * x[:, j]), sum(v * (1 - x[:, j]))
        if on == 0 or off == 0:
            vectors.append(np.zeros(embedded.shape[1]))
            continue
        treated = sum(v[i] * embedded[i] for i in range(len(x)) if x[i, j] == 1)
        control = sum(v[i] * embedded[i] for i in range(len(x)) if x[i, j] == 0)
        vectors.append((treated / on - control / off) / scale)
    return vectors


def slopes(x, v, phi=lambda x: x, scale=1.0, shared=None):
    """Weighted least-squares slopes of phi(X with column j set to zero) on x_j, for each j."""
    vectors = []
    for j in range(x.shape[1]):
        removed = x.copy()
        removed[:, j] = 0
        if shared is not None:
            removed[:, np.flatnonzero(shared[j])] = 0
        design = np.column_stack([np.ones(len(x)), x[:, j]]) * np.sqrt(v)[:, None]
        line, *_ = np.linalg.lstsq(design, phi(removed) * np.sqrt(v)[:, None], rcond=None)
        vectors.append(line[1] / scale)
    return vectors


def weighted_sd(phi, mass):
    """Standard deviation of each coordinate under the mass of the rows.

    With 1e-12 added to the variance, so that a constant coordinate divides by something.
    """
    mean = sum(m * row for m, row in zip(mass, phi, strict=True))
    variance = sum(m * (row - mean) ** 2 for m, row in zip(mass, phi, strict=True))
    return np.sqrt(variance + 1e-12)


def prediction(logits, y, v):
    """L_Pre (eq. 16)."""
    return sum(
        weight * math.log1p(math.exp((1 - 2 * outcome) * logit))
        for weight, outcome, logit in zip(v, y, logits, strict=True)
    )


def mixed_terms(x, y, mass, w, beta, intercept=0.0, encoder=None, decoder=None, scaled=False):
    """Every term of L_mix (eqs. 15-19) in the scale of the library, by name."""
    network = encoder is not None
    phi = sigmoid_layers(x, encoder) if network else x
    terms = {
        "prediction": prediction(phi @ beta + intercept, y, mass * w),
        "weight_l2": sum(mass * w**2),
        "l2": sum(beta**2),
        "l1": sum(abs(beta)),
        "weight_sum": (sum(mass * w) - 1) ** 2,
        "reconstruction": 0.0,
        "network_l2": 0.0,
    }
    if not network:
        return terms | {"balance": balance(x, mass * w)}
    errors = x - sigmoid_layers(phi, decoder)
    terms["reconstruction"] = sum(
        m * k**2 * sum(e**2) for m, k, e in zip(mass, w, errors, strict=True)
    )
    terms["network_l2"] = sum(float((a**2).sum()) for a, _ in [*encoder, *decoder])
    scale = weighted_sd(phi, mass) if scaled else 1.0
    terms["balance"] = balance(x, mass * w, lambda rows: sigmoid_layers(rows, encoder), scale)
    return terms
