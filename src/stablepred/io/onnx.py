"""The prediction of a fitted classifier as an ONNX graph, with its encoders.

    X (n, p) --> standardise or cut --> products of pairs --> encoders --> z beta + b --> sigmoid

All in double precision: in single precision a value close to a cut point could fall on its other
side. Rows that ``predict_proba`` refuses (missing or infinite values) get NaN.
"""

import json
import os
from typing import Any

import numpy as np

from stablepred._extras import require
from stablepred._version import __version__
from stablepred.exceptions import InputError
from stablepred.io.atomic import write_file
from stablepred.io.objects import check

# Version 8 of the file came with version 18 of the operations, so that older runtimes read it.
HEADER = f"""<
  ir_version: 8, opset_import: ["": 18], producer_name: "stablepred",
  producer_version: "{__version__}",
  doc_string: "Probability of each class, in double precision."
>"""
# Class labels as a type that ONNX has, by their kind in numpy; others are strings.
LABELS = {"i": "int64", "u": "int64", "f": "double", "b": "bool"}
CUT = ["above = Greater (X, edges)", "x = Cast <to = 11> (above)"]  # 11 is double, 7 is int64
SCALE = [
    "raised = Max (X, low_)",
    "bounded = Min (raised, high_)",
    "centred = Sub (bounded, means_)",
    "x = Div (centred, scales_)",
]
MULTIPLY = [
    "left = Gather <axis = 1> (x, first)",
    "right = Gather <axis = 1> (x, second)",
    "products = Mul (left, right)",
    "wide = Concat <axis = 1> (x, products)",
]
# Zero times a number is zero; times NaN or an infinity it is NaN.
PREDICT = [
    "is_positive = Greater (score, zero)",
    "index = Cast <to = 7> (is_positive)",
    "flat = Reshape (index, one_dimension)",
    "label = Gather (labels, flat)",
    "zeros = Mul (X, zero)",
    "nothing = ReduceSum (zeros, columns)",
    "share = Sigmoid (score)",
    "positive = Add (share, nothing)",
    "negative = Sub (one, positive)",
    "probabilities = Concat <axis = 1> (negative, positive)",
]


def write_onnx(model: Any, path: str | os.PathLike[str], *, on_embedding: bool = True) -> None:
    """Write the graph to ``path``; ``on_embedding``: ``coef_`` is on the encoders' output."""
    onnx = require("onnx", "to_onnx")
    name, classes = type(model).__name__, model.classes_
    try:
        check(model)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"this {name} cannot be exported: {reason}.") from error
    kind = LABELS.get(classes.dtype.kind, "string")
    steps, values = _score(model, model.encoders_ if on_embedding else [])
    values |= {"zero": 0.0, "one": 1.0, "one_dimension": np.array([-1]), "columns": np.array([1])}
    values["labels"] = classes.astype(object if kind == "string" else kind)
    proto = onnx.parser.parse_model(
        f"{HEADER} {name} (double[rows, {model.n_features_in_}] X) => "
        f"({kind}[rows] label, double[rows, 2] probabilities) {{ {' '.join(steps + PREDICT)} }}"
    )
    proto.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.ascontiguousarray(array), constant)
        for constant, array in values.items()
    )
    notes = {"classes": json.dumps(classes.tolist())}
    if hasattr(model, "feature_names_in_"):
        notes["feature_names"] = json.dumps(model.feature_names_in_.tolist())
    onnx.helper.set_model_props(proto, notes)
    onnx.checker.check_model(proto, full_check=True)
    write_file(path, proto.SerializeToString())


def _score(model: Any, encoders: list[Any]) -> tuple[list[str], dict[str, Any]]:
    """The steps from X to the log-odds ``score``, (n, 1), and the constants in them."""
    if hasattr(model, "dichotomizer_"):
        cut = model.dichotomizer_
        steps, values = [*CUT], {"edges": cut.thresholds_ + cut.tolerances_}
    else:
        names = ("low_", "high_", "means_", "scales_")
        steps, values = [*SCALE], {name: getattr(model.standardizer_, name) for name in names}

    def linear(result: str, given: str, weight: np.ndarray, bias: np.ndarray) -> None:
        values[f"{result}_weight"], values[f"{result}_bias"] = weight.T, bias
        steps.append(f"{result}_product = MatMul ({given}, {result}_weight)")
        steps.append(f"{result} = Add ({result}_product, {result}_bias)")

    features, embedded = "x", list[str]()
    if encoders and model.pairs_:
        values["first"], values["second"] = np.array(model.pairs_, dtype=np.int64).T
        steps, features = [*steps, *MULTIPLY], "wide"
    for k, layers in enumerate(encoders):
        hidden = features
        for depth, (weight, bias) in enumerate(layers):
            linear(f"sum_{k}_{depth}", hidden, weight, bias)
            hidden = f"layer_{k}_{depth}"
            steps.append(f"{hidden} = Sigmoid (sum_{k}_{depth})")
        embedded.append(hidden)
    if embedded:  # phi(x) of all encoders side by side: (n, d)
        steps.append(f"embedding = Concat <axis = 1> ({', '.join(embedded)})")
    linear("score", "embedding" if embedded else "x", model.coef_, model.intercept_)
    return steps, values
