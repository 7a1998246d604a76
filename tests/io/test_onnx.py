"""The ONNX graph is made from fitted attributes alone, whatever class they belong to."""

from types import SimpleNamespace

import numpy as np
import pytest

from stablepred.io.onnx import write_onnx

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

LAYER = (np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]]), np.array([0.1, -0.3]))
CUT = SimpleNamespace(thresholds_=np.array([0.5, 2.0]), tolerances_=np.array([0.0, 0.1]))


def answer(path, x):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["probabilities"], {"X": x})[0][:, 1]


SCALES = SimpleNamespace(
    means_=np.array([0.0, 1.2]),
    scales_=np.array([1.0, 0.4]),
    low_=np.array([0.0, 0.5]),
    high_=np.array([1.0, 2.0]),
)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize("on_embedding", [False, True])
@pytest.mark.parametrize("cut", [None, CUT])
def test_any_object_with_the_fitted_attributes_can_be_written(on_embedding, cut, tmp_path):
    model = SimpleNamespace(
        n_features_in_=2,
        classes_=np.array(["no", "yes"]),
        coef_=np.array([[1.5, -0.7]]),
        intercept_=np.array([0.2]),
        encoders_=[[LAYER]],
        pairs_=[(0, 1)],
        **({"standardizer_": SCALES} if cut is None else {"dichotomizer_": cut}),
    )
    write_onnx(model, tmp_path / "model.onnx", on_embedding=on_embedding)
    x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 3.0]])
    if cut is None:
        used = (np.clip(x, SCALES.low_, SCALES.high_) - SCALES.means_) / SCALES.scales_
    else:
        used = (x > cut.thresholds_ + cut.tolerances_).astype(float)
    wide = np.column_stack([used, used[:, 0] * used[:, 1]])
    z = sigmoid(wide @ LAYER[0].T + LAYER[1]) if on_embedding else used
    expected = sigmoid(z @ model.coef_[0] + model.intercept_[0])
    np.testing.assert_allclose(answer(tmp_path / "model.onnx", x), expected, atol=1e-12)
