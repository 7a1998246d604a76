"""``stablepred fit``: what it says and what it writes."""

import pandas as pd
import pytest

from stablepred import GBRClassifier, load
from stablepred.cli.screen import in_options
from stablepred.data import SyntheticWorld
from stablepred.models import checkpoints

ARGUMENTS = ("--target", "bought", "--method", "lr")


@pytest.mark.parametrize("method", ["stable", "lr", "gbr"])
def test_a_table_too_small_to_hold_rows_out_is_fitted_all_the_same(run, tmp_path, method):
    (tmp_path / "few.csv").write_text("a,b,y\n1,2,no\n2,1,yes\n3,5,no\n4,2,yes\n")
    options = ("--target", "y", "--method", method, "-o", tmp_path / "model")
    answer = run("fit", tmp_path / "few.csv", *options)
    assert answer.code == 0, answer.err
    if method != "lr":
        assert "no comparison on held-out rows" in answer.out


def test_messages_do_not_name_what_only_python_has(run, tmp_path):
    (tmp_path / "two.csv").write_text("a,b,y\n1,2,no\n2,1,yes\n")
    answer = run("fit", tmp_path / "two.csv", "--target", "y", "-o", tmp_path / "model")
    assert answer.err == "error: only 2 rows are left, but at least 3 are needed.\n"


def test_the_column_of_the_environments_cannot_be_dropped(run, train, tmp_path):
    options = ("--by", "region", "--drop", "region", "-o", tmp_path / "model")
    answer = run("fit", train, "--target", "bought", *options)
    assert answer.err.startswith("error: 'region' was dropped; --by needs it")


@pytest.mark.parametrize("method", ["gbr", "dlr"])
def test_effects_say_what_is_balanced_and_whose_verdict_it_is(run, train, tmp_path, method):
    options = ("--target", "bought", "--method", method, "--set", "max_iter=2", "--cv", 0)
    out = run("fit", train, *options, "-o", tmp_path / "model").out
    assert ("with nothing balanced" in out) == (method == "dlr")
    assert "verdict of the paper's methods: stable if the interval excludes zero" in out
    balance = load(tmp_path / "model").estimator.balance_report_
    assert balance.before.loc["job=cook", "job=clerk"] == 0  # no pair: of one variable
    assert balance.before.loc["job=cook", "offer=yes"] != 0


def test_what_happened_to_every_column_is_said(run, train, tmp_path):
    answer = run("fit", train, *ARGUMENTS, "--drop", "region", "-o", tmp_path / "model")
    frame = pd.read_csv(train)
    rate, missing = (frame["bought"] == "yes").mean(), frame["income"].isna().sum()
    assert answer.code == 0
    assert answer.out.splitlines() == [
        f"read {train}: 400 rows, 7 columns (CSV, separator ',', utf-8)",
        "left out as asked: region",
        f"target bought: 'yes' is 1 ({rate:.1%} of the rows), 'no' is 0",
        "left out, constant: country (always 'here')",
        "missing values, each column with a feature 'is missing' of its own: income "
        f"({missing} rows)",
        "7 features from 4 columns",
        answer.out.splitlines()[-2],  # the errors on held-out rows, below
        f"written: {tmp_path / 'model'} (model.safetensors)",
    ]
    assert answer.err == ""


def test_the_model_takes_raw_rows_in_python_too(model, customers):
    frame = customers(50, seed=2)
    assert set(load(model).predict(frame)) <= {"no", "yes"}
    typed = load(model).predict_proba(frame)
    assert (typed == load(model).predict_proba(frame.astype(str).replace("nan", ""))).all()


def fitted(run, tmp_path, frame, *options):
    """What is printed, and the estimator, of a fit on a small table."""
    frame[["age", "job", "offer", "bought"]].to_csv(tmp_path / "small.csv", index=False)
    output = tmp_path / "model"
    answer = run("fit", tmp_path / "small.csv", "--target", "bought", *options, "-o", output)
    assert answer.code == 0, answer.err
    return answer.out, load(output).estimator


def test_the_default_method_says_what_it_relies_on(run, tmp_path, customers):
    out, estimator = fitted(run, tmp_path, customers(120))
    assert type(estimator).__name__ == "StableClassifier"
    assert "Effect on the target with the other features balanced" in out
    assert f"in use: {estimator.decision_.chosen}. {estimator.decision_.reason}\n" in out
    assert "the model uses " in out
    for verdict in set(estimator.variables_["verdict"]):
        assert f" {verdict} " in out
    assert list(estimator.feature_names_in_) == ["age", "job", "offer"]
    for command in ("evaluate", "stress"):
        answer = run(command, tmp_path / "model", tmp_path / "small.csv")
        assert answer.code == 0, answer.err


def test_parameters_are_set_by_name(run, tmp_path, customers):
    settings = ("--set", "max_iter=7", "--set", "l1=0.5", "--set", "solver=alternating")
    _, estimator = fitted(run, tmp_path, customers(120), "--method", "gbr", *settings)
    found = {name: getattr(estimator, name) for name in ("max_iter", "l1", "solver")}
    assert found == {"max_iter": 7, "l1": 0.5, "solver": "alternating"}


def test_one_kind_of_evidence_has_no_effects_to_print(run, tmp_path, customers):
    customers(120).to_csv(tmp_path / "table.csv", index=False)
    options = ("--target", "bought", "--set", "evidence=invariance", "-o", tmp_path / "model")
    answer = run("fit", tmp_path / "table.csv", *options)
    assert answer.code == 0
    assert "no evidence that was asked for applies" in answer.out
    assert "Effect on the target" not in answer.out


@pytest.mark.parametrize(
    ("method", "setting", "message"),
    [
        ("gbr", "weight_l3=1", "GBRClassifier has no parameter 'weight_l3' to set. Did you mean "),
        ("stable", "estimator=x", "no parameter 'estimator' to set"),
        ("stable", "balance=1", "StableClassifier has no parameter 'balance' to set. "),
        ("gbr", "balance", "--set takes name=value, but was given 'balance'"),
        ("gbr", "solver=magic", "magic"),
    ],
)
def test_what_cannot_be_set_is_refused(run, train, tmp_path, method, setting, message):
    options = ("--target", "bought", "--method", method, "--set", setting)
    answer = run("fit", train, *options, "-o", tmp_path / "model")
    assert answer.code == 2
    assert message in answer.err
    assert not (tmp_path / "model").exists()


def test_messages_name_options_in_place_of_parameters():
    for message, expected in {
        "Leave it out: drop=['signup date'].": "Leave it out: --drop 'signup date'.",
        "drop=['a', \"it's\"]": "--drop a --drop 'it'\"'\"'s'",
        "Replace it with force=True.": "Replace it with --force.",
        "Set positive='no'": "Set --positive no",
        "Use solver='sequential'.": "Use --set solver=sequential.",
        "Use StableClassifier.": "Use --method stable.",
        "raise hell": "raise hell",
    }.items():
        assert in_options(message, GBRClassifier()) == expected


def test_a_stopped_fit_goes_on_to_the_same_model(run, tmp_path, customers, monkeypatch):
    customers(120)[["age", "job", "offer", "bought"]].to_csv(tmp_path / "t.csv", index=False)
    command = ("fit", tmp_path / "t.csv", "--target", "bought", "--method", "gbr", "-o")
    assert run(*command, tmp_path / "whole").code == 0
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    keep, checkpoint = checkpoints.FileCheckpoint.keep, tmp_path / "fit.checkpoint"

    def keep_and_stop(self, state):
        keep(self, state)
        raise KeyboardInterrupt

    settings = (tmp_path / "model", "--set", f"checkpoint={checkpoint}")
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.FileCheckpoint, "keep", keep_and_stop)
        assert run(*command, *settings).code == 2
    assert checkpoint.exists()
    assert run(*command, *settings).code == 0
    assert not checkpoint.exists()
    files = [tmp_path / name / "model.safetensors" for name in ("model", "whole")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("method", "estimator"),
    [("dlr", "DLRClassifier"), ("gbr", "GBRClassifier"), ("dgbr-paper", "DGBRClassifier")],
)
def test_every_method_can_be_chosen(run, tmp_path, customers, method, estimator):
    _, model = fitted(run, tmp_path, customers(120), "--method", method, "--set", "max_iter=5")
    assert type(model).__name__ == estimator


def test_the_same_seed_gives_the_same_model(run, customers, tmp_path):
    train = tmp_path / "small.csv"
    customers(120)[["age", "job", "bought"]].to_csv(train, index=False)
    files = []
    for name in ("first", "second"):
        arguments = ("--target", "bought", "--method", "gbr", "--seed", 3, "-o", tmp_path / name)
        assert run("fit", train, *arguments).code == 0
        files.append((tmp_path / name / "model.safetensors").read_bytes())
    assert files[0] == files[1]


def test_the_positive_value_can_be_named(run, train, tmp_path):
    answer = run("fit", train, *ARGUMENTS, "--positive", "no", "-o", tmp_path / "model")
    rate = (pd.read_csv(train)["bought"] == "no").mean()
    assert f"target bought: 'no' is 1 ({rate:.1%} of the rows), 'yes' is 0" in answer.out


def test_several_columns_are_dropped_with_commas_or_one_by_one(run, train, tmp_path):
    first = run("fit", train, *ARGUMENTS, "--drop", "age,region", "-o", tmp_path / "first")
    second = run(
        "fit", train, *ARGUMENTS, "--drop", "age", "--drop", "region", "-o", tmp_path / "second"
    )
    assert "left out as asked: age, region" in first.out
    assert "left out as asked: age, region" in second.out


def test_a_column_with_a_comma_in_its_name_can_be_dropped(run, customers, tmp_path):
    path = tmp_path / "table.csv"
    customers(60).rename(columns={"age": "age, years"}).to_csv(path, index=False)
    answer = run("fit", path, *ARGUMENTS, "--drop", "age, years", "-o", tmp_path / "model")
    assert "left out as asked: age, years" in answer.out


def test_ids_are_warned_of(run, customers, tmp_path):
    path = tmp_path / "table.csv"
    frame = customers(60)
    frame.insert(0, "number", range(60))
    frame.insert(1, "code", [f"K{k}" for k in range(60)])
    frame.to_csv(path, index=False)
    answer = run("fit", path, *ARGUMENTS, "-o", tmp_path / "model")
    assert "left out, an id or free text: code (60 different values in 60 rows)" in answer.out
    assert "probably an id, drop it unless its size means something: number" in answer.out


def test_warnings_of_the_estimator_are_plain_lines(run, customers, tmp_path):
    path = tmp_path / "table.csv"
    frame = customers(60)
    frame["twin"] = frame["offer"]
    frame[["offer", "twin", "bought"]].to_csv(path, index=False)
    answer = run("fit", path, "--target", "bought", "--method", "gbr", "-o", tmp_path / "model")
    assert answer.code == 0
    assert "\nwarning: " in answer.out


def test_parquet_and_csv_give_the_same_model(run, customers, tmp_path):
    frame = customers(200)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    found = []
    for name in ("t.parquet", "t.csv"):
        assert run("fit", tmp_path / name, *ARGUMENTS, "-o", tmp_path / "m", "--force").code == 0
        found.append(load(tmp_path / "m").predict_proba(frame))
    assert (found[0] == found[1]).all()


def test_names_that_look_like_markup_are_printed_as_they_are(run, customers, tmp_path):
    path = tmp_path / "table.csv"
    frame = customers(60).rename(columns={"country": "[/bold]", "age": "[red]age"})
    frame.to_csv(path, index=False)
    answer = run("fit", path, "--target", "bought", "--method", "gbr", "-o", tmp_path / "model")
    assert "left out, constant: [/bold] (always 'here')" in answer.out
    assert "[red]age" in answer.out


def test_rows_may_come_as_spreadsheets_write_them(run, tmp_path):
    rows = pd.DataFrame({"Größe": ["1,5", "2,5", "3,5", "4,5"] * 20, "kauft": ["nein", "ja"] * 40})
    path = tmp_path / "tabelle.csv"
    rows.to_csv(path, index=False, sep=";", encoding="cp1252")
    answer = run("fit", path, "--target", "kauft", "--method", "lr", "-o", tmp_path / "model")
    assert "(CSV, separator ';', cp1252)" in answer.out
    assert "read with a decimal comma: Größe" in answer.out
    assert "target kauft: 'nein' is 1" in answer.out


def test_rows_without_an_outcome_are_left_out_if_asked(run, customers, tmp_path):
    frame = customers(200)
    frame.loc[[3, 8], "bought"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    answer = run(
        "fit", tmp_path / "t.csv", *ARGUMENTS, "--skip-missing-target", "-o", tmp_path / "m"
    )
    assert "left out without a target: 2 rows, first data row 4" in answer.out
    assert load(tmp_path / "m").rows == 198


def test_several_classes_are_predicted_by_name(run, customers, tmp_path):
    customers(200).to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "job", "--method", "lr", "-o", tmp_path / "m")
    answer = run("fit", tmp_path / "t.csv", *options)
    assert "target job: taken as 3 classes (" in answer.out
    assert run("predict", tmp_path / "m", tmp_path / "t.csv", "-o", tmp_path / "p.csv").code == 0
    found = pd.read_csv(tmp_path / "p.csv")
    labels = ["clerk", "cook", "smith"]
    assert list(found) == [*(f"probability of {label}" for label in labels), "prediction"]
    assert set(found["prediction"]) <= set(labels)
    answer = run("evaluate", tmp_path / "m", tmp_path / "t.csv")
    assert answer.code == 2
    assert "'job' has 3 classes; only two, or a number, can be compared" in answer.err


def test_a_number_is_predicted_by_the_default_method_alone(run, customers, tmp_path):
    customers(200).drop(columns=["region", "bought"]).dropna().to_csv(
        tmp_path / "t.csv", index=False
    )
    options = ("--target", "income", "-o", tmp_path / "m")
    answer = run("fit", tmp_path / "t.csv", *options, "--method", "gbr")
    assert answer.code == 2
    assert "'income' is a number" in answer.err
    answer = run("fit", tmp_path / "t.csv", *options)
    assert "target income: taken as a number, from " in answer.out
    assert run("predict", tmp_path / "m", tmp_path / "t.csv", "-o", tmp_path / "p.csv").code == 0
    assert list(pd.read_csv(tmp_path / "p.csv")) == ["prediction"]


def test_numbers_are_cut_if_the_method_is_told_to(run, customers, tmp_path):
    few = ("--method", "gbr", "--set", "max_iter=3")
    for cut in ("mean", "median"):
        options = (*few, "--set", f"dichotomize={cut}", "--force")
        _, estimator = fitted(run, tmp_path, customers(120), *options)
        assert estimator.feature_names_in_[0].startswith("age>")
    _, estimator = fitted(run, tmp_path, customers(120), "--method", "lr", "--force")
    assert estimator.feature_names_in_[0] == "age"


def test_by_names_the_training_environments(run, tmp_path):
    world = SyntheticWorld("s_indep_v", 10)
    parts = [world.sample(200, bias_rate=r, random_state=0) for r in (0.65, 0.85)]
    rows = [part.X.assign(y=part.y, region=k) for part, k in zip(parts, "ab", strict=True)]
    pd.concat(rows).to_csv(tmp_path / "t.csv", index=False)
    answer = run("fit", tmp_path / "t.csv", "--target", "y", "--by", "region", "-o", tmp_path / "m")
    assert answer.code == 0, answer.err
    assert "training environments by region: a (200 rows), b (200 rows)" in answer.out
    model = load(tmp_path / "m").estimator
    assert "invariance" in model.variables_
    assert "region" not in list(model.feature_names_in_)
    answer = run("fit", tmp_path / "t.csv", "--target", "y", "--by", "regio", "-o", tmp_path / "n")
    assert answer.code == 2
    assert "'region'" in answer.err


def test_by_is_refused_for_methods_of_one_environment(run, tmp_path, customers):
    customers(60).to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "bought", "--by", "job", "--method", "gbr", "-o", tmp_path / "m")
    answer = run("fit", tmp_path / "t.csv", *options)
    assert answer.code == 2
    assert "--drop job" in answer.err
