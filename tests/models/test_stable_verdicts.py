"""What ``variables_`` and ``decision_`` say: names, reasons, and nothing where nothing is known."""

import numpy as np
import pandas as pd
import pytest

from stablepred import (
    DGBRClassifier,
    GBRClassifier,
    StableClassifier,
    StableFeatureSelector,
    StableRegressor,
    load,
    stability_price,
    stability_report,
)
from stablepred.evidence.base import Scores
from stablepred.exceptions import InputError
from stablepred.heads.guard import Decision
from stablepred.plotting import VariableEffectsDisplay

pytestmark = pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")


class Told:
    """Evidence that knows the first two columns as stable, and the probability of the others."""

    name = "told"

    def __init__(self, *probabilities):
        self.leaning = np.array([0.01, 0.01, *probabilities])

    def __call__(self, sample, w):
        leaning = self.leaning[sample.origin.columns]
        zeros = np.zeros(len(leaning))
        return Scores(zeros, zeros + 1, zeros - 2, zeros + 2, leaning < 0.1, leaning, 1.0)


@pytest.fixture(scope="module")
def rows():
    """Two causes, then three copies of the outcome with errors."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5))
    score = 1.5 * x[:, 0] + x[:, 1] + rng.logistic(size=400)
    x[:, 2:] += 0.8 * np.sign(score)[:, None]
    return pd.DataFrame(x, columns=["a", "b", "c", "d", "e"]), (score > 0).astype(int)


@pytest.fixture(scope="module")
def mixed(rows):
    """The same rows with a constant, an empty column, an id, and a value that four rows lack."""
    rng = np.random.default_rng(1)
    frame = rows[0].assign(same="x", empty=np.nan, id=[f"person {k}" for k in range(400)])
    return frame.assign(lacking=np.where(rng.permutation(400) < 4, None, "usual")), rows[1]


# --- names ---


def test_a_decision_names_the_variables_left_out_and_used(mixed):
    evidence = [Told(0.99, 0.99, 0.8, *[0.5] * 4)]
    model = StableClassifier(evidence=evidence, random_state=0).fit(*mixed)
    assert model.decision_.chosen == "stable alone"
    lines = [
        "left out (noisy): c, d",
        "left out (undecided): e",
        "left out (constant): same, empty, lacking",
        "left out (id, free text or rare values): id",
        "used (stable): a, b",
    ]
    assert model.decision_.variables.splitlines() == lines
    assert str(model.decision_).endswith("\n".join(lines))
    assert all(line in model.decision_._repr_html_() for line in lines)


def test_every_variable_is_named_where_all_are_used(rows):
    model = StableFeatureSelector(evidence=[Told(0.5, 0.5, 0.5)], random_state=0).fit(*rows)
    lines = model.decision_.variables.splitlines()
    assert lines == ["used (undecided): c, d, e", "used (stable): a, b"]


def test_long_lists_of_names_are_shortened():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 30))
    model = StableFeatureSelector(random_state=0).fit(x, (x[:, 0] > 0).astype(int))
    assert len(model.decision_.variables) < 300
    assert "more" in model.decision_.variables


def test_a_decision_is_stored_with_its_names(rows, tmp_path):
    model = StableClassifier(random_state=0).fit(*rows)
    model.save(tmp_path / "model")
    assert str(load(tmp_path / "model").decision_) == str(model.decision_)
    old = Decision(model.decision_.candidates, "all variables", "Because.")
    assert str(old).endswith("Because.")


# --- reasons ---


def test_a_reason_calls_no_variable_noisy_where_none_is(rows):
    model = StableClassifier(evidence=[Told(0.8, 0.8, 0.8)], random_state=0).fit(*rows)
    assert set(model.variables_["verdict"]) == {"stable", "undecided"}
    assert model.decision_.chosen == "stable alone"
    assert "if variables that are more likely noisy than not change" in model.decision_.reason


# --- nothing is known ---


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_nothing_was_judged_no_probability_is_given(rows, n_classes, tmp_path):
    y = np.arange(400) % n_classes if n_classes > 2 else rows[1]
    for guard in (True, False):
        model = StableClassifier(evidence=["invariance"], guard=guard, random_state=0)
        variables = model.fit(rows[0], y).variables_
        assert set(variables["verdict"]) == {"undecided"}
        assert variables["probability_noisy"].isna().all()
        assert variables["used"].all()
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(load(tmp_path / "model").variables_, variables)


def test_the_price_of_stability_is_known_without_a_probability(rows):
    model = StableRegressor(evidence=["invariance"], random_state=0)
    price = stability_price(model.fit(rows[0], rows[0]["a"]), rows[0], rows[0]["a"])
    assert price["n_variables"].tolist() == [5, 4, 3, 2, 1]


def test_what_the_encoder_left_out_is_not_called_constant(mixed, tmp_path):
    model = StableClassifier(random_state=0).fit(*mixed)
    table = model.variables_.set_index("variable")
    assert table.loc[["same", "empty"], "verdict"].tolist() == ["constant", "constant"]
    assert table.loc["id", "verdict"] == "left out"
    unknown = table.index.isin(["same", "empty", "id", "lacking"])
    np.testing.assert_array_equal(table["probability_noisy"].isna(), unknown)
    assert not table.loc[unknown, "used"].any()
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(load(tmp_path / "model").variables_, model.variables_)
    display = VariableEffectsDisplay.from_estimator(model)
    assert "id" not in [text.get_text() for text in display.ax_.get_yticklabels()]
    stability_report(model, [mixed, mixed], n_bootstrap=20).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "left out (id, free text or rare values): id" in page


# --- rows and folds ---


def test_what_a_row_of_weight_zero_holds_is_of_no_matter(rows):
    weight = np.r_[np.ones(396), np.zeros(4)]
    place = np.where(np.arange(400) % 2, "north", "south").astype(object)
    odd, lost = rows[0].copy(), place.copy()
    odd.iloc[396], odd.iloc[397], lost[396:] = np.inf, np.nan, None
    for model in (StableClassifier(random_state=0), StableFeatureSelector(random_state=0)):
        for frame, given in ((rows[0][:396], odd), (rows[0][:396].to_numpy(), odd.to_numpy())):
            one = model.fit(given, rows[1], sample_weight=weight, environment=lost, groups=lost)
            found = one.variables_, str(one.decision_)
            model.fit(frame, rows[1][:396], environment=place[:396], groups=place[:396])
            pd.testing.assert_frame_equal(found[0], model.variables_)
            assert found[1] == str(model.decision_)


def test_infinity_and_lost_labels_in_rows_that_count_are_refused(rows):
    odd, lost = rows[0].copy(), np.array(["n", "s"] * 200, dtype=object)
    odd.iloc[5], lost[5], weight = np.inf, None, np.arange(400) % 400
    with pytest.raises(InputError, match="infin"):
        StableClassifier().fit(odd, rows[1], sample_weight=weight)
    with pytest.raises(InputError, match="environment has missing labels"):
        StableClassifier().fit(*rows, sample_weight=weight, environment=lost)


@pytest.mark.parametrize(
    "model",
    [
        StableClassifier(),
        StableRegressor(),
        StableFeatureSelector(),
        GBRClassifier(),
        DGBRClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_list_without_splits_is_refused(rows, model):
    y = rows[0]["a"] if isinstance(model, StableRegressor) else rows[1]
    with pytest.raises(InputError, match="cv has no splits"):
        model.set_params(cv=[]).fit(rows[0], y)


def test_a_generator_without_splits_is_refused(rows):
    with pytest.raises(InputError, match="cv has no splits"):
        StableClassifier(cv=iter([])).fit(*rows)
