"""From a table as it comes to features, with its numbers kept."""

import numpy as np
import pandas as pd
import pytest

from stablepred import load
from stablepred.data import TableEncoder
from stablepred.exceptions import InputError, TableWarning


def numbers(size=200, seed=0):
    return np.random.default_rng(seed).lognormal(size=size)


def mixed(size=400):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(sigma=2, size=size),
            "age": rng.integers(18, 90, size).astype(float),
            "owner": rng.random(size) < 0.3,
            "job": rng.choice(["cook", "clerk", "smith", "judge"], size, p=[0.5, 0.3, 0.19, 0.01]),
            "member": rng.choice(["no", "yes"], size),
        }
    )
    frame.loc[rng.random(size) < 0.2, "age"] = np.nan
    frame.loc[rng.random(size) < 0.1, "job"] = None
    return frame


def encode_slowly(x, new, tails):
    """The formula in the documentation, value by value."""
    rising, n = sorted(x), len(x)
    low, high, unit = rising[0], rising[-1], 0.5 * np.std(x)
    if tails == "log":
        low = next(v for v in rising if sum(w <= v for w in x) >= 0.01 * n)
        high = next(v for v in rising if sum(w <= v for w in x) >= 0.99 * n)
        unit = np.std(x)

    def bound(value):
        if tails == "log":
            value = min(max(value, rising[0]), rising[-1])
        if value < low:
            return low - unit * np.log(1 + (low - value) / unit)
        if value > high:
            return high + unit * np.log(1 + (value - high) / unit)
        return value

    bounded = [bound(value) for value in x]
    return [(bound(value) - np.mean(bounded)) / np.std(bounded) for value in new]


# --- numbers ---


@pytest.mark.parametrize("tails", ["soft", "log"])
def test_numbers_are_bounded_and_standardised(tails):
    x = numbers()
    new = np.array([-5.0, 0.0, x.min(), 1.0, x.max(), 1e6])
    encoder = TableEncoder(tails=tails).fit(pd.DataFrame({"a": x}))
    features, notes = encoder.encode(pd.DataFrame({"a": new}))
    assert features["a"].to_numpy() == pytest.approx(encode_slowly(x, new, tails))
    assert [(note.topic, note.rows) for note in notes] == [("outside", 1)]
    training = encoder.encode(pd.DataFrame({"a": x}))[0]["a"]
    assert (training.mean(), training.std(ddof=0)) == pytest.approx((0, 1))


def test_numbers_far_outside_of_training_grow_like_a_logarithm_and_are_reported():
    x = numbers()
    encoder = TableEncoder().fit(pd.DataFrame({"a": x}))
    new = pd.DataFrame({"a": [x.max(), 3 * x.max(), 1e9, 1e18, -1e99]})
    with pytest.warns(TableWarning, match=r"far outside the numbers of training.*a \(4 rows"):
        a = encoder.transform(new)["a"].to_numpy()
    assert (np.diff(a[:4]) > 0).all()
    assert np.abs(a).max() < 200


def test_a_skewed_number_does_not_reach_far():
    x = np.append(np.zeros(995), [1e3, 1e6, 1e9, 1e12, 1e15])
    a = TableEncoder(tails="log").fit_transform(pd.DataFrame({"a": x}))["a"].to_numpy()
    assert np.abs(a).max() < 35  # a standardised one is at 31.6 alone
    assert (np.diff(a[994:]) >= 0).all()


@pytest.mark.parametrize("values", [[0, 1] * 50, [False, True] * 50, ["false", "true"] * 50])
def test_zeros_and_ones_are_neither_scaled_nor_doubled(values):
    features = TableEncoder().fit_transform(pd.DataFrame({"a": values}))
    assert features.to_dict("list") == {"a": [0.0, 1.0] * 50}


def test_a_missing_number_is_the_mean_and_has_a_feature_where_many_are():
    x = numbers(201)
    few, many = pd.Series(x, copy=True), pd.Series(x, copy=True)
    few[[3, 5]] = np.nan
    many[:25] = np.nan
    for column, names in ((few, ["a"]), (many, ["a", "a is missing"])):
        features = TableEncoder().fit_transform(pd.DataFrame({"a": column}))
        assert list(features) == names
        assert (features["a"][column.isna()] == 0).all()
        assert features["a"][column.notna()].mean() == pytest.approx(0)
        if len(names) == 2:
            assert features["a is missing"].tolist() == column.isna().tolist()


def test_a_missing_0_or_1_is_the_share_of_ones():
    features = TableEncoder().fit_transform(pd.DataFrame({"a": [0, 1, 1, 1] * 20 + [None] * 2}))
    assert features["a"].tolist() == [0, 1, 1, 1] * 20 + [0.75] * 2


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e300])
def test_infinite_and_huge_numbers_are_refused_by_column_and_row(bad):
    x = numbers()
    encoder = TableEncoder().fit(pd.DataFrame({"a": x}))
    x[7] = bad
    for use in (TableEncoder().fit, encoder.transform):
        with pytest.raises(InputError, match=r"column 'a' has infinite.* in 1 row .*data row 8\)"):
            use(pd.DataFrame({"a": x}))


@pytest.mark.parametrize("typed", [int, str])
def test_integers_that_doubles_cannot_tell_apart_are_refused_by_column(typed):
    large = [typed(2**53 + k) for k in range(4)]
    with pytest.raises(InputError, match=r"'a' has integers that differ .*drop=\['a'\]"):
        TableEncoder().fit(pd.DataFrame({"a": large * 5, "b": range(20)}))
    far = pd.DataFrame({"a": [typed(2**60 + 1000 * k) for k in range(20)]})
    assert TableEncoder().fit_transform(far)["a"].nunique() == 20


def test_tiny_and_large_numbers_are_standardised_as_others_are():
    x = numbers()
    plain = TableEncoder().fit_transform(pd.DataFrame({"a": x}))["a"].to_numpy()
    for unit in (2.0**-1000, 2.0**300):
        scaled = TableEncoder().fit_transform(pd.DataFrame({"a": x * unit}))["a"].to_numpy()
        assert scaled == pytest.approx(plain, abs=1e-9)


def test_numbers_may_stay_as_they_are_or_be_clipped_only():
    frame = pd.DataFrame({"a": np.append(numbers(), 50.0)})
    far = pd.DataFrame({"a": [1000.0, np.nan]})
    with pytest.warns(TableWarning, match="never in training|taken as the mean|imputed"):
        straight = TableEncoder(tails="keep").fit(frame).transform(far)["a"]
    expected = (1000 - frame["a"].mean()) / frame["a"].std(ddof=0)
    assert straight.tolist() == pytest.approx([expected, 0])
    clipped = TableEncoder(tails="clip").fit(frame)
    inside = clipped.transform(frame)["a"]
    assert np.corrcoef(inside, frame["a"])[0, 1] == pytest.approx(1)
    assert clipped.encode_array(far)[0][0, 0] == pytest.approx(inside.max())


# --- text ---


def test_levels_need_ten_rows_and_the_others_are_counted_together():
    jobs = ["cook"] * 190 + ["clerk"] * 10 + ["smith"] * 9 + ["judge"] * 3
    frame = pd.DataFrame({"job": jobs})
    features = TableEncoder().fit_transform(frame)
    assert list(features) == ["job=clerk", "job=cook", "job is rare"]
    assert features.sum().tolist() == [10, 190, 12]


def test_levels_of_a_small_table_need_a_twentieth_of_the_rows():
    jobs = ["cook"] * 31 + ["clerk"] * 5 + ["judge"] * 2 + ["smith"] * 2
    names = list(TableEncoder().fit_transform(pd.DataFrame({"job": jobs})))
    assert names == ["job=clerk", "job=cook", "job=judge", "job=smith"]
    two = pd.DataFrame({"k": ["a", "b"] * 9})
    assert TableEncoder().fit_transform(two)["k=b"].tolist() == [0, 1] * 9


def test_many_small_groups_are_kept():
    shops = [f"shop {k:02}" for k in range(24)] * 9
    assert TableEncoder().fit_transform(pd.DataFrame({"shop": shops})).shape == (216, 24)


def test_at_most_thirty_levels_have_a_feature():
    jobs = [f"job {k:02}" for k in range(40) for _ in range(10 + k)]
    names = list(TableEncoder().fit_transform(pd.DataFrame({"a": jobs})))
    assert names == [f"a=job {k}" for k in range(10, 40)] + ["a is rare"]


def test_a_level_never_seen_is_the_average_row_and_named():
    frame = mixed()
    encoder = TableEncoder().fit(frame[["job"]])
    with pytest.warns(TableWarning, match=r"never seen in training.*job \(1 row, e.g. 'king'\)"):
        unseen = encoder.transform(pd.DataFrame({"job": ["king"]}))
    assert unseen.iloc[0].to_numpy() == pytest.approx(encoder.transform(frame).mean().to_numpy())


def test_a_missing_level_is_the_average_row_where_training_had_none():
    frame = mixed()[["member"]]
    encoder = TableEncoder().fit(frame)
    assert list(encoder.get_feature_names_out()) == ["member=yes"]
    with pytest.warns(TableWarning, match=r"missing values, too few.*member \(1 row\)"):
        found = encoder.transform(pd.DataFrame({"member": [None]})).iloc[0, 0]
    assert found == pytest.approx((frame["member"] == "yes").mean())


def test_text_without_two_frequent_values_is_left_out():
    frame = pd.DataFrame({"a": ["x"] * 60 + list("ppqqrrsst"), "b": ["x", "y", "z"] * 23})
    frame["c"] = ["u", "v", "w"] * 3 + [None] * 60
    encoder = TableEncoder().fit(frame)
    assert encoder.used_columns == ["a", "b", "c"]
    small = pd.DataFrame({"a": list("abcdefghijk"), "d": range(11)})
    with pytest.warns(TableWarning, match=r"not two values in enough rows.*a \(11 values\)"):
        encoder = TableEncoder().fit(small)
    assert encoder.used_columns == ["d"]
    assert encoder.variables_ == ["a", "d"]


# --- the same table in other forms ---


def test_columns_in_another_order_give_the_same_features():
    frame = mixed()
    expected = TableEncoder().fit_transform(frame)
    features = TableEncoder().fit_transform(frame[frame.columns[::-1]])
    pd.testing.assert_frame_equal(features[expected.columns], expected)
    encoder = TableEncoder().fit(frame)
    pd.testing.assert_frame_equal(encoder.transform(frame[frame.columns[::-1]]), expected)


def in_forms(frame):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    yield "nullable", frame.convert_dtypes()
    yield "arrow", frame.convert_dtypes(dtype_backend="pyarrow")
    yield "short", frame.astype({"income": "float32", "age": "float32"})
    unused = pd.CategoricalDtype(["smith", "king", "cook", "judge", "clerk"])
    yield "categories", frame.astype({"job": unused, "member": "category"})
    yield "polars", polars.from_pandas(frame)
    yield "pyarrow", pyarrow.Table.from_pandas(frame)
    yield "text", frame.map(lambda value: "" if pd.isna(value) else str(value))


def test_the_same_values_of_another_type_give_the_same_features():
    frame = mixed()
    frame["income"] = frame["income"].round(3)
    encoder = TableEncoder().fit(frame)
    expected = encoder.transform(frame)
    for form, other in in_forms(frame):
        pd.testing.assert_frame_equal(
            encoder.transform(other), expected, obj=form, check_exact=True
        )
        again = TableEncoder().fit(other).transform(frame)
        pd.testing.assert_frame_equal(again, expected, obj=form, check_exact=True)


def test_weights_count_rows():
    frame = mixed()
    weight = np.random.default_rng(2).integers(0, 4, len(frame))
    copies = frame.loc[np.repeat(frame.index, weight)]
    for dichotomize in (None, "mean"):
        expected = TableEncoder(dichotomize=dichotomize).fit(copies)
        for scale in (1, 0.37):
            found = TableEncoder(dichotomize=dichotomize).fit(frame, sample_weight=scale * weight)
            exact = dichotomize is None
            pd.testing.assert_frame_equal(
                found.encode(frame)[0], expected.encode(frame)[0], check_exact=exact
            )
            assert [c.name for c in found.columns_] == [c.name for c in expected.columns_]


# --- arrays ---


def test_an_array_is_encoded_as_the_frame_of_its_columns():
    x = np.column_stack([numbers(), numbers(seed=1) > 1, np.ones(200)])
    frame = pd.DataFrame(x, columns=["x0", "x1", "x2"])
    with pytest.warns(TableWarning, match="constant: x2"):
        encoder = TableEncoder().fit(x)
    assert list(encoder.get_feature_names_out()) == ["x0", "x1"]
    assert encoder.variables_ == ["x0", "x1", "x2"]
    features, _ = encoder.encode_array(x)
    assert features.flags.c_contiguous
    assert features.dtype == np.float64
    with pytest.warns(TableWarning):
        expected = TableEncoder().fit(frame).encode(frame)[0]
    np.testing.assert_array_equal(features, expected)
    named = frame.set_axis(["p", "q", "r"], axis=1)
    np.testing.assert_array_equal(encoder.transform(named), expected)
    for other in (x[:, :2], frame[["x0", "x1"]]):
        with pytest.raises(InputError, match="has 2 columns, but that of training had 3"):
            encoder.transform(other)


def test_a_frame_has_names_and_an_array_has_none():
    encoder = TableEncoder().fit(mixed()[["income"]])
    with pytest.raises(InputError, match="named columns"):
        encoder.transform(np.ones((2, 1)))


# --- groups, overlap, files ---


def test_groups_tell_the_column_of_each_feature():
    encoder = TableEncoder().fit(mixed())
    names = [column.name for column in encoder.columns_]
    assert names == encoder.variables_ == list(mixed())
    of_feature = [names[k] for k in encoder.groups_]
    assert of_feature == ["income", "age", "age", "owner", *["job"] * 5, "member"]


@pytest.mark.parametrize("dichotomize", [None, "mean"])
def test_an_encoder_of_numbers_comes_back_from_a_file(tmp_path, dichotomize):
    frame = mixed()
    encoder = TableEncoder(dichotomize=dichotomize).fit(frame)
    encoder.save(tmp_path / "encoder")
    read = load(tmp_path / "encoder")
    pd.testing.assert_frame_equal(read.encode(frame)[0], encoder.encode(frame)[0])
    assert read.groups_.tolist() == encoder.groups_.tolist()
    assert read.variables_ == encoder.variables_


def test_dichotomize_is_a_known_way():
    with pytest.raises(InputError, match="dichotomize must be one of None, 'mean', 'median'"):
        TableEncoder(dichotomize="mode").fit(mixed())
