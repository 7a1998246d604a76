"""Sample-reweighted decorrelation, SRDO (Shen, Cui, Zhang, Kuang; AAAI 2020).

    w(x) = q(x) / p(x),    q(x) = prod_j p(x_j): the columns drawn independently of each other

The ratio comes from a classifier that tells rows with permuted columns from the rows as they are:
w = c / (1 - c), with c the probability of "permuted", predicted on folds left out.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from stablepred._random import RandomState, child_seed, numpy_generator, root_seed
from stablepred._validation import (
    FloatArray,
    check_at_least,
    check_sample_weight,
    fit_atomically,
    validate,
)
from stablepred.baselines.rows import (
    check_share,
    check_stored_weights,
    distinct_rows,
    standardise,
    warn_about_constants,
)
from stablepred.exceptions import InputError
from stablepred.io.save import save_method, storable

LEAST_DRAWN = 2000  # rows with permuted columns, also where few distinct rows repeat often
