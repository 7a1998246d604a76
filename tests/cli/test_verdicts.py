"""What the commands recommend, beside the references that a model folder keeps."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from stablepred import load, stability_report
from stablepred.data import SyntheticWorld
from stablepred.tables.table_model import fit_table


def test_every_model_folder_keeps_its_references(model, train):
    frame, kept = pd.read_csv(train), load(model).references
    rate = (frame["bought"] == "yes").mean()
    assert kept.constant[1] == pytest.approx(rate)
    assert list(kept.errors.index) == ["constant", "LR"]
    assert kept.predict_linear(frame).shape == (len(frame),)


def test_fit_prints_the_held_out_errors_of_all(run, train, tmp_path):
    options = ("--target", "bought", "--method", "lr", "-o", tmp_path / "model")
    line = run("fit", train, *options).out.splitlines()[-2]
    errors = load(tmp_path / "model").references.errors["rmse"]
    assert line.startswith("RMSE on held-out rows of this table: LogisticRegression (C = 1) 0.")
    assert f"with a chosen penalty {errors['LR']:.4f}, constant {errors['constant']:.4f}" in line
    assert "held-out" not in run("fit", train, *options, "--force", "--cv", 0).out


def test_the_terminal_the_page_and_python_say_the_same(run, model, test_table, tmp_path):
    verdict = next(
        line
        for line in run("evaluate", model, test_table, "--by", "region").out.splitlines()
        if "The worst error of" in line
    )
    output = tmp_path / "report.html"
    printed = run("report", model, test_table, "--by", "region", "-o", output).out.splitlines()
    assert verdict in printed
    assert verdict.split(" (")[0] in output.read_text()
    fitted, frame = load(model), pd.read_csv(test_table)
    found = [fitted.environment(name, rows) for name, rows in frame.groupby("region")]
    beside = {
        role: {name: predict(rows) for name, rows in frame.groupby("region")}
        for role, predict in fitted.references.predictors().items()
    }
    assert stability_report(fitted.estimator, found, references=beside).verdict == verdict


def test_a_model_that_loses_everywhere_is_advised_against(run, train, test_table, tmp_path):
    """Trained on the wrong outcome, beside references that were trained on the right one."""
    frame = pd.read_csv(train).drop(columns=["region", "country"])
    right = fit_table(frame, "bought", LogisticRegression())
    wrong = frame.assign(bought=frame["bought"].map({"yes": "no", "no": "yes"}))
    model = fit_table(wrong, "bought", LogisticRegression())
    object.__setattr__(model, "references", right.references)
    model.save(tmp_path / "model")
    out = run("evaluate", tmp_path / "model", test_table, "--by", "region").out
    assert (
        "Use logistic regression with a chosen penalty instead: it is more accurate than "
        "LogisticRegression in 2 of 2" in out
    )


def test_few_rows_show_no_difference(run, model, customers, tmp_path):
    customers(24, seed=5).to_csv(tmp_path / "few.csv", index=False)
    out = run("evaluate", model, tmp_path / "few.csv", "--by", "region").out
    assert "These rows show no difference between LogisticRegression and" in out


def test_environments_of_single_rows_show_no_difference(run, model, customers, tmp_path):
    """A bootstrap of one row is always the same, which is no certainty."""
    single = customers(6, seed=5).assign(who=[f"p{k}" for k in range(6)])
    single.to_csv(tmp_path / "single.csv", index=False)
    out = run("evaluate", model, tmp_path / "single.csv", "--by", "who").out
    assert "These rows show no difference between LogisticRegression and" in out
    assert "with too few rows for an interval" in out
    assert "nan" not in out


def test_errors_are_shown_with_decimals_of_their_size(run, tmp_path):
    rng = np.random.default_rng(0)
    x, path = rng.normal(size=120), tmp_path / "table.csv"
    for unit, shown in ((1e-6, r" \d\.\de-07–"), (1e6, r" \d{6} ")):
        y = (x + rng.normal(size=120)) * unit
        pd.DataFrame({"x": x, "g": ["a", "b"] * 60, "y": y}).to_csv(path, index=False)
        options = ("--target", "y", "--cv", 0, "--force", "--set", "evidence=explaining_away")
        run("fit", path, *options, "-o", tmp_path / "model")
        out = run("evaluate", tmp_path / "model", path).out
        assert re.search(shown, out), out


@pytest.mark.slow
def test_on_the_world_of_the_demo_the_model_is_recommended(run, tmp_path):
    world = SyntheticWorld("s_indep_v", bias_on="outcome")
    rates = {"train": 0.75, "low": 0.2, "middle": 0.5, "high": 0.8}
    for seed, (name, rate) in enumerate(rates.items()):
        rows = world.sample(2000, bias_rate=rate, random_state=seed)
        rows.X.assign(y=np.where(rows.y == 1, "yes", "no")).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    run("fit", tmp_path / "train.csv", "--target", "y", "-o", tmp_path / "model")
    tests = [tmp_path / f"{name}.csv" for name in ("low", "middle", "high")]
    out = run("evaluate", tmp_path / "model", *tests).out
    assert "Use StableClassifier: it is more accurate than logistic regression" in out


def test_all_commands_take_a_model_of_columns_as_they_come(run, train, test_table, tmp_path):
    by, page, screened = ("--by", "region"), tmp_path / "page.html", tmp_path / "model"
    run("fit", train, "--target", "bought", "--drop", "region", "--cv", 0, "-o", screened)
    for command in (
        ("evaluate", screened, test_table),
        ("evaluate", screened, test_table, *by),
        ("stress", screened, test_table),
        ("report", screened, test_table, *by, "-o", page),
        ("predict", screened, test_table, "-o", tmp_path / "predictions.csv"),
    ):
        answer = run(*command)
        assert answer.code == 0, answer.err
    assert load(screened).environment("all", pd.read_csv(test_table)).X["job"].dtype == "category"


def test_environments_of_few_rows_do_not_hide_what_the_others_show(run, model, customers, tmp_path):
    frame = customers(300, seed=2)
    frame.loc[:9, "region"] = "island"
    frame.to_csv(tmp_path / "table.csv", index=False)
    command = ("evaluate", model, tmp_path / "table.csv", "--by", "region")
    line = "left out, under 30 rows: island (10 rows); --min-rows 1 takes them in"
    assert line in run(*command).out.splitlines()
    assert "island    " in run(*command, "--min-rows", 1).out
    frame.loc[20:, "region"] = "north"  # only one environment would remain
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert "island    " in run(*command).out
