"""predict, evaluate, stress, weights and report on a user's tables."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

from stablepred import load
from stablepred.evaluation.reports import StabilityReport
from stablepred.tables import files as tables

# --- predict ---


def test_predictions_have_one_row_per_input_row_in_order(run, model, test_table, tmp_path):
    output = tmp_path / "predictions.csv"
    answer = run("predict", model, test_table, "-o", output)
    assert answer.code == 0
    found = pd.read_csv(output)
    rows = pd.read_csv(test_table)
    assert list(found.columns) == ["probability", "prediction"]
    np.testing.assert_allclose(found["probability"], load(model).predict_proba(rows)[:, 1])
    assert (found["prediction"] == load(model).predict(rows)).all()
    assert answer.out.splitlines() == [
        "ignored, not used by the model: country, region, bought",
        f"written: {output} (300 rows: probability of 'yes', prediction)",
    ]


def test_reading_in_pieces_does_not_change_the_predictions(
    run, model, test_table, tmp_path, monkeypatch
):
    run("predict", model, test_table, "-o", tmp_path / "whole.csv")
    monkeypatch.setattr(tables, "BLOCK", 1000)
    run("predict", model, test_table, "-o", tmp_path / "pieces.csv")
    assert (tmp_path / "whole.csv").read_text() == (tmp_path / "pieces.csv").read_text()


def test_what_was_not_there_in_training_is_said(run, model, customers, tmp_path, monkeypatch):
    frame = customers(90, seed=3)
    frame.loc[:9, "job"] = "astronaut"
    frame.loc[50:54, "job"] = "miner"
    frame["age"] = frame["age"].astype(object)
    frame.loc[3, "age"] = None
    frame.loc[4, "age"] = "old"
    path = tmp_path / "new.csv"
    frame.to_csv(path, index=False)
    monkeypatch.setattr(tables, "BLOCK", 1000)  # the counts of all pieces are added up
    answer = run("predict", model, path, "-o", tmp_path / "p.csv")
    assert answer.code == 0
    assert "taken as an average row: job (15 rows, e.g. 'astronaut')" in answer.out
    assert "not finite numbers, counted as missing: age (1 row, e.g. 'old')" in answer.out
    assert "missing values, taken as the mean: age (1 row)" in answer.out


# --- evaluate ---


def test_errors_are_those_of_the_library(run, model, test_table, tmp_path):
    answer = run("evaluate", model, test_table, "--by", "region", "-o", tmp_path / "e.csv")
    assert answer.code == 0
    found = pd.read_csv(tmp_path / "e.csv", index_col="environment")
    rows = pd.read_csv(test_table)
    fitted = load(model)
    for name, group in rows.groupby("region"):
        y = (group["bought"] == "yes").to_numpy()
        error = np.sqrt(np.mean((y - fitted.predict_proba(group)[:, 1]) ** 2))
        constant = np.sqrt(np.mean((y - fitted.base_rate) ** 2))
        assert found.loc[name, "error"] == pytest.approx(error)
        assert found.loc[name, "constant"] == pytest.approx(constant)
        assert found.loc[name, "low"] < error < found.loc[name, "high"]
        assert found.loc[name, "rows"] == len(group)
    both = found.loc[["north", "south"]]
    assert found.loc["Average_Error", "error"] == pytest.approx(both["error"].mean())
    assert found.loc["Stability_Error", "error"] == pytest.approx(both["error"].std())
    assert found.loc["Stability_Error", "constant"] == pytest.approx(both["constant"].std())


def test_several_files_are_an_environment_each(run, model, train, test_table):
    answer = run("evaluate", model, train, test_table)
    assert answer.code == 0
    assert "  train.csv " in answer.out
    assert "  test.csv " in answer.out
    assert "Stability_Error" in answer.out


def test_files_of_the_same_name_are_told_apart_by_their_folders(run, model, train, tmp_path):
    (tmp_path / "train.csv").write_bytes(train.read_bytes())
    answer = run("evaluate", model, train, tmp_path / "train.csv")
    assert answer.code == 0


def test_a_file_given_twice_is_no_second_environment(run, model, train, tmp_path):
    (tmp_path / "link.csv").symlink_to(train)
    answer = run("evaluate", model, train, tmp_path / "link.csv")
    assert answer.code == 2
    assert "a file is given twice" in answer.err


def test_numbers_are_cut_into_bins_and_the_rest_is_said(run, model, test_table):
    answer = run("evaluate", model, test_table, "--by", "age", "--bins", "20,40,60")
    assert answer.code == 0
    assert "[20, 40)" in answer.out
    assert "[40, 60)" in answer.out
    assert "outside the bins, left out: " in answer.out


def test_a_single_environment_has_no_stability(run, model, test_table):
    answer = run("evaluate", model, test_table)
    assert answer.code == 0
    assert "Stability_Error" not in answer.out
    assert f"than a constant of {load(model).base_rate:.3f}, the training rate" in answer.out


def test_too_few_rows_everywhere_leave_all_environments_in(run, model, test_table):
    answer = run("evaluate", model, test_table, "--by", "region", "--min-rows", 5000)
    assert "fewer than two environments have 5000 rows (--min-rows): none is left out" in answer.out


def test_a_stable_model_passes_the_check(run, model, test_table):
    answer = run("evaluate", model, test_table, "--by", "region", "--max-stability", 0.5)
    assert answer.code == 0
    assert "is within the 0.5 that was asked for.\npassed\n" in answer.out


def test_an_unstable_model_fails_the_check_with_exit_code_one(run, model, test_table):
    answer = run("evaluate", model, test_table, "--by", "region", "--max-stability", 0.0001)
    assert answer.code == 1
    assert "is ABOVE the 0.0001 that was asked for.\nFAILED\n" in answer.out
    assert answer.err == ""


def test_a_useless_model_fails_the_check_however_stable(run, customers, tmp_path, model):
    frame = customers(300, seed=1)
    rng = np.random.default_rng(0)
    frame["bought"] = rng.permutation(frame["bought"])
    frame.to_csv(tmp_path / "noise.csv", index=False)
    answer = run(
        "evaluate", model, tmp_path / "noise.csv", "--by", "region", "--max-stability", 0.5
    )
    assert answer.code == 1
    assert "NO BETTER than a constant" in answer.out


def test_the_target_may_be_called_otherwise(run, model, customers, tmp_path):
    path = tmp_path / "other.csv"
    customers(100).rename(columns={"bought": "BOUGHT"}).to_csv(path, index=False)
    assert run("evaluate", model, path, "--target", "BOUGHT").code == 0


def test_the_column_that_cuts_may_be_a_feature(run, model, test_table):
    assert "clerk" in run("evaluate", model, test_table, "--by", "job").out


# --- stress ---


def test_the_most_dangerous_feature_comes_first(run, model, train, tmp_path):
    answer = run("stress", model, train, "-o", tmp_path / "stress.csv")
    assert answer.code == 0
    found = pd.read_csv(tmp_path / "stress.csv", index_col="feature")
    assert found["worst"].is_monotonic_decreasing
    assert set(found.index) == set(load(model).encoder.get_feature_names_out())
    lines = answer.out.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("  " + found.index[0]))
    assert "──" in lines[first - 1]


# --- weights ---


def test_weights_have_mean_one_and_the_order_of_the_rows(run, train, tmp_path, customers):
    answer = run("weights", train, "--target", "bought", "-o", tmp_path / "weights.csv")
    assert answer.code == 0
    found = pd.read_csv(tmp_path / "weights.csv")
    assert list(found.columns) == ["weight"]
    assert len(found) == 400
    w = found["weight"].to_numpy()
    assert w.mean() == pytest.approx(1)
    size = w.sum() ** 2 / (w @ w)
    assert f"effective sample size: {size:,.0f} of 400 rows ({size / 400:.1%})" in answer.out
    # Under the weights two features that go together no longer do.
    frame = customers()
    north, offer = frame["region"] == "north", frame["offer"] == "yes"
    old = frame["age"] > frame["age"].mean()

    def gap(weight):
        return abs(
            np.average(old[offer], weights=weight[offer])
            - np.average(old[~offer], weights=weight[~offer])
        )

    assert gap(w) < gap(np.ones(400)) / 2
    assert north.any()


def test_levels_of_one_category_are_no_pair_to_balance(run, tmp_path):
    kind, x = ["a", "b", "c"] * 40, [k % 7 for k in range(120)]
    pd.DataFrame({"kind": kind, "x": x}).to_csv(tmp_path / "table.csv", index=False)
    out = run("weights", tmp_path / "table.csv", "-o", tmp_path / "weights.csv").out
    (line,) = [line for line in out.splitlines() if line.startswith("worst imbalance")]
    assert line.count("kind=") == 2
    assert line.count("x)") + line.count("(x,") == 2


def test_weights_without_a_target_balance_every_column(run, train, tmp_path):
    answer = run("weights", train, "-o", tmp_path / "weights.csv")
    assert answer.code == 0
    assert "no --target was named" in answer.out


# --- report and datasets ---

needs_pages = pytest.mark.skipif(
    not hasattr(StabilityReport, "to_html"), reason="stability reports cannot be written as pages"
)


@needs_pages
def test_a_report_is_one_page(run, model, test_table, tmp_path):
    path = tmp_path / "report.html"
    answer = run("report", model, test_table, "--by", "region", "-o", path)
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[-1] == f"written: {path}"
    page = path.read_text(encoding="utf-8")
    assert "north" in page
    assert "offer=yes" in page


def test_a_report_needs_two_environments(run, model, test_table, tmp_path):
    answer = run("report", model, test_table, "-o", tmp_path / "report.html")
    assert answer.code == 2
    assert "there is only one" in answer.err


@pytest.mark.skipif(
    importlib.util.find_spec("stablepred.tables.datasets") is None, reason="no real data sets"
)
def test_every_data_set_is_listed_with_its_source(run):
    from stablepred.data import DATASETS

    answer = run("datasets")
    assert answer.code == 0
    for name, source in DATASETS.items():
        assert f"{name}: {source.title}" in answer.out
        assert source.citation in answer.out


# --- the raw bank file ---


def test_the_raw_bank_file_needs_no_column_touched_by_hand(run, bank, tmp_path):
    arguments = ("--target", "y", "--drop", "duration", "--method", "lr", "-o", tmp_path / "model")
    answer = run("fit", bank, *arguments)
    assert answer.code == 0
    assert "target y: 'yes' is 1 (11.7% of the rows), 'no' is 0" in answer.out
    answer = run("evaluate", tmp_path / "model", bank, "--by", "age", "--bins", "20,30,40,50,100")
    assert answer.code == 0
    for rows in ("5,226", "18,089", "11,655", "10,194"):
        assert rows in answer.out
