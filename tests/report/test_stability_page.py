"""What is on the page of a report, read from its HTML."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from html_reader import HOSTILE, Weighted, make_table, read_file
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from stablepred import GBRClassifier, stability_report
from stablepred.evaluation.diagnostics import BalanceReport
from stablepred.evaluation.predictions import PlainTable
from stablepred.html.pages import balance_section
from stablepred.models.stable import Decision

NAMES = ["age", "income", "height", "colour", "followed"]
SECTIONS = ["errors", "variables", "breakers", "balance", "run"]
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def train():
    return make_table("here", 400, NAMES, 0)


@pytest.fixture(scope="module")
def tests():
    return [make_table(name, 200, NAMES, k + 1, k / 4) for k, name in enumerate(["a", "b", "c"])]


@pytest.fixture(scope="module")
def report(train, tests):
    model = Weighted(train)
    plain = LogisticRegression(C=0.1).fit(train.X, train.y)
    return stability_report(
        model,
        tests,
        train=train,
        stable_features=NAMES[:2],
        baselines={"weaker": plain},
        n_bootstrap=20,
        random_state=7,
    )


@pytest.fixture(scope="module")
def page(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    report.to_html(path)
    return read_file(path)


def sections(page):
    return [node.attributes["id"] for node in page.all("section")]


def table_rows(node):
    """All tables below, as lists of rows of text."""
    return [
        [[c.text for c in r.all() if c.tag in ("th", "td")] for r in t.all("tr")]
        for t in node.all("table")
    ]


# --- what is there ---


def test_the_sections_come_in_their_order(page):
    assert sections(page) == SECTIONS
    assert [a.attributes["href"] for a in page.all("a")] == [f"#{key}" for key in SECTIONS]


def test_the_headline_is_the_verdict_in_words_and_the_numbers_are_below(page, report):
    (headline,) = [h.text for h in page.all("h1")]
    assert not re.search(r"_Error|interval|\d\.\d", headline)
    assert report.verdict.startswith(headline.partition(",")[0].rstrip("."))
    assert report.verdict in [p.text for p in page.all("p")]


def test_every_figure_says_what_it_shows(page):
    charts = page.with_class("chart")
    assert len(charts) == 4
    for chart in charts:
        assert chart.attributes["role"] == "img"
        assert len(chart.attributes["aria-label"]) > 10


def test_errors_are_those_of_the_report(page, report):
    own, everyone = table_rows(page.by_id("errors"))
    for name, row in zip(
        [*"abc", "Average_Error", "Stability_Error", "Worst_Error"], own[1:], strict=True
    ):
        expected = report.errors.loc[name]
        assert row[0] == name
        assert row[3] == f"{expected['predicted']:.3f}".replace("nan", "–")
        assert row[4] == f"{expected['error']:.3f}"
        assert row[5] == f"{expected['low']:.3f} to {expected['high']:.3f}"
    assert own[1][1:3] == ["200", f"{report.errors['observed']['a']:.3f}"]
    assert everyone[0] == ["environment", "Weighted", "weaker", "LR", "constant", "oracle"]


def test_all_methods_stand_beside_the_references(page, report):
    _, table = table_rows(page.by_id("errors"))
    summary = report.comparison.summary()
    assert table[0][1:] == ["Weighted", "weaker", "LR", "constant", "oracle"]
    for column in ("Average_Error", "Stability_Error", "Worst_Error"):
        assert [column, *(f"{value:.3f}" for value in summary[column])] in table


def test_the_feature_that_follows_the_outcome_breaks_it(page):
    section = page.by_id("breakers")
    assert next(section.all("h2")).text.startswith("followed does most harm")
    assert table_rows(section)[0][1][0] == "followed"


def test_slight_harm_blames_no_feature(train, tests, tmp_path):
    steady = [make_table(name, 200, NAMES, 9) for name in "ab"]
    plain = LogisticRegression().fit(train.X, train.y)
    stability_report(plain, steady, n_bootstrap=2).to_html(tmp_path / "r.html")
    title = next(read_file(tmp_path / "r.html").by_id("breakers").all("h2")).text
    assert title.startswith("No single feature does much harm in a")


def test_harm_that_three_decimals_cannot_show_is_not_drawn(report, tmp_path):
    harmless = report.breakers.assign(harm=0.0009)
    replace(report, breakers=harmless).to_html(tmp_path / "r.html")
    section = read_file(tmp_path / "r.html").by_id("breakers")
    assert not list(section.all("svg"))
    assert next(section.all("h2")).text.startswith("No single feature does much harm")
    assert len(table_rows(section)[0]) == 1 + len(NAMES)
    some = report.breakers.assign(harm=[0.1, 0.01, 0.0009, 0.0, -0.002])
    replace(report, breakers=some).to_html(tmp_path / "r.html")
    section = read_file(tmp_path / "r.html").by_id("breakers")
    drawn = {n.text for n in section.all("text")} & set(NAMES)
    assert drawn == set(some["feature"][[0, 1, 4]])
    assert "those that change the error by 0.001 or more" in section.text


def test_the_numbers_on_top_are_in_plain_words_beside_the_references(page, report):
    (numbers,) = page.with_class("numbers")
    assert not re.findall(r"RMSE|[A-Z][a-z]+_Error|effective|oracle", numbers.text)
    errors = report.comparison.errors
    for name, row in (("logistic regression", "LR"), ("a constant", "constant")):
        for value in (errors.loc[row].mean(), errors.loc[row].std(ddof=1), errors.loc[row].max()):
            assert f"{name} {value:.3f}" in numbers.text


def test_balance_is_shown_before_and_after_weighting(page, report):
    section = page.by_id("balance")
    written = [n.text for n in section.all("text")]
    assert {"before", "after", *NAMES} <= set(written)
    worst = report.facts.balance.worst_after
    assert f"the worst is that of {worst.treatment} on {worst.covariate}." in section.text
    largest = np.abs(report.facts.balance.before.to_numpy()).max()
    assert f"{largest:.3f} before" in next(section.all("h2")).text


def test_weights_come_with_what_they_cost(page, report):
    text = page.by_id("balance").text
    share = report.facts.balance.effective_share
    assert f"400 rows are as precise as {400 * share:,.0f}" in text
    assert f"{1 / share:.2f} times that of equal weights" in text


def test_effects_come_with_intervals_verdicts_and_all_evidence(page, report):
    section = page.by_id("variables")
    (table,) = table_rows(section)
    assert table[0] == ["variable", "verdict", "effect", "low", "high", "explaining away"]
    verdicts = dict(zip(NAMES, report.facts.effects["verdict"], strict=True))
    assert {row[0]: row[1] for row in table[1:]} == verdicts
    assert (
        f"{list(verdicts.values()).count('stable')} of 5 variables" in next(section.all("h2")).text
    )


def test_undecided_variables_are_shown_as_such_and_used_ones_are_named(train, tests, tmp_path):
    model = LogisticRegression().fit(train.X, train.y)
    model.variables_ = pd.DataFrame(
        {
            "variable": NAMES,
            "effect": [0.3, 0.2, 0.0, 0.1, 0.4],
            "low": -0.1,
            "high": 0.5,
            "verdict": ["stable", "stable", "undecided", "undecided", "noisy"],
            "used": [True, True, True, True, False],
        }
    )
    candidates = pd.DataFrame({"candidate": ["all", "some"], "error": [0.3, 0.25]})
    lines = "left out (noisy): followed\nused (stable): age, income"
    model.decision_ = Decision(candidates, "some", "Because the rows say so.", lines)
    stability_report(model, tests, n_bootstrap=2).to_html(tmp_path / "r.html")
    section = read_file(tmp_path / "r.html").by_id("variables")
    assert next(section.all("h2")).text == "LogisticRegression uses 4 of 5 variables"
    paragraphs = [p.text for p in section.all("p")]
    for start, names in {
        "Because the rows say so": "",
        "used (stable)": "age, income",
        "left out (noisy)": "followed",
    }.items():
        assert [p for p in paragraphs if p.startswith(start) and p.endswith(names)], start
    assert table_rows(section)[1] == [["candidate", "error"], ["all", "0.300"], ["some", "0.250"]]
    verdicts = {row[0]: row[1] for row in table_rows(section)[0][1:]}
    assert verdicts == dict(zip(NAMES, model.variables_["verdict"], strict=True))
    assert {"stable", "undecided", "noisy"} <= {n.text for n in section.all("text")}


@pytest.mark.parametrize(
    ("after", "verb"), [(0.989, "hardly changes"), (0.2, "lowers"), (1.5, "raises")]
)
def test_balance_claims_no_more_than_its_numbers(after, verb):
    before = pd.DataFrame([[0.0, 1.0], [1.0, 0.0]], list("ab"), list("ab"))
    title = balance_section(BalanceReport(before, before * after, 2, 1.0)).title
    assert title.startswith(
        f"Weighting {verb} the worst imbalance: 1.000 before, {after:.3f} after"
    )


def test_what_was_run_can_be_run_again(page):
    facts = dict(row for table in table_rows(page.by_id("run")) for row in table)
    assert facts["model"] == "Weighted"
    assert facts["trained on"] == "here: 400 rows"
    assert facts["seed of the report"] == "7"
    assert {"stablepred", "made", "intervals"} <= set(facts)


def test_the_page_names_no_address_outside_of_itself(report, tmp_path):
    report.to_html(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not re.findall(r"https?:|//[a-z]|@import|url\(", text)
    page = read_file(tmp_path / "report.html")
    for node in page.all():
        assert not {"src", "srcset", "action", "data"} & set(node.attributes)
        assert node.attributes.get("href", "#").startswith(("#", "data:,"))


def test_a_report_writes_the_same_file_every_time(report, tmp_path):
    for name in ("one.html", "two.html"):
        report.to_html(tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_ten_times_the_rows_make_no_larger_page(tmp_path):
    sizes = []
    for n in (300, 3000):
        train, *tests = [make_table(name, n, NAMES, k) for k, name in enumerate("tab")]
        report = stability_report(Weighted(train), tests, train=train, n_bootstrap=3)
        report.to_html(tmp_path / "r.html")
        sizes.append((tmp_path / "r.html").stat().st_size)
    assert sizes[1] < 1.03 * sizes[0]


# --- models that tell less ---


def test_a_model_without_weights_has_a_page_without_them(train, tests, tmp_path):
    plain = LogisticRegression().fit(train.X, train.y)
    stability_report(plain, tests, train=train, n_bootstrap=5).to_html(tmp_path / "r.html")
    assert sections(read_file(tmp_path / "r.html")) == ["errors", "breakers", "run"]


def test_predictions_alone_have_a_page_as_well(tests, tmp_path):
    predictions = {t.name: np.full(200, 0.4) for t in tests}
    report = stability_report(predictions, tests, n_bootstrap=5)
    report.to_html(tmp_path / "r.html")
    page = read_file(tmp_path / "r.html")
    assert sections(page) == ["errors", "run"]
    assert "The model keeps no references" in page.by_id("errors").text
    assert "From predictions alone" in page.by_id("run").text


def test_the_last_step_of_a_pipeline_is_looked_into(train, tests, tmp_path):
    small = GBRClassifier(random_state=0, l1=0.01, refit=False)
    model = make_pipeline("passthrough", small).fit(train.X, train.y)
    report = stability_report(model, tests, train=train, n_bootstrap=5)
    report.to_html(tmp_path / "r.html")
    page = read_file(tmp_path / "r.html")
    assert sections(page) == SECTIONS
    assert report.facts.name == "GBRClassifier"


def test_raw_tables_of_any_columns_have_a_page_without_logistic_regression(tmp_path):
    def raw(name, n, seed):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, n)
        frame = pd.DataFrame(
            {
                "income": rng.normal(size=n) + y,
                "city": rng.choice(["Bern", "Uster"], n),
                "kind": pd.Categorical(rng.choice(["x", "y"], n)),
                "mixed": rng.choice(np.array(["a", 1, None], dtype=object), n),
                "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
                "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            }
        )
        return PlainTable(name, frame, y)

    train = raw("train", 200, 0)
    encoder = ColumnTransformer(
        [("text", OneHotEncoder(), ["city", "kind"]), ("number", "passthrough", ["income"])]
    )
    model = make_pipeline(encoder, LogisticRegression()).fit(train.X, train.y)
    tests = [raw("one", 150, 1), raw("two", 150, 2)]
    report = stability_report(model, tests, train=train, n_bootstrap=5)
    report.to_html(tmp_path / "r.html")
    page = read_file(tmp_path / "r.html")
    text = page.by_id("errors").text
    assert "LR is left out: 'since' has dates" in text or "LR is left out: " in text
    assert report.comparison.roles == {"LogisticRegression": "model", "constant": "constant"}
    assert list(report.breakers["harm"][report.breakers["feature"].isin(["mixed", "since"])]) == [
        0,
        0,
    ]


# --- hostile and large ---


def test_hostile_names_are_only_text(tmp_path):
    names = [*HOSTILE, "last"]
    train = make_table(HOSTILE[0], 200, names, 0)
    tests = [make_table(name, 100, names, k) for k, name in enumerate(HOSTILE)]
    report = stability_report(
        Weighted(train), tests, train=train, baselines={HOSTILE[1]: Weighted(train)}, n_bootstrap=5
    )
    report.to_html(tmp_path / "r.html")
    page = read_file(tmp_path / "r.html")
    tags = {node.tag for node in page.all()}
    assert tags.isdisjoint({"script", "img", "b", "iframe", "object"})
    assert not [key for node in page.all() for key in node.attributes if key.startswith("on")]
    assert (tmp_path / "r.html").stat().st_size < MEGABYTE / 4
    assert "49" not in {n.text for n in page.all("th")}


def test_two_hundred_features_and_environments_stay_small(tmp_path):
    names = [f"a feature with a rather long name, number {j}" for j in range(200)]
    train = make_table("train", 300, names, 0)
    tests = [make_table(f"region {k} of the country", 40, names, k) for k in range(200)]
    model = Weighted(train)
    stability_report(model, tests, train=train, baselines={"again": model}, n_bootstrap=3).to_html(
        tmp_path / "r.html"
    )
    assert (tmp_path / "r.html").stat().st_size < 2 * MEGABYTE
    page = read_file(tmp_path / "r.html")
    for section in ("balance", "errors", "variables"):
        assert "Only the 40 largest of 200 are drawn." in page.by_id(section).text
    assert len(table_rows(page.by_id("variables"))[0]) == 201
