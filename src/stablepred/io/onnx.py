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

OPSET = 18
IR_VERSION = 8  # the one that came with this opset, so that older runtimes read the file


def write_onnx(model: Any, path: str | os.PathLike[str], *, on_embedding: bool = True) -> None:
    """Write the graph to ``path``; ``on_embedding``: ``coef_`` is on the encoders' output."""
    onnx = require("onnx", "to_onnx")
    try:
        check(model)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"this {type(model).__name__} cannot be exported: {reason}.") from error
    proto = _Graph(onnx).model_of(model, model.encoders_ if on_embedding else [])
    onnx.checker.check_model(proto, full_check=True)
    write_file(path, proto.SerializeToString())


class _Graph:
    """Collects nodes and constants; every method that adds nodes returns the name of the result."""

    def __init__(self, onnx: Any) -> None:
        self.onnx, self.nodes, self.constants = onnx, list[Any](), list[Any]()

    def model_of(self, model: Any, encoders: list[Any]) -> Any:
        """The whole model, with names and versions; the order of columns and classes as notes."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        classes, name = model.classes_, type(model).__name__
        z = self.features(model)
        if encoders:
            z = self.embedding(z, model.pairs_, encoders)
        score = self.linear(z, model.coef_, model.intercept_)
        # Class labels as a type that ONNX has: integers, doubles, booleans or strings.
        kinds = {"i": np.int64, "u": np.int64, "f": np.float64, "b": bool}
        labels = classes.astype(kinds.get(classes.dtype.kind, object))
        self.predict(score, labels)
        describe = helper.make_tensor_value_info
        inputs = [describe("X", double, ["rows", model.n_features_in_])]
        outputs = [
            describe("label", helper.np_dtype_to_tensor_dtype(labels.dtype), ["rows"]),
            describe("probabilities", double, ["rows", 2]),
        ]
        proto = helper.make_model(
            helper.make_graph(self.nodes, name, inputs, outputs, self.constants),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="stablepred",
            producer_version=__version__,
            doc_string=f"{name}: probability of each class, in double precision.",
        )
        notes = {"classes": json.dumps(classes.tolist())}
        if hasattr(model, "feature_names_in_"):
            notes["feature_names"] = json.dumps(model.feature_names_in_.tolist())
        helper.set_model_props(proto, notes)
        return proto

    def node(self, kind: str, *inputs: str, output: str = "", **options: Any) -> str:
        """Add one operation and name its result."""
        name = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **options))
        return name

    def constant(self, values: Any) -> str:
        """Add a constant array and name it."""
        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(values)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def linear(self, z: str, weight: np.ndarray, bias: np.ndarray) -> str:
        product = self.node("MatMul", z, self.constant(weight.T))
        return self.node("Add", product, self.constant(bias))

    def features(self, model: Any) -> str:
        """The features as the fit used them: (n, p)."""
        if hasattr(model, "dichotomizer_"):
            cut = model.dichotomizer_
            edges = self.constant(cut.thresholds_ + cut.tolerances_)
            above = self.node("Greater", "X", edges)
            return self.node("Cast", above, to=self.onnx.TensorProto.DOUBLE)
        part = model.standardizer_
        x = self.node("Max", "X", self.constant(part.low_))
        x = self.node("Min", x, self.constant(part.high_))
        x = self.node("Sub", x, self.constant(part.means_))
        return self.node("Div", x, self.constant(part.scales_))

    def embedding(self, features: str, pairs: list[tuple[int, int]], encoders: list[Any]) -> str:
        """phi(x) of all encoders side by side: (n, d)."""
        if pairs:
            sides = [self.constant(side) for side in np.array(pairs, dtype=np.int64).T]
            first, second = (self.node("Gather", features, side, axis=1) for side in sides)
            features = self.node("Concat", features, self.node("Mul", first, second), axis=1)
        embedded = []
        for layers in encoders:
            hidden = features
            for weight, bias in layers:
                hidden = self.node("Sigmoid", self.linear(hidden, weight, bias))
            embedded.append(hidden)
        return embedded[0] if len(embedded) == 1 else self.node("Concat", *embedded, axis=1)

    def predict(self, score: str, labels: np.ndarray) -> None:
        """Label and probabilities from the log-odds: (n, 1); none of rows that cannot be taken."""
        is_positive = self.node("Greater", score, self.constant(0.0))
        index = self.node("Cast", is_positive, to=self.onnx.TensorProto.INT64)
        flat = self.node("Reshape", index, self.constant(np.array([-1])))
        self.node("Gather", self.constant(labels), flat, output="label")
        # Zero times a number is zero; times NaN or an infinity it is NaN.
        zeros = self.node("Mul", "X", self.constant(0.0))
        nothing = self.node("ReduceSum", zeros, self.constant(np.array([1])))
        positive = self.node("Add", self.node("Sigmoid", score), nothing)
        negative = self.node("Sub", self.constant(1.0), positive)
        self.node("Concat", negative, positive, output="probabilities", axis=1)
