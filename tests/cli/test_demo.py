"""The demo: what it prints and what it writes."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from stablepred.cli import app

METHODS = ["LR", "DLR", "GBR", "DGBR", "Stable", "constant", "oracle"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    arguments = ["demo", "--rows", "200", "--test-rows", "200", "--output", str(folder)]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}), folder


def test_demo_succeeds_and_names_every_method_and_reference(run):
    result, _ = run
    assert result.exit_code == 0, result.output
    for name in METHODS:
        assert f"\n  {name} " in result.output


def test_demo_says_what_its_columns_mean_and_names_options(run):
    output = run[0].output
    assert "average gap, stability gap: the share of the way from LR to the oracle" in output
    assert "shrunk better: whether LR, pulled towards the constant" in output
    assert "='" not in output


def test_demo_writes_one_error_per_method_and_environment(run):
    _, folder = run
    errors = pd.read_csv(folder / "errors.csv", index_col="method")
    assert list(errors.index) == METHODS
    assert errors.shape == (7, 9)
    assert errors.notna().all().all()
    assert ((errors > 0) & (errors < 1)).all().all()


def test_demo_draws_the_errors(run):
    _, folder = run
    assert (folder / "errors.png").stat().st_size > 10_000


def test_demo_report_shows_the_stable_classifier_beside_all_others(run):
    result, folder = run
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "Stability report of StableClassifier" in text
    for name in METHODS:
        if name != "Stable":
            assert f">{name}<" in text
    for section in ("errors", "variables", "breakers", "run"):
        assert f'<section id="{section}">' in text
    assert f"written: {folder}/report.html, {folder}/errors.csv" in result.output


def test_unknown_choice_is_bad_usage():
    result = CliRunner().invoke(app, ["demo", "--bias-on", "weather"])
    assert result.exit_code == 2
    assert "weather" in result.output
