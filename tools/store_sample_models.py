"""Write one small model file of every kind, as the current format has them.

    python tools/store_sample_models.py

The files go to ``tests/data/models/format-N``, with what each model answers on a few rows in
``answers.json``. A test loads every one of them, of every format there ever was, and compares. Run
this when a new format or a new kind of model is introduced: only what is missing from the current
format is written, and a file that is there is never written again.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from stablepred import (
    BalancedClassifier,
    BalancedRegressor,
    DGBRClassifier,
    Dichotomizer,
    DLRClassifier,
    GBRClassifier,
    GlobalBalancer,
    OverlapFilter,
    StableClassifier,
)
from stablepred.data import fit_table
from stablepred.exceptions import StablepredWarning
from stablepred.io.save import FORMAT, save

FOLDER = Path(__file__).parent.parent / "tests" / "data" / "models"
N_ROWS, N_PROBES = 60, 6
ANSWERS = ("predict", "predict_proba", "decision_function", "transform")


def training_data() -> tuple[pd.DataFrame, np.ndarray]:
    """Two numbers and two 0/1 features; the outcome follows two of them."""
    rng = np.random.default_rng(8)
    age = rng.integers(18, 70, N_ROWS)
    income = np.round(rng.lognormal(3, 0.5, N_ROWS), 2)
    owner = rng.integers(0, 2, N_ROWS)
    urban = np.where(rng.random(N_ROWS) < 0.7, owner, 1 - owner)
    y = (0.05 * (age - 44) + owner + rng.normal(0, 0.7, N_ROWS) > 0.5).astype(int)
    frame = pd.DataFrame({"age": age, "income": income, "owner": owner, "urban, or not": urban})
    return frame, y


def raw_table() -> pd.DataFrame:
    """The same people as a table comes: text, missing values, truth values, a target of words."""
    frame, y = training_data()
    rng = np.random.default_rng(9)
    frame["income"] = frame["income"].where(rng.random(N_ROWS) < 0.8)
    frame["job"] = rng.choice(["clerk", "cook", "smith"], N_ROWS)
    frame["owner"] = frame["owner"] == 1
    frame["buys"] = np.where(y == 1, "yes", "no")
    return frame


def models() -> dict[str, Any]:
    """Every kind of model that can be stored, not yet fitted."""
    few: dict[str, Any] = {"max_iter": 5, "random_state": 0}
    fixed = few | {"l1": 0.003, "refit": False}
    return {
        "dichotomizer": Dichotomizer(strategy="median"),
        "overlap-filter": OverlapFilter(low=0.3, high=0.7),
        "balancer": GlobalBalancer(order=2, max_iter=5),
        "gbr": GBRClassifier(cv=2, **few),
        "gbr-order-2": GBRClassifier(order=2, **fixed),
        "gbr-paper": GBRClassifier.from_paper(**few),
        "dlr": DLRClassifier(hidden=(4, 3), **few),
        "dgbr": DGBRClassifier(cv=2, **few),
        "dgbr-order-2": DGBRClassifier(order=2, n_encoders=2, **fixed),
        "dgbr-features": DGBRClassifier(head="features", n_encoders=2, cv=2, **few),
        "dgbr-reduced": DGBRClassifier(reduced=True, bias_bound=1.0, hidden=[3], **few),
        "dgbr-paper": DGBRClassifier.from_paper(**few),
        "balanced-classifier": BalancedClassifier(LogisticRegression(), GlobalBalancer(max_iter=5)),
        "balanced-bayes": BalancedClassifier(GaussianNB(), GBRClassifier(**fixed)),
        "balanced-bernoulli": BalancedClassifier(BernoulliNB()),
        "balanced-regressor": BalancedRegressor(LinearRegression(), GlobalBalancer(max_iter=5)),
        "stable": StableClassifier(cv=2, random_state=0),
        "stable-linear": StableClassifier(LogisticRegression(), cv=2, random_state=0),
    }


def fitted_models() -> dict[str, tuple[Any, Any]]:
    """Models with the rows to ask them about: named, nameless, with labels of each kind."""
    frame, y = training_data()
    fits = {name: (model.fit(frame, y), frame) for name, model in models().items()}
    text = np.where(y == 1, "yes", "no")
    binary = frame[["owner", "urban, or not"]].to_numpy(dtype=float)
    for name, labels, X in (
        ("gbr-text-labels", text, frame),
        ("gbr-boolean-labels", y == 1, frame),
        ("gbr-without-names", y + 3.0, frame.to_numpy()),
        ("gbr-not-cut", y, binary),
    ):
        kept = None if name == "gbr-not-cut" else "mean"
        model = GBRClassifier(l1=0.003, refit=False, dichotomize=kept, random_state=0)
        fits[name] = (model.fit(X, labels), X)
    raw = raw_table()
    for name, estimator in (
        ("table", DGBRClassifier(hidden=(4, 3), cv=2, max_iter=5, random_state=0)),
        ("table-lr", LogisticRegression()),
    ):
        fits[name] = (fit_table(raw, "buys", estimator), raw.drop(columns="buys"))
    fits["dgbr-not-fitted"] = (DGBRClassifier(hidden=(5, 2), l1=0.1), frame)
    return fits


def plain_rows(X: Any) -> list[list[Any]]:
    """Rows as JSON has them: numbers, and texts as they are, None where missing."""
    rows = np.asarray(X[:N_PROBES], dtype=object).tolist()
    return [[_plain(value) for value in row] for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, str | bool):
        return value
    return None if np.isnan(value) else float(value)


def main() -> None:
    """Write the files and the answers that are missing."""
    folder = FOLDER / f"format-{FORMAT}"
    folder.mkdir(parents=True, exist_ok=True)
    known = folder / "answers.json"
    answers: dict[str, Any] = json.loads(known.read_text()) if known.exists() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StablepredWarning)
        fits = fitted_models()
    for name, (model, X) in fits.items():
        if name in answers:
            continue
        save(model, folder / f"{name}.safetensors")
        rows = X[:N_PROBES]
        fitted = any(key.endswith("_") for key in vars(model)) or not hasattr(model, "fit")
        answers[name] = {
            "kind": type(model).__name__,
            "rows": plain_rows(X),
            "names": list(X) if isinstance(X, pd.DataFrame) else None,
            "answers": {
                method: getattr(model, method)(rows).tolist()
                for method in ANSWERS
                if fitted and hasattr(model, method)
            },
        }
    known.write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
