"""Reports as a notebook shows them."""

import numpy as np
import pandas as pd
import pytest
from html_reader import HOSTILE, Weighted, make_table, read
from sklearn.linear_model import LogisticRegression

from stablepred import (
    DGBRClassifier,
    DLRClassifier,
    GBRClassifier,
    GlobalBalancer,
    StableClassifier,
    stability_report,
    stress_test,
)
from stablepred.html.fragments import table
from stablepred.models.stable import Decision

NAMES = ["age", "income", "followed"]


def cells(html):
    return [n.text for n in read(html).all() if n.tag in ("th", "td")]


def test_a_stability_report_shows_its_verdict_and_its_errors():
    train, *tests = [make_table(name, 100, NAMES, k) for k, name in enumerate(["t", "a", "b"])]
    report = stability_report(Weighted(train), tests, train=train, n_bootstrap=3)
    html = report._repr_html_()
    assert report.verdict in read(html).text
    assert f"{report.errors['error']['a']:.4f}" in cells(html)


def test_a_stress_report_shows_what_breaks_the_model():
    train = make_table("t", 200, NAMES, 0)
    model = LogisticRegression().fit(train.X, train.y)
    report = stress_test(model, train.X, train.y, n_bootstrap=3)
    html = report._repr_html_()
    assert f"What breaks it most: {report.errors.index[0]}" in read(html).text
    assert set(report.errors.index) <= set(cells(html))


def test_a_balance_report_shows_the_worst_pair_and_the_cost_of_the_weights():
    report = Weighted(make_table("t", 200, NAMES, 0)).balance_report_
    html = report._repr_html_()
    assert f"worst pair after weighting: {report.worst_after.treatment}" in read(html).text
    assert "effective sample size" in read(html).text
    assert set(NAMES) <= set(cells(html))


def test_a_decision_shows_its_candidates_and_its_reason():
    candidates = pd.DataFrame({"candidate": ["all", "some"], "error": [0.25, np.nan]})
    html = Decision(candidates, "all", "It predicts best.")._repr_html_()
    assert "all: It predicts best." in read(html).text
    assert cells(html) == ["candidate", "error", "all", "0.2500", "some", "–"]


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_a_table_can_be_anything_but_text(name):
    frame = pd.DataFrame({name: [name, "plain"]}, index=[name, "row"])
    tags = {node.tag for node in read(table(frame, name)).all()}
    assert tags <= {"div", "p", "br", "table", "thead", "tbody", "tr", "th", "td"}
    assert "\x00" not in table(frame, name)


def test_a_long_table_is_cut():
    assert len(cells(table(pd.DataFrame({"value": range(500)}), "Many."))) < 200


@pytest.mark.parametrize(
    "kind", [GBRClassifier, DLRClassifier, DGBRClassifier, GlobalBalancer, StableClassifier]
)
def test_a_fitted_estimator_shows_its_parameters(kind):
    train = make_table("t", 60, NAMES, 0)
    model = kind(random_state=0).fit(train.X, train.y)
    assert kind.__name__ in model._repr_html_()
