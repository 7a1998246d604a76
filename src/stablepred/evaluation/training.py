"""What is trained on and what is tested, from environments or pairs of X and y."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._validation import read_labels
from stablepred.evaluation.predictions import (
    PlainTable,
    check_columns,
    check_environments,
    list_tables,
)
from stablepred.exceptions import InputError

MOST_CODES = 10  # integers with more different values than this are a number


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows, labels of their environments if there are several, and test environments."""

    X: pd.DataFrame
    y: NDArray[Any]
    environment: NDArray[Any] | None
    tests: list[PlainTable]
    numeric: bool  # whether the outcome is a number; else 0/1


def make_splits(train: Any, tests: Any, environment: Any, *, leave_one_out: bool) -> list[Split]:
    """One split, or one for every environment that is left out."""
    trained = list_tables(train, "train")
    if leave_one_out:
        if tests is not None or environment is not None:
            raise InputError(
                "leave_one_out tests the environments of one list, which are the labels as well: "
                "leave tests= out, and environment=."
            )
        parts = [([t for t in trained if t is not one], [one]) for one in trained]
    else:
        parts = [(trained[:1], trained[1:])]
    if tests is not None:
        parts = [(trained, list_tables(tests, "test"))]
    elif len(trained) < 2:
        raise InputError(
            "there is nothing to test in. Pass tests=, or a list of two or more environments."
        )
    return [_make_split(trained, tests, environment, len(parts) > 1) for trained, tests in parts]


def _make_split(
    trained: list[PlainTable], tests: list[PlainTable], environment: Any, left_out: bool
) -> Split:
    """Check that all tables go together, and encode the outcome by what was seen in training."""
    several = len(trained) > 1
    check_environments([*trained, *tests] if several else tests)
    check_columns(tests[0], trained[0].X.columns, "training")
    if environment is not None:
        if several:
            raise InputError(
                "several training environments have their names: leave environment= out."
            )
        read_labels(environment, "environment", len(trained[0]))
        environment = np.asarray(environment)
    elif several:
        environment = np.repeat([t.name for t in trained], [len(t) for t in trained])
    y = np.concatenate([table.y for table in trained])
    values = pd.unique(y)
    if len(values) < 2:
        without = f" without environment {tests[0].name!r}" if left_out else ""
        raise InputError(
            f"the outcome is always {values[0]} in training{without}: there is nothing to learn."
        )
    few = y.dtype.kind in "iu" and len(values) <= MOST_CODES
    if len(values) > 2 and (few or y.dtype.kind not in "iuf"):
        raise InputError(
            f"the outcome must be a number or have two classes, but has {len(values)} different "
            f"values (e.g. {', '.join(map(str, np.sort(values)[:3]))}). Combine several classes "
            "into two" + ("; of a number pass floats." if few else ".")
        )
    classes = np.unique(y) if len(values) == 2 else None
    X = pd.concat([table.X for table in trained], ignore_index=True)
    encoded = [replace(t, y=_encode_outcome(t.y, classes, t.name)) for t in tests]
    return Split(X, _encode_outcome(y, classes, "training"), environment, encoded, classes is None)


def _encode_outcome(y: NDArray[Any], classes: NDArray[Any] | None, name: str) -> NDArray[Any]:
    """The outcome as 0/1, or as numbers."""
    if classes is None:
        if y.dtype.kind not in "biuf":
            raise InputError(
                f"the outcome is a number in training, but environment {name!r} has {str(y[0])!r}. "
                "Recode it."
            )
        return np.asarray(y, dtype=np.float64)
    unseen = [v for v in np.unique(y).tolist() if v not in classes.tolist()]
    if unseen:
        raise InputError(
            f"the outcome of environment {name!r} has the value {unseen[0]!r}, which is "
            f"not among {classes.tolist()} of training. Recode it."
        )
    return (y == classes[1]).astype(np.int64)
