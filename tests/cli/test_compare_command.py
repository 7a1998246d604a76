"""``stablepred compare``: what it trains and tests on, what it writes, what it refuses."""

import pandas as pd
import pytest


@pytest.fixture
def compared(run, train, test_table, tmp_path):
    """Run on two files with two methods."""

    def compare(*more, methods="lr,constant", out="out"):
        files = (train, test_table, "--target", "bought", "--methods", methods)
        return run("compare", *files, "-o", tmp_path / out, *more)

    return compare


def test_two_files_give_a_table(compared, tmp_path, test_table):
    answer = compared()
    assert answer.code == 0, answer.err
    assert answer.out.index("lr") < answer.out.index("constant")
    table = pd.read_csv(tmp_path / "out" / "comparison.csv", index_col="method")
    assert list(table.index) == ["lr", "constant"]
    errors = pd.read_csv(tmp_path / "out" / "errors.csv", index_col="method")
    assert list(errors) == [test_table.name]


def test_one_file_leaves_every_environment_out_in_turn(run, train, tmp_path):
    out = tmp_path / "out"
    answer = run(
        *("compare", train, "--target", "bought", "--by", "region"),
        *("--methods", "lr,group_dro", "-o", out),
    )
    assert answer.code == 0, answer.err
    assert list(pd.read_csv(out / "errors.csv", index_col=0)) == ["north", "south"]


def test_labels_of_training_environments_reach_the_methods(run, train, test_table):
    files = (train, test_table, "--target", "bought", "--methods", "group_dro")
    assert "needs several training environments" in run("compare", *files).out
    answer = run("compare", *files, "--by", "region")
    assert answer.code == 0, answer.err
    assert "needs several" not in answer.out


def test_a_number_is_predicted_too(run, tmp_path):
    for seed, name in enumerate(("train", "test")):
        frame = pd.DataFrame({"a": range(40), "b": [k % 7 for k in range(40)]})
        frame.assign(y=frame["a"] * 1.5 + seed).to_csv(tmp_path / f"{name}.csv", index=False)
    files = (tmp_path / "train.csv", tmp_path / "test.csv", "--target", "y")
    answer = run("compare", *files, "--methods", "ols,constant")
    assert answer.code == 0, answer.err
    assert "ols" in answer.out


def test_test_files_may_have_their_columns_in_another_order_and_others_too(run, train, tmp_path):
    frame = pd.read_csv(train)
    frame[frame.columns[::-1]].assign(source="there").to_csv(tmp_path / "other.csv", index=False)
    both = (train, train, tmp_path / "other.csv", "--target", "bought", "--methods", "lr")
    answer = run("compare", *both, "--drop", "offer", "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    errors = pd.read_csv(tmp_path / "out" / "errors.csv", index_col=0)
    assert errors.loc["lr", "train.csv"] == errors.loc["lr", "other.csv"]
    ignored = [line for line in answer.out.splitlines() if line.startswith("ignored in")]
    assert len(ignored) == 1
    assert ignored[0].endswith(": source")


def test_what_cannot_be_compared_is_refused(run, compared, train, test_table, tmp_path):
    assert "nothing to test on" in run("compare", train, "--target", "bought").err
    answer = compared(methods="lr,bosting")
    assert answer.code == 2
    assert "Did you mean 'boosting'" in answer.err
    answer = run("compare", train, "--target", "bought", "--by", "colour")
    assert "column 'colour' is not in the table" in answer.err
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine")
    assert "is not empty" in compared(out="other").err
    assert compared("--force", out="other").code == 0


def test_the_outcome_of_a_test_file_is_read_as_that_of_training(run, train, test_table, tmp_path):
    other, frame = tmp_path / "other.csv", pd.read_csv(test_table)
    command = ("compare", train, other, "--target", "bought", "--methods", "lr")
    frame.assign(bought=frame["bought"].eq("yes").astype(int)).to_csv(other, index=False)
    assert "target 'bought' must be 'no' or 'yes' as in training, but has '0'" in run(*command).err
    numbers = pd.DataFrame({"a": range(50), "b": [k % 7 for k in range(50)]})
    for path, mark in ((tmp_path / "train.csv", ","), (other, ".")):
        written = [f"{k}{mark}234" for k in range(1, 51)]
        numbers.assign(y=written).to_csv(path, index=False, sep=";")
    answer = run("compare", tmp_path / "train.csv", other, "--target", "y", "--methods", "ols")
    assert answer.code == 2
    assert "'y' is written with a decimal comma as in 1234,5, but has '1.234'" in answer.err
