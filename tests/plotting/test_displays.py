import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from stablepred import GBRClassifier, GlobalBalancer, StableClassifier, stability_report
from stablepred.data import SyntheticWorld
from stablepred.evaluation.predictions import PlainTable
from stablepred.evaluation.price import stability_price
from stablepred.exceptions import InputError, TableWarning
from stablepred.plotting import (
    BalanceDisplay,
    EnvironmentErrorsDisplay,
    StabilityPriceDisplay,
    VariableEffectsDisplay,
    WeightsDisplay,
)

mpl.use("Agg")
WORLD = SyntheticWorld("s_indep_v", n_features=10)
RATES = (0.1, 0.5, 0.9)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def train():
    return WORLD.sample(600, bias_rate=0.75, random_state=0)


@pytest.fixture(scope="module")
def tests():
    return [WORLD.sample(300, bias_rate=rate, random_state=1) for rate in RATES]


@pytest.fixture(scope="module")
def stable(train):
    return StableClassifier(LogisticRegression(), random_state=0).fit(train.X, train.y)


@pytest.fixture(scope="module")
def gbr(train):
    return GBRClassifier(random_state=0, l1=0.01, refit=False).fit(train.X, train.y)


def rmse(table, predicted):
    return np.sqrt(np.mean((np.asarray(table.y) - predicted) ** 2))


def marks(display):
    """The values of each series of marks; the line at zero has none."""
    return [np.asarray(line.get_xdata()) for line in marked(display)]


def marked(display):
    return [line for line in display.ax_.get_lines() if line.get_marker() != "None"]


def names(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


# --- errors ---


def test_errors_of_a_classifier_are_those_of_its_probabilities(train, tests):
    model = LogisticRegression().fit(train.X, train.y)
    display = EnvironmentErrorsDisplay.from_estimator(model, tests, n_bootstrap=20)
    expected = [rmse(t, model.predict_proba(t.X)[:, 1]) for t in tests]
    np.testing.assert_allclose(marks(display), [expected])
    assert names(display) == [t.name for t in tests]
    assert (display.low < expected).all()
    assert (display.high > expected).all()


@pytest.mark.parametrize("named", [True, False])
def test_errors_of_a_regressor_are_those_of_its_predictions(named):
    rng = np.random.default_rng(0)

    def table(name, shift):
        X = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
        return PlainTable(name, X, X["a"].to_numpy() * 3 + shift + rng.normal(size=50))

    first, *others = [table(name, k) for k, name in enumerate("xyz")]
    model = LinearRegression().fit(first.X if named else first.X.to_numpy(), first.y)
    display = EnvironmentErrorsDisplay.from_estimator(model, others, n_bootstrap=5)
    expected = [rmse(t, model.intercept_ + t.X.to_numpy() @ model.coef_) for t in others]
    np.testing.assert_allclose(marks(display), [expected])
    with pytest.raises(InputError, match="needs a 0/1 outcome"):
        EnvironmentErrorsDisplay.from_estimator(model, others, error="log_loss")


def test_several_models_stand_beside_each_other(train, tests):
    models = {
        "LR": LogisticRegression().fit(train.X, train.y),
        "half": lambda X: np.full(len(X), 0.5),
    }
    display = EnvironmentErrorsDisplay.from_environments(models, tests, n_bootstrap=5)
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["LR", "half"]
    np.testing.assert_allclose(marks(display)[1], 0.5)
    assert display.ax_.get_xlabel() == "RMSE"


def test_a_report_and_its_picture_have_the_same_errors(train, tests):
    model = LogisticRegression().fit(train.X, train.y)
    report = stability_report(model, tests, train=train, n_bootstrap=5)
    display = EnvironmentErrorsDisplay.from_report(report)
    np.testing.assert_array_equal(marks(display), report.comparison.errors.to_numpy())


def test_of_many_environments_the_worst_are_drawn():
    errors = pd.DataFrame([[0.1, 0.4, 0.2, 0.3]], index=["m"], columns=list("abcd"))
    display = EnvironmentErrorsDisplay(errors).plot(n_environments=2)
    assert names(display) == ["b", "d"]


# --- what a model tells about itself ---


def test_balance_is_drawn_before_and_after_from_the_worst_treatment_on(gbr):
    display = BalanceDisplay.from_estimator(make_pipeline("passthrough", gbr))
    after, before = marks(display)
    report = gbr.balance_report_
    expected = report.before.abs().max(axis=1).sort_values(ascending=False, kind="stable")
    np.testing.assert_allclose(before, expected)
    np.testing.assert_allclose(after, report.after.abs().max(axis=1)[expected.index])
    assert names(display) == list(expected.index)


def test_effects_have_intervals_and_the_colour_of_their_verdict(stable):
    display = VariableEffectsDisplay.from_estimator(stable)
    table = stable.variables_.set_index("variable")
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == [v for v in ("stable", "undecided", "noisy") if v in set(table["verdict"])]
    for verdict, values in zip(legend, marks(display), strict=True):
        shown = dict(zip(names(display), values, strict=True))
        drawn = {name: value for name, value in shown.items() if not np.isnan(value)}
        assert drawn == table.loc[table["verdict"] == verdict, "effect"].to_dict()
    colours = {line.get_color() for line in marked(display)}
    assert len(colours) == len(legend)


def test_weights_have_mean_one_and_say_what_they_are_worth():
    w = np.array([0.0, 1.0, 1.0, 2.0, 4.0])
    display = WeightsDisplay(w)
    assert display.effective_share == pytest.approx(8**2 / (4 * 22))
    heights = [
        (bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in display.plot().ax_.patches
    ]
    assert sum(height for _, height in heights) == pytest.approx(1)
    assert sum(x * height for x, height in heights) == pytest.approx(1, abs=0.05)
    assert "73 %" in display.ax_.get_title(loc="left")


def test_weights_of_a_balancer_and_of_a_model_are_found(train, gbr):
    balancer = GlobalBalancer(random_state=0).fit(train.X)
    for model, weights in ((balancer, balancer.weights_), (gbr, gbr.sample_weight_)):
        np.testing.assert_array_equal(WeightsDisplay.from_estimator(model).weights, weights)


@pytest.mark.parametrize("display", [BalanceDisplay, VariableEffectsDisplay, WeightsDisplay])
def test_a_model_without_what_is_to_be_drawn_is_refused_by_name(train, display):
    model = LogisticRegression().fit(train.X, train.y)
    with pytest.raises(InputError, match=r"LogisticRegression has no .*Fit a "):
        display.from_estimator(model)


# --- the price of stability ---


def test_the_path_leaves_out_the_noisiest_first_and_ends_at_the_stable(train, stable):
    table = stability_price(stable, train.X, train.y)
    variables = stable.variables_.set_index("variable")
    doubtful = variables[variables["verdict"].isin(["noisy", "undecided"])]
    dropped = [name for names in table["dropped"] for name in names]
    assert set(dropped) == set(doubtful.index)
    assert (np.diff(doubtful["probability_noisy"][dropped]) <= 0).all()
    assert list(table["n_variables"]) == list(range(10, 10 - len(table), -1))


def test_leaving_out_what_selection_tied_costs_here_and_saves_elsewhere(train, stable):
    table = stability_price(stable, train.X, train.y)
    first, last = table.iloc[0], table.iloc[-1]
    assert last["error_training"] > first["error_training"]
    assert last["error_made"] < first["error_made"]


def test_the_picture_of_the_path_has_a_row_per_step(train, stable):
    display = StabilityPriceDisplay.from_estimator(stable, train.X, train.y, n_steps=3)
    again = StabilityPriceDisplay.from_table(display.table)
    for drawn in (display, again):
        made, training = marks(drawn)
        np.testing.assert_array_equal(made, display.table["error_made"])
        np.testing.assert_array_equal(training, display.table["error_training"])
    assert names(display)[0] == "all 10 variables"


def test_a_table_with_categories_and_missing_values_has_a_path_as_well():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = pd.DataFrame(
        {
            "city": np.array(["Bern", "Uster", "Chur"])[(y + (rng.random(300) < 0.3)) % 3],
            "height": np.where(rng.random(300) < 0.1, np.nan, y + rng.normal(size=300)),
        }
    )
    stable = StableClassifier(LogisticRegression(), random_state=0).fit(X, y)
    stable.variables_["verdict"] = ["noisy", "stable"]
    table = stability_price(stable, X, y)
    assert list(table["dropped"]) == [(), ("city",)]
    assert table["error_made"][0] > table["error_training"][0]
    assert table["error_made"][1] == table["error_training"][1]


def test_a_constant_variable_is_no_step_of_the_path():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "same": 1})
    y = (X["a"] + rng.normal(size=60) > 0).astype(int)
    with pytest.warns(TableWarning, match="constant: same"):
        stable = StableClassifier(LogisticRegression(), random_state=0).fit(X, y)
    stable.variables_["verdict"] = ["undecided", "undecided", "constant"]
    assert list(stability_price(stable, X, y)["n_variables"]) == [2, 1]


def test_the_price_needs_a_model_that_judges_variables(train):
    with pytest.raises(AttributeError, match="has no attribute 'variables_'"):
        stability_price(LogisticRegression(), train.X, train.y)


def test_a_weight_that_stands_for_several_rows_counts_as_often():
    rng = np.random.default_rng(0)
    w, times = rng.uniform(0.5, 2, 40), rng.integers(1, 5, 40)
    counted, repeated = WeightsDisplay(w, count=times), WeightsDisplay(np.repeat(w, times))
    assert counted.effective_share == pytest.approx(repeated.effective_share)
    heights = [[bar.get_height() for bar in one.plot().ax_.patches] for one in (counted, repeated)]
    np.testing.assert_allclose(*heights)


def test_what_cannot_be_drawn_is_refused():
    nothing, columns = pd.DataFrame(), ["feature", "effect", "low", "high", "verdict"]
    for display, message in [
        (EnvironmentErrorsDisplay(nothing), "nothing to draw: EnvironmentErrorsDisplay"),
        (EnvironmentErrorsDisplay(pd.DataFrame(columns=["a"])), "nothing to draw"),
        (VariableEffectsDisplay(pd.DataFrame(columns=columns)), "nothing to draw"),
    ]:
        with pytest.raises(InputError, match=message):
            display.plot()
    for weights in ([-1, 2], [np.nan, 1], [0, 0], [], [[1, 2]]):
        with pytest.raises(InputError, match="weights must be finite, not negative"):
            WeightsDisplay(weights)
