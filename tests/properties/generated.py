"""Tables and weights that hypothesis makes up."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stablepred.data import Environment

BITS = st.sampled_from([0.0, 1.0])
# Ordinary numbers with a few that are none.
ODD = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, 1e-200, 1e12, -1e12, 1e150, -1e150])
NUMBERS = ODD | st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float)
WEIGHTS = st.sampled_from([0.0, 1.0, 2.0, 3.0]) | st.floats(1e-3, 1e3)
RATES = st.floats(0.01, 0.99)


def matrices(elements, rows=(1, 12), columns=(1, 4)):
    """Arrays of two dimensions."""
    shape = st.tuples(st.integers(*rows), st.integers(*columns))
    return shape.flatmap(lambda size: arrays(np.float64, size, elements=elements))


@st.composite
def weighted_matrices(draw, elements, rows=(1, 12), columns=(1, 4)):
    """A matrix with one weight per row, not all of them zero."""
    x = draw(matrices(elements, rows, columns))
    weight = draw(arrays(np.float64, len(x), elements=WEIGHTS).filter(lambda w: w.sum() > 0))
    return x, weight


@st.composite
def labelled(draw, elements, rows=(4, 10), columns=(1, 3)):
    """A matrix with an outcome of both classes and one positive weight per row."""
    x = draw(matrices(elements, rows, columns))
    y = draw(arrays(np.int64, len(x), elements=st.integers(0, 1)))
    y[0], y[-1] = 0, 1
    positive = WEIGHTS.filter(lambda w: w > 0)
    weight = draw(arrays(np.float64, len(x), elements=positive))
    return x, y, weight


@st.composite
def environments(draw, number=(1, 4)):
    """Environments with the same columns, and a probability for every row of each."""
    columns = [f"x{j}" for j in range(draw(st.integers(1, 3)))]
    tables, probabilities = [], {}
    for e in range(draw(st.integers(*number))):
        size = draw(st.integers(1, 8))
        x = draw(arrays(np.float64, (size, len(columns)), elements=BITS))
        y = draw(arrays(np.int64, size, elements=st.integers(0, 1)))
        tables.append(Environment(f"e{e}", pd.DataFrame(x, columns=columns), y))
        probabilities[f"e{e}"] = draw(arrays(np.float64, size, elements=st.floats(0, 1)))
    return tables, probabilities
