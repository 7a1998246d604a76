"""A small boosting of trees, fitted by scikit-learn, kept as plain arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits
from torch import Tensor

from stablepred.core.resources import LARGE
from stablepred.io.save import storable
from stablepred.outcomes.base import Outcome
from stablepred.sample import FloatArray, Sample

MOST_TIMES = 100  # that a row is repeated


@dataclass(frozen=True)
class Boosting:
    outcome: Outcome
    trees: int = 60
    leaves: int = 6
    rate: float = 0.05

    def path(self, sample: Sample) -> Iterator["Trees"]:
        yield self.take_step(sample, 0)

    def take_step(self, sample: Sample, step: int) -> "Trees":
        two = self.outcome.name == "binary"
        model = (HistGradientBoostingClassifier if two else HistGradientBoostingRegressor)(
            max_iter=self.trees,
            max_leaf_nodes=self.leaves,
            learning_rate=self.rate,
            l2_regularization=5.0,
            early_stopping=False,
            random_state=0,
        )
        x, y, weight = repeat_rows(sample)
        # With equal weights the learner's bins cost a twentieth of the time without them.
        equal = bool((weight == weight[0]).all())
        # Small trees are built faster by one thread than by several that wait for each other.
        with threadpool_limits(1 if x.size < LARGE else None, "openmp"):
            model.fit(x, y, sample_weight=None if equal else weight)
        return extract_trees(model, self.outcome)


def repeat_rows(sample: Sample) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows as often as they occur, for learners that count rows whatever their weight."""
    x, y, copies = (a.cpu().numpy() for a in (sample.x, sample.y, sample.copies))
    times = np.clip(np.round(copies), 1, MOST_TIMES).astype(np.intp)
    rows = np.repeat(np.arange(len(y)), times)
    return x[rows], y[rows], (copies / times)[rows]


@storable
@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees, all of the same number of nodes; the root is node 0, a leaf its own child.

    A row goes left where its ``feature`` is at most ``threshold``.
    """

    outcome: Any
    start: float
    feature: NDArray[np.int64]  # (trees, nodes)
    threshold: FloatArray
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: FloatArray
    depth: int

    def predict(self, x: Tensor) -> Tensor:
        rows, scores = x.cpu().numpy(), np.full(len(x), self.start)
        every = np.arange(len(rows))
        for tree in range(len(self.value)):
            node = np.zeros(len(rows), dtype=np.int64)
            for _ in range(self.depth):
                low = rows[every, self.feature[tree, node]] <= self.threshold[tree, node]
                node = np.where(low, self.left[tree, node], self.right[tree, node])
            scores += self.value[tree, node]
        return self.outcome.inverse_link(torch.as_tensor(scores, device=x.device))

    def check_columns(self, width: int) -> None:
        if not hasattr(self.outcome, "inverse_link"):
            raise ValueError("the outcome of the trees is none")
        shape = self.value.shape
        parts = (self.feature, self.threshold, self.left, self.right)
        if len(shape) != 2 or any(part.shape != shape for part in parts):
            raise ValueError("the arrays of the trees differ in shape")
        for part, most in ((self.feature, width), (self.left, shape[1]), (self.right, shape[1])):
            if part.size and not 0 <= part.min() <= part.max() < most:
                raise ValueError("a node of a tree names a feature or a node that is not there")
        finite = np.isfinite(self.value).all() and np.isfinite(self.threshold).all()
        if not finite or not np.isfinite(self.start) or not 0 <= self.depth <= shape[1]:
            raise ValueError("the trees hold numbers that are not finite, or are too deep")


def extract_trees(model: Any, outcome: Outcome) -> Trees:
    nodes = [stage[0].nodes for stage in model._predictors]
    size = max((len(tree) for tree in nodes), default=1)
    shape = (len(nodes), size)
    feature, threshold, value = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
    left, right = (np.tile(np.arange(size), (len(nodes), 1)) for _ in range(2))
    for k, tree in enumerate(nodes):
        inner = np.flatnonzero(tree["is_leaf"] == 0)
        of_tree = {"feature_idx": feature, "num_threshold": threshold, "left": left, "right": right}
        for name, array in of_tree.items():
            array[k, inner] = tree[name][inner]
        value[k, : len(tree)] = tree["value"]
    depth = max((int(tree["depth"].max()) for tree in nodes), default=0)
    start = float(np.ravel(model._baseline_prediction)[0])
    return Trees(outcome, start, feature, threshold, left, right, value, depth)
