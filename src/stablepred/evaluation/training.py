"""What is trained on and what is tested, from environments or pairs of X and y."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stablepred._validation import read_labels
from stablepred.evaluation.predictions import PlainTable, check_environments, list_tables
from stablepred.exceptions import InputError


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
    if leave_one_out and tests is not None:
        raise InputError("leave_one_out tests the environments of one list: leave tests= out.")
    trained = list_tables(train, "train")
    if tests is not None:
        return _encode([(trained, list_tables(tests, "test"))], environment)
    if len(trained) < 2:
        raise InputError(
            "there is nothing to test in. Pass tests=, or a list of two or more environments."
        )
    if not leave_one_out:
        return _encode([(trained[:1], trained[1:])], environment)
    if environment is not None:
        raise InputError("with leave_one_out the environments of the list are the labels.")
    return _encode([([t for t in trained if t is not one], [one]) for one in trained], None)


def _encode(
    parts: Sequence[tuple[list[PlainTable], list[PlainTable]]], environment: Any
) -> list[Split]:
    """Check that all tables go together, and encode the outcome by what was seen in training."""
    splits = []
    for trained, tests in parts:
        check_environments([*trained, *tests] if len(trained) > 1 else tests)
        for table in tests:
            if list(table.X.columns) != list(trained[0].X.columns):
                raise InputError(
                    f"environment {table.name!r} must have the columns of training, "
                    f"{list(trained[0].X.columns)}, but has {list(table.X.columns)}."
                )
        y = np.concatenate([table.y for table in trained])
        without = f" without environment {tests[0].name!r}" if len(parts) > 1 else ""
        labels, classes = _environment_labels(trained, environment), _find_classes(y, without)
        X = pd.concat([table.X for table in trained], ignore_index=True)
        tables = [PlainTable(t.name, t.X, _encode_outcome(t.y, classes, t.name)) for t in tests]
        y = _encode_outcome(y, classes, "training")
        splits.append(Split(X, y, labels, tables, classes is None))
    return splits


def _environment_labels(trained: Sequence[PlainTable], given: Any) -> NDArray[Any] | None:
    if given is None:
        names, sizes = [t.name for t in trained], [len(t.y) for t in trained]
        return np.repeat(names, sizes) if len(trained) > 1 else None
    if len(trained) > 1:
        raise InputError("several training environments have their names: leave environment= out.")
    read_labels(given, "environment", len(trained[0].y))
    return np.asarray(given)


def _find_classes(y: NDArray[Any], without: str) -> NDArray[Any] | None:
    """Both classes; None of a number."""
    values = pd.unique(y)
    if len(values) < 2:
        raise InputError(
            f"the outcome is always {values[0]} in training{without}: there is nothing to learn."
        )
    if len(values) == 2:
        return np.unique(y)
    if y.dtype.kind in "iuf":
        return None
    raise InputError(
        f"the outcome must be a number or have two classes, but has {len(values)} different values "
        f"(e.g. {list(map(str, values[:3]))})."
    )


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
