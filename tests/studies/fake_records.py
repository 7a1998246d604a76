"""Results that look like those of runs, made in no time."""

import numpy as np

from stablepred._random import child_seed
from studies.methods import REFERENCES
from studies.paper.panels import LINE

# Average_Error and slope over the test environments by method.
LEVELS = {
    "LR": (0.40, 0.8),
    "DLR": (0.38, 0.7),
    "GBR": (0.25, 0.05),
    "DGBR": (0.20, 0.02),
    "Stable": (0.19, 0.015),
    "LR (no intercept)": (0.37, 0.6),
    "LR (chosen penalty)": (0.39, 0.8),
    "GBR (paper)": (0.36, 0.55),
    "GBR (paper, intercept)": (0.41, 0.85),
    "DGBR (paper)": (0.33, 0.5),
    "DGBR (paper, intercept)": (0.34, 0.5),
    "constant": (0.49, 0.0),
    "oracle": (0.22, 0.01),
    "oracle (chosen penalty)": (0.22, 0.01),
    "oracle (network)": (0.21, 0.01),
    "floor": (0.18, 0.005),
}


def fake_errors(name, seed, biases, shift=0.0):
    """Errors that fall over the environments, and their summaries."""
    level, slope = LEVELS[name]
    rng = np.random.default_rng(child_seed(seed, name))
    rates = np.array(biases)
    errors = level + shift + slope * (0.5 - rates) / 2 + rng.normal(0, 0.001, len(rates))
    return {
        "errors": {f"r={rate:g}": float(e) for rate, e in zip(rates, errors, strict=True)},
        "average": float(errors.mean()),
        "stability": float(errors.std(ddof=1)),
        "noise": 0.001,
    }


def fake_run(definition):
    """What `PaperStudy.run` would give, without any fit."""
    if definition["kind"] == "theory":
        n = len(definition["rows"])
        return {"expected": {str(p): np.linspace(1, 0, n).tolist() for p in definition["features"]}}
    panel, seed = definition["panel"], definition["seed"]
    if definition["kind"] == "references":
        found = {k: fake_errors(k, seed, panel["test_biases"]) for k in REFERENCES}
        ends = found["constant"], fake_errors("LR", seed, panel["test_biases"])
        line = {
            title: np.interp(LINE, [0, 1], [end[error] for end in ends]).tolist()
            for error, title in (("average", "Average_Error"), ("stability", "Stability_Error"))
        }
        return {**found, "line": line, "base_rate": 0.5}
    method, settings = definition["method"], definition["settings"]
    # The paper's strengths: smallest at balance = 1.
    shift = 0.01 * abs(np.log10(settings.get("balance") or 1.0))
    result = fake_errors(method, seed, panel["test_biases"], shift) | {
        "fit_seconds": 1.0,
        "warnings": ["it is slow"] if method == "DLR" else [],
        "effective_share": None if method == "LR" else 0.04 if method == "GBR" else 0.5,
        "f1": None if method == "LR" else 0.97,
        "auc": {} if method == "LR" else {"effect": 0.9},
    }
    if panel["keeps_encoder"]:
        names = [f"S{j}" for j in range(1, 9)] + [f"V{j}" for j in range(1, 13)]
        size = 0.0 if method == "DGBR" else 1.0
        result["first_layer"] = {
            name: [1.0, 1.0] if name.startswith("S") or name == "V1" else [size, size]
            for name in names
        }
    if definition["kind"] == "tuned":
        params = {name: values[0] for name, values in definition["search"]["grid"].items()}
        result |= {"params": params, "hindsight": fake_errors(method, seed, panel["test_biases"])}
        result["candidates"] = [{name: result[name] for name in ("average", "stability")}]
    return result
