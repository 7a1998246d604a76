"""``fit_table``: a fit on counted rows is the fit on all of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

import stablepred
from stablepred import DGBRClassifier, DLRClassifier, GBRClassifier, GlobalBalancer
from stablepred.data import count_patterns
from stablepred.exceptions import ConstantFeatureWarning, InputError

pytest.importorskip("duckdb", reason="the extra 'tables' is not installed")
pytest.importorskip("narwhals", reason="the extra 'tables' is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")

FIXED = {"l1": 0.005, "refit": False, "random_state": 0}
CLASSIFIERS = {
    "GBR": GBRClassifier(random_state=0, cv=2),
    "GBR fixed": GBRClassifier(**FIXED),
    "GBR order 2": GBRClassifier(order=2, **FIXED),
    "GBR paper": GBRClassifier.from_paper(random_state=0),
    "GBR mean": GBRClassifier(dichotomize="mean", **FIXED),
    "GBR median": GBRClassifier(dichotomize="median", **FIXED),
    "DLR": DLRClassifier(random_state=0, max_iter=20),
    "DGBR": DGBRClassifier(random_state=0, max_iter=20),
    "DGBR fixed": DGBRClassifier(max_iter=20, **FIXED),
    "DGBR paper": DGBRClassifier.from_paper(random_state=0, max_iter=20),
}


def make_frame(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.random((n, 4)) < 0.5).astype(int)
    x[:, 1] = np.where(rng.random(n) < 0.6, x[:, 0], x[:, 1])
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    frame["age"] = rng.integers(20, 60, n)
    frame["owner"] = rng.random(n) < 0.4
    score = x[:, 0] + x[:, 2] + (frame["age"] > 40) + rng.normal(0, 0.7, n)
    frame["bought"] = np.where(score > 1.5, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def frame():
    return make_frame()


@pytest.fixture(scope="module")
def parquet(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame.to_parquet(path)
    return path


def equal_but_for_rows(one, other):
    """Everything fitted is the same, to the last bit, besides the weights of single rows."""
    assert vars(one).keys() - {"row_count_"} == vars(other).keys() - {"row_count_"}
    for name in ("classes_", "coef_", "intercept_", "feature_names_in_", "stable_features_"):
        if hasattr(one, name):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("n_features_in_", "n_iter_", "converged_", "recipe_"):
        assert getattr(one, name, None) == getattr(other, name, None), name
    for name, values in one.history_.items():
        np.testing.assert_array_equal(values, other.history_[name])
    if hasattr(one, "feature_effects_"):
        pd.testing.assert_frame_equal(
            one.feature_effects_, other.feature_effects_, check_exact=True
        )
    ours, theirs = one.balance_report_, other.balance_report_
    pd.testing.assert_frame_equal(ours.after, theirs.after, check_exact=True)
    assert (ours.n_rows, ours.effective_share) == (theirs.n_rows, theirs.effective_share)
    for part in ("dichotomizer_", "standardizer_"):
        assert hasattr(one, part) == hasattr(other, part)
        ours, theirs = (vars(getattr(model, part, model)) for model in (one, other))
        for name in {"thresholds_", "tolerances_", "means_", "scales_", "low_", "high_"} & set(
            ours
        ):
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-14)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_fit_on_counted_rows_is_the_fit_on_all_rows(frame, parquet, name):
    x = frame.drop(columns="bought")
    full = clone(CLASSIFIERS[name]).fit(x, frame["bought"])
    counted = clone(CLASSIFIERS[name]).fit_table(parquet, "bought")
    equal_but_for_rows(full, counted)
    np.testing.assert_array_equal(full.predict_proba(x), counted.predict_proba(x))
    np.testing.assert_array_equal(full.predict(x), counted.predict(x))


def test_weights_are_those_of_the_counted_patterns(frame, parquet):
    cut = GBRClassifier(dichotomize="mean", **FIXED)
    model = clone(cut).fit_table(parquet, "bought")
    full = clone(cut).fit(frame.drop(columns="bought"), frame["bought"])
    patterns = count_patterns(parquet, "bought", dichotomize="mean")
    assert len(model.sample_weight_) == len(patterns.count) < len(frame)
    np.testing.assert_array_equal(model.row_count_, patterns.count)
    assert np.average(model.sample_weight_, weights=model.row_count_) == pytest.approx(1)
    features = list(patterns.X.columns)
    keys = patterns.X.assign(bought=patterns.y, w=model.sample_weight_)
    bits = full.dichotomizer_.transform(frame[features].to_numpy(dtype=float)).astype(np.uint8)
    rows = pd.DataFrame(bits, columns=features).assign(bought=frame["bought"].to_numpy())
    spread = rows.merge(keys, how="left", on=[*features, "bought"], validate="many_to_one")
    np.testing.assert_array_equal(spread["w"], full.sample_weight_)


def test_intervals_know_the_number_of_rows_even_where_no_pattern_is_rare(frame):
    """Counts of at least two are numbers of rows, and not weights of unknown scale."""
    some = frame[["a", "b", "c", "bought"]]
    twice = pd.concat([some, some])
    assert count_patterns(twice, "bought").count.min() >= 2
    full = GBRClassifier(**FIXED).fit(twice.drop(columns="bought"), twice["bought"])
    equal_but_for_rows(full, GBRClassifier(**FIXED).fit_table(twice, "bought"))


def test_two_distinct_rows_are_enough_if_there_are_three_rows():
    frame = pd.DataFrame({"a": [0, 1] * 20, "y": [0, 1] * 20})
    full = GBRClassifier(**FIXED).fit(frame[["a"]], frame["y"])
    equal_but_for_rows(full, GBRClassifier(**FIXED).fit_table(frame, "y"))
    with pytest.raises(InputError, match="only n_samples = 2 rows"):
        GBRClassifier(**FIXED).fit_table(frame.iloc[:2], "y")


def test_a_constant_column_keeps_its_place(frame):
    wide = frame.assign(always=7)
    with pytest.warns(ConstantFeatureWarning, match="always"):
        model = GBRClassifier(**FIXED).fit_table(wide, "bought")
    full = GBRClassifier(**FIXED).fit(wide.drop(columns="bought"), wide["bought"])
    equal_but_for_rows(full, model)


def test_columns_of_0_and_1_need_no_cuts(frame, parquet):
    names = ["a", "b", "c", "d"]
    plain = GBRClassifier(dichotomize=None, **FIXED)
    model = clone(plain).fit_table(parquet, "bought", features=names)
    full = clone(plain).fit(frame[names], frame["bought"])
    assert not hasattr(model, "dichotomizer_")
    np.testing.assert_array_equal(model.coef_, full.coef_)
    np.testing.assert_array_equal(model.standardizer_.scales_, np.ones(4))


def test_a_balancer_needs_no_target(frame, parquet):
    features = ["a", "b", "c", "age"]
    full = GlobalBalancer().fit(frame[features])
    counted = GlobalBalancer().fit_table(parquet, features=features)
    equal_but_for_rows(full, counted)
    assert len(counted.weights_) == len(count_patterns(parquet, features=features).count)


@pytest.mark.parametrize("engine", ["pandas", "dask"])
def test_frames_are_fitted_too(frame, parquet, engine):
    table = frame
    if engine == "dask":
        dask = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
        table = dask.from_pandas(frame, npartitions=4)
    equal_but_for_rows(
        GBRClassifier(**FIXED).fit_table(table, "bought"),
        GBRClassifier(**FIXED).fit_table(parquet, "bought"),
    )


def test_the_model_can_be_stored(parquet, frame, tmp_path):
    model = GBRClassifier(**FIXED).fit_table(parquet, "bought")
    model.save(tmp_path / "model")
    x = frame.drop(columns="bought")
    again = stablepred.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    np.testing.assert_array_equal(again.row_count_, model.row_count_)


@pytest.mark.parametrize("counts", [np.ones(3), np.array([]), None])
def test_a_stored_model_with_other_counts_is_refused(parquet, tmp_path, counts):
    model = GBRClassifier(**FIXED).fit_table(parquet, "bought")
    model.row_count_ = model.row_count_ * 0 if counts is None else counts
    with pytest.raises(InputError, match="row_count_"):
        model.save(tmp_path / "model")


def test_a_splitter_has_no_rows_to_split(parquet):
    with pytest.raises(InputError, match="cv must be a number of folds for fit_table"):
        GBRClassifier(cv=KFold(3)).fit_table(parquet, "bought")


def test_a_failed_fit_leaves_the_model_as_it_was(parquet):
    model = GBRClassifier(**FIXED)
    with pytest.raises(InputError, match="target 'sold'"):
        model.fit_table(parquet, "sold")
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    coef = model.fit_table(parquet, "bought").coef_
    with pytest.raises(InputError, match="target 'sold'"):
        model.fit_table(parquet, "sold")
    assert model.coef_ is coef
