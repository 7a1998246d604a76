"""Panels of the paper's figures, and what one run in a panel records.

A run is one method in one panel with one seed. Its record is keyed by a definition that holds the
panel, the seed, the method's name, all its settings and its revision, so that a changed default
of one method needs only that method's runs again. What is the same in two figures is run once: the
name of a panel is not part of the definition.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.pipeline import make_pipeline

from stablepred import theory
from stablepred._random import child_seed, numpy_generator
from stablepred.evaluation.metrics import (
    average_error,
    environment_errors,
    stability_error,
)
from stablepred.evaluation.predictions import predict_outcomes
from stablepred.validation.environments import RATES
from stablepred.worlds.environment import Environment
from stablepred.worlds.synthetic import SyntheticWorld
from studies.methods import (
    CHOSEN_LR,
    CONSTANT,
    DLR,
    FLOOR,
    METHODS,
    ORACLE,
    ORACLE_CHOSEN,
    ORACLE_NETWORK,
    fit,
)
from studies.records import Definition, Result
from studies.references import ConstantPredictor, Oracle, shrinkage_line

# Raised when the references, the environments or what is recorded of a run change.
REVISION = 3
NOT_RUN = ("name", "tuned", "small", "most_seeds")  # of a panel
LINE = np.linspace(0, 1, 51)  # the shares of LR along the shrinkage line


# --- definitions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Panel:
    """One training environment and its test environments.

    Attributes
    ----------
    name : str
        Figure and letter; not part of what is run.
    world : SyntheticWorld
    n : int
        Training rows.
    train_bias : float
        Bias rate r of the training environment.
    test_biases, test_rows
        Bias rates of the test environments, and rows of each.
    permuted : bool
        Whether the columns stand in a random order, another one for every seed.
    keeps_encoder : bool
        Whether records keep the encoder's first matrix.
    tuned : int
        Seeds, of those asked for the first, with which the methods are also tuned there; not part
        of what is run.
    small : bool
        Whether this is the small version of a panel; not part of what is run.
    most_seeds : int
        Of the seeds asked for, how many are run at most: fits of many features take minutes.
    """

    name: str
    world: SyntheticWorld
    n: int
    train_bias: float
    test_biases: tuple[float, ...] = RATES
    test_rows: int = 10_000
    permuted: bool = False
    keeps_encoder: bool = False
    tuned: int = 0
    small: bool = False
    most_seeds: int = 1000

    @property
    def definition(self) -> dict[str, Any]:
        """Everything that decides what is run, as plain values."""
        values = asdict(self) | {"test_biases": list(self.test_biases)}
        return {name: value for name, value in values.items() if name not in NOT_RUN}

    @classmethod
    def from_definition(cls, definition: Definition) -> Self:
        """The panel that a definition describes."""
        values = dict(definition)
        values["world"] = SyntheticWorld(**values["world"])
        values["test_biases"] = tuple(values["test_biases"])
        return cls(name="", **values)

    def quick(self) -> Self:
        """A small version that shows that it runs."""
        features = {20: 10, 40: 12, 80: 14}[self.world.n_features]
        biased = min(self.world.biased, 0.3)  # so that at stable=.6 none is both
        world = replace(self.world, n_features=features, biased=biased)
        return replace(self, world=world, n=self.n // 10, test_rows=200, small=True)


def references_definition(panel: Panel, seed: int) -> Definition:
    """The constant, the shrinkage line and the oracle of a panel."""
    return {"kind": "references", "revision": REVISION, "panel": panel.definition, "seed": seed}


def run_definition(panel: Panel, seed: int, method: str, **changes: Any) -> Definition:
    """One method in one panel with one seed; ``changes`` are to its defaults."""
    return {
        "kind": "run",
        "revision": [REVISION, METHODS[method].revision],
        "panel": panel.definition,
        "seed": seed,
        "method": method,
        "settings": METHODS[method].settings(**changes),
    }


def theory_definition(rows: Sequence[int], features: Sequence[int]) -> Definition:
    """E[alpha] for numbers of rows and of features."""
    return {"kind": "theory", "revision": 1, "rows": list(rows), "features": list(features)}


# --- data ---------------------------------------------------------------------------------------


class Data(NamedTuple):
    """What a run is trained and tested on."""

    train: Environment
    tests: list[Environment]


@lru_cache(maxsize=1)
def environments(panel: Panel, seed: int) -> Data:
    """The environments of a panel; the test environments are drawn from a seed of their own."""
    world = panel.world
    train = world.sample(panel.n, bias_rate=panel.train_bias, random_state=seed)
    test_seed = child_seed(seed, "test")
    tests = [
        world.sample(panel.test_rows, bias_rate=rate, random_state=test_seed)
        for rate in panel.test_biases
    ]
    if not panel.permuted:
        return Data(train, tests)
    order = numpy_generator(seed, "columns").permutation(world.feature_names).tolist()
    moved = [replace(part, X=part.X[order]) for part in (train, *tests)]
    return Data(moved[0], moved[1:])


# --- what is recorded ---------------------------------------------------------------------------


def run_references(definition: Definition) -> Result:
    """The references of a panel, with one seed."""
    panel = Panel.from_definition(definition["panel"])
    seed = definition["seed"]
    train, tests = environments(panel, seed)
    lr = LogisticRegression().fit(train.X, train.y)
    line = shrinkage_line(lr, train, tests, shares=LINE)
    return {
        CONSTANT: errors_of(ConstantPredictor(train), tests),
        **{name: errors_of(model, tests) for name, model in _informed(panel, train, seed)},
        "line": {name: line[name].round(5).tolist() for name in line},
        "base_rate": round(float(train.y.mean()), 4),
    }


def _informed(panel: Panel, train: Environment, seed: int) -> Iterator[tuple[str, Any]]:
    """What knows the true causes, or the true probability."""
    causes = panel.world.stable_features
    makers = {ORACLE_CHOSEN: METHODS[CHOSEN_LR], ORACLE_NETWORK: METHODS[DLR]}
    yield ORACLE, Oracle(train, causes)
    for name, make in makers.items():
        columns = make_column_transformer(("passthrough", causes))
        yield name, make_pipeline(columns, make(seed)).fit(train.X, train.y)
    yield FLOOR, Floor(panel.world)


@dataclass(frozen=True)
class Floor:
    """The true P(y | x): no model has smaller errors, but for chance."""

    world: SyntheticWorld

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """P(y = 0) and P(y = 1)."""
        positive = np.asarray(self.world.probability(X))
        return np.column_stack([1 - positive, positive])


def run_method(definition: Definition) -> Result:
    """One method in a panel, with one seed."""
    panel, seed = Panel.from_definition(definition["panel"]), definition["seed"]
    data = environments(panel, seed)
    model = METHODS[definition["method"]].restore(seed, definition["settings"])
    fitted = fit(lambda: model, data.train)
    return {
        **errors_of(model, data.tests),
        "fit_seconds": round(fitted.seconds, 3),
        "warnings": shorten(fitted.warnings),
        **describe_fit(model, panel.world),
        **(_encoder(model) if panel.keeps_encoder else {}),
    }


def errors_of(model: Any, tests: Sequence[Environment]) -> Result:
    """Errors per test environment, both summaries, and how much of the second may be noise.

    ``noise`` is what Stability_Error would be if the errors differed only because the test rows
    are a sample: the root of the mean of their sampling variances. Sharp predictions have more of
    it: most of their squared errors are near zero, a few near one.
    """
    predicted = predict_outcomes(model, list(tests))
    errors = environment_errors(predicted, tests)
    variances = [
        np.var((test.y - predicted[test.name]) ** 2) / (4 * errors[test.name] ** 2 * len(test))
        for test in tests
    ]
    return {
        "errors": {str(name): round(float(error), 6) for name, error in errors.items()},
        "average": round(average_error(errors), 6),
        "stability": round(stability_error(errors), 6),
        "noise": round(float(np.sqrt(np.mean(variances))), 6),
    }


def shorten(warnings: Iterable[str]) -> list[str]:
    """The first sentence of each distinct warning."""
    return list(dict.fromkeys(text.split(". ")[0][:160] for text in warnings))


def describe_fit(model: Any, world: SyntheticWorld) -> Result:
    """Effective sample share, convergence and verdict, as far as the model has them."""
    report = getattr(model, "balance_report_", None)
    recipe = getattr(model, "recipe_", None)
    return {
        "effective_share": None if report is None else round(report.effective_share, 5),
        "n_iter": int(np.max(getattr(model, "n_iter_", 0))),
        "converged": getattr(model, "converged_", None),
        "recipe": None if recipe is None else str(recipe),
        **_verdict(model, world),
    }


def _verdict(model: Any, world: SyntheticWorld) -> Result:
    """The features found stable, against those that are."""
    if not hasattr(model, "stable_features_"):
        return {"stable_features": None, "f1": None, "auc": {}}
    names = model.feature_names_in_
    true = np.isin(names, world.stable_features)
    aucs = {
        evidence: round(float(roc_auc_score(true, values)), 4)
        for evidence, values in _evidence(_effects(model))
    }
    return {
        "stable_features": names[model.stable_features_].tolist(),
        "f1": round(float(f1_score(true, model.stable_features_, zero_division=0.0)), 4),
        "auc": aucs,
    }


def _effects(model: Any) -> pd.DataFrame:
    effects = getattr(model, "feature_effects_", None)
    return model.variables_ if effects is None else effects


def _evidence(effects: pd.DataFrame) -> Iterator[tuple[str, np.ndarray]]:
    """Scores that should be larger for stable features: the effect in units of its interval."""
    width = (effects["high"] - effects["low"]).to_numpy()
    yield "effect", np.abs(effects["effect"].to_numpy()) / np.maximum(width, 1e-12)
    if "explaining_away" in effects:
        yield "explaining_away", effects["explaining_away"].to_numpy(np.float64)


def _encoder(model: Any) -> Result:
    """A^(1) by feature, of all encoders one below the other; empty without encoders."""
    layers = [encoder[0][0] for encoder in getattr(model, "encoders_", [])]
    matrix = np.vstack(layers)[:, : model.n_features_in_].round(3) if layers else np.zeros((0, 0))
    return {"first_layer": dict(zip(model.feature_names_in_, matrix.T.tolist(), strict=False))}


def run_theory(definition: Definition) -> Result:
    """E[alpha], one list over the numbers of rows for each number of features."""
    rows = np.array(definition["rows"])
    curves = {str(p): theory.expected_imbalance(rows, p) for p in definition["features"]}
    return {"expected": {p: np.round(curve, 6).tolist() for p, curve in curves.items()}}
