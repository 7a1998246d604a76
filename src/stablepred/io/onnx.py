"""The prediction of a fitted classifier as an ONNX graph, with its cut points and encoders.

    X (n, p) --> cut into 0/1 --> products of pairs --> encoders --> z beta + b --> sigmoid

Input and arithmetic are in double precision. In single precision a value at a cut point, or close
to it, could fall on the other side, and a row would change its features altogether.

Rows that ``predict_proba`` refuses (missing or infinite values; values other than 0 and 1 where
the model does not cut) can raise no error here: their probabilities are NaN.
"""

import json
import os
from typing import Any

import numpy as np

from stablepred._version import __version__
from stablepred.exceptions import InputError
from stablepred.io.atomic import write_file
from stablepred.io.objects import check

OPSET = 18
IR_VERSION = 8  # the one that came with this opset, so that older runtimes read the file


def write_onnx(model: Any, path: str | os.PathLike[str], *, on_embedding: bool = True) -> None:
    """Write the graph of a fitted classifier to ``path``, completely or not at all.

    The graph is made from ``coef_``, ``intercept_``, ``encoders_``, ``pairs_``, ``dichotomizer_``
    (where the features are cut) and ``classes_``. Where there are encoders, ``on_embedding`` says
    whether ``coef_`` multiplies their embedding or the features.
    """
    try:
        import onnx
    except ImportError as error:
        raise InputError(
            "to_onnx needs ONNX, which is not installed: pip install 'stablepred[onnx]'."
        ) from error
    try:
        check(model)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"this {type(model).__name__} cannot be exported: {reason}.") from error
    proto = _Graph(onnx, model, on_embedding).proto()
    onnx.checker.check_model(proto, full_check=True)
    write_file(path, proto.SerializeToString())


class _Graph:
    """Collects nodes and constants; every method that adds nodes returns the name of the result."""

    def __init__(self, onnx: Any, model: Any, on_embedding: bool) -> None:
        self.onnx, self.model = onnx, model
        self.encoders = model.encoders_ if on_embedding else []
        self.cut = getattr(model, "dichotomizer_", None)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def proto(self) -> Any:
        """The whole model, with names and versions."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        model = self.model
        score = self._scores()
        labels = _labels(model.classes_)
        self._label(score, labels)
        self._probabilities(score)
        describe = helper.make_tensor_value_info
        inputs = [describe("X", kinds.DOUBLE, ["rows", model.n_features_in_])]
        outputs = [
            describe("label", helper.np_dtype_to_tensor_dtype(labels.dtype), ["rows"]),
            describe("probabilities", kinds.DOUBLE, ["rows", 2]),
        ]
        name = type(model).__name__
        proto = helper.make_model(
            helper.make_graph(self.nodes, name, inputs, outputs, self.constants),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="stablepred",
            producer_version=__version__,
            doc_string=f"{name}: probability of each class, in double precision.",
        )
        helper.set_model_props(proto, _notes(model))
        return proto

    # --- building blocks ---

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

    def as_double(self, name: str) -> str:
        """Booleans as 0/1."""
        return self.node("Cast", name, to=self.onnx.TensorProto.DOUBLE)

    # --- the steps of prediction ---

    def _scores(self) -> str:
        """Log-odds of the positive class: (n, 1)."""
        features = self._features()
        z = self._embedding(features) if self.encoders else features
        product = self.node("MatMul", z, self.constant(self.model.coef_.T))
        return self.node("Add", product, self.constant(self.model.intercept_))

    def _features(self) -> str:
        """0/1 features: (n, p)."""
        if self.cut is None:
            return "X"
        edges = self.constant(self.cut.thresholds_ + self.cut.tolerances_)
        return self.as_double(self.node("Greater", "X", edges))

    def _embedding(self, features: str) -> str:
        """phi(x) of all encoders side by side: (n, d)."""
        if self.model.pairs_:
            sides = [self.constant(side) for side in np.array(self.model.pairs_, dtype=np.int64).T]
            first, second = (self.node("Gather", features, side, axis=1) for side in sides)
            features = self.node("Concat", features, self.node("Mul", first, second), axis=1)
        embedded = [self._encoder(features, layers) for layers in self.encoders]
        return embedded[0] if len(embedded) == 1 else self.node("Concat", *embedded, axis=1)

    def _encoder(self, hidden: str, layers: list[tuple[np.ndarray, np.ndarray]]) -> str:
        for weight, bias in layers:
            product = self.node("MatMul", hidden, self.constant(weight.T))
            hidden = self.node("Sigmoid", self.node("Add", product, self.constant(bias)))
        return hidden

    def _label(self, score: str, labels: np.ndarray) -> None:
        positive = self.node("Greater", score, self.constant(0.0))
        index = self.node("Cast", positive, to=self.onnx.TensorProto.INT64)
        flat = self.node("Reshape", index, self.constant(np.array([-1])))
        self.node("Gather", self.constant(labels), flat, output="label")

    def _probabilities(self, score: str) -> None:
        sigmoid, nothing = self.node("Sigmoid", score), self.constant(np.nan)
        positive = self.node("Where", self._allowed(), sigmoid, nothing)
        negative = self.node("Sub", self.constant(1.0), positive)
        self.node("Concat", negative, positive, output="probabilities", axis=1)

    def _allowed(self) -> str:
        """Whether ``predict_proba`` would take the row: (n, 1)."""
        if self.cut is None:
            zero, one = (self.node("Equal", "X", self.constant(value)) for value in (0.0, 1.0))
            sound = self.node("Or", zero, one)
        else:
            # Zero times a number is zero; times NaN or an infinity it is NaN.
            zero = self.constant(0.0)
            sound = self.node("Equal", self.node("Mul", "X", zero), zero)
        least = self.node("ReduceMin", self.as_double(sound), self.constant(np.array([1])))
        return self.node("Greater", least, self.constant(0.5))


def _labels(classes: np.ndarray) -> np.ndarray:
    """Class labels as a type that ONNX has: integers, doubles, booleans or strings."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    return classes if classes.dtype.kind == "b" else classes.astype(object)


def _notes(model: Any) -> dict[str, str]:
    """What a user of the file may want to know: the order of the columns and of the classes."""
    names = getattr(model, "feature_names_in_", None)
    notes = {"classes": json.dumps(model.classes_.tolist())}
    return notes if names is None else notes | {"feature_names": json.dumps(names.tolist())}
