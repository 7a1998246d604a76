"""Bad input: a plain message, exit code 2, and nothing half-written."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from stablepred.exceptions import InputError
from stablepred.tables import files as tables
from stablepred.tables.table_model import EncodedTable

FIT = ("--target", "y", "--method", "lr")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(rows=40, **columns):
    """A small table with a good column and a target, and what is given."""
    good = {"x": [k % 7 for k in range(rows)], "y": ["no", "yes"] * (rows // 2)}
    return pd.DataFrame(good | columns)


def refused(answer, *messages):
    """Exit code 2, one line on standard error, no traceback."""
    assert answer.code == 2, answer.out
    assert answer.err.startswith("error: ")
    assert len(answer.err.splitlines()) == 1
    assert "Traceback" not in answer.err
    for message in messages:
        assert message in answer.err
    return True


def left_behind(place):
    """Files and folders besides the tables."""
    return sorted(p.name for p in place.iterdir() if p.suffix != ".csv" or p.name.startswith("."))


# --- the table ---

TEXTS = {
    "an empty file": (b"", "table.csv is empty"),
    "a header alone": (b"x,y\n", "has a header but no rows"),
    "a ragged row": (b"x,y\n1,no\n2\n", "row 3 (the header is row 1) has 1 fields"),
    "broken encoding": ("x,y\né,no\n".encode() + b"\xff\xe9,yes\n", "line 3: a byte that is not"),
    "no text at all": (b"\x00\x01\x02\x03", "not a text file"),
    "repeated names": (b"x,x,y\n1,2,no\n3,4,yes\n", "names of columns repeat: 'x'"),
    "a workbook": (b"PK\x03\x04", "Excel"),
    "no header": (b"1,0.5,no\n2,0.7,yes\n", "The first line seems to hold data"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_file_that_is_no_table(run, place, case):
    content, message = TEXTS[case]
    (place / "table.csv").write_bytes(content)
    assert refused(run("fit", "table.csv", *FIT, "-o", "model"), message)
    assert left_behind(place) == []


@pytest.mark.parametrize("content", ["x,y\n", "x,y\n1,no\n2\n", "x,y\n1,no\n"])
def test_nothing_of_a_file_is_left_to_threads_that_may_outlive_python(place, monkeypatch, content):
    (place / "table.csv").write_text(content)
    held, wait = [], tables._await_release
    monkeypatch.setattr(tables, "_await_release", lambda one: (held.extend(one), wait(one)))
    with contextlib.suppress(InputError):
        tables.read_table("table.csv")
    assert [one() for one in held] == [None, None]


def test_a_missing_file_is_named_with_the_nearest_one(run, place):
    table().to_csv("table.csv", index=False)
    answer = run("fit", "tabel.csv", *FIT, "-o", "model")
    assert refused(answer, "there is no file tabel.csv. Did you mean 'table.csv'?")


def test_an_enormous_field_is_refused(run, place, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK", 10_000)
    (place / "table.csv").write_text('x,y\n1,no\n"' + "1" * 50_000 + '",yes\n')
    assert refused(run("fit", "table.csv", *FIT, "-o", "model"), "enormous")


def test_an_enormous_column_of_texts_is_left_out(run, place):
    table(text=[f"{k} " + "long " * 2000 for k in range(40)]).to_csv("table.csv", index=False)
    answer = run("fit", "table.csv", *FIT, "-o", "model")
    assert answer.code == 0
    assert "left out, an id or free text: text (40 different values in 40 rows)" in answer.out


def test_dates_are_refused_with_advice(run, place):
    table(since=["2020-01-31", "2021-02-28"] * 20).to_csv("table.csv", index=False)
    answer = run("fit", "table.csv", *FIT, "-o", "model")
    assert refused(answer, "column 'since' holds dates", "year, month", "--drop since")
    assert run("fit", "table.csv", *FIT, "--drop", "since", "-o", "model").code == 0


def test_a_table_without_a_feature_is_refused(run, place):
    table()[["y"]].to_csv("table.csv", index=False)
    assert refused(run("fit", "table.csv", *FIT, "-o", "model"), "no feature is left")


def test_an_all_missing_column_is_left_out(run, place):
    table(empty=[""] * 40).to_csv("table.csv", index=False)
    answer = run("fit", "table.csv", *FIT, "-o", "model")
    assert "left out, constant: empty (empty)" in answer.out


# --- the target ---


def test_a_wrong_target_name_is_answered_with_the_nearest(run, place):
    table(income=1).to_csv("table.csv", index=False)
    answer = run("fit", "table.csv", "--target", "Y", "--method", "lr", "-o", "model")
    assert refused(answer, "target 'Y' is not in the table. Did you mean 'y'?", "x, y, income")


def test_the_target_is_the_column_of_exactly_that_name(run, place):
    table(Y=["a", "b", "c", "d"] * 10).to_csv("table.csv", index=False)
    assert run("fit", "table.csv", *FIT, "-o", "model").code == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([f"n{k}" for k in range(60)], "has 60 different values, more than 30 classes"),
        (["no", "yes", "", "no"] * 10, "out: --skip-missing-target."),
        (["no"] * 40, "only one value: 'no'"),
    ],
)
def test_a_target_without_two_values(run, place, values, message):
    table(len(values), y=values).to_csv("table.csv", index=False)
    assert refused(run("fit", "table.csv", *FIT, "-o", "model"), "target 'y'", message)


@pytest.mark.parametrize(
    ("values", "positive"),
    [([0, 1], "'1' is 1"), ([1, 2], "'2' is 1"), ([True, False], "'True' is 1"),
     (["Yes", "No"], "'Yes' is 1"), ([" b ", "a"], "'b' is 1")],
)  # fmt: skip
def test_two_values_of_any_kind_are_a_target(run, place, values, positive):
    table(y=values * 20).to_csv("table.csv", index=False)
    answer = run("fit", "table.csv", *FIT, "-o", "model")
    assert answer.code == 0
    assert f"target y: {positive}" in answer.out


def test_an_unknown_positive_value(run, place):
    table().to_csv("table.csv", index=False)
    answer = run("fit", "table.csv", *FIT, "--positive", "maybe", "-o", "model")
    assert refused(answer, "'maybe' is not in target 'y', which has 'no', 'yes'")


def test_an_unknown_column_to_drop(run, place):
    table(income=range(40)).to_csv("table.csv", index=False)
    answer = run("fit", "table.csv", *FIT, "--drop", "incme", "-o", "model")
    assert refused(answer, "column to drop 'incme' is not in the table. Did you mean 'income'?")


def test_the_target_cannot_be_dropped(run, place):
    table().to_csv("table.csv", index=False)
    assert refused(run("fit", "table.csv", *FIT, "--drop", "y", "-o", "model"), "is the target")


# --- the model, and tables that do not go with it ---


@pytest.fixture
def fitted(run, place):
    """A table and a model in the folder."""
    table(kind=["a", "b", "c", "d"] * 10).to_csv("table.csv", index=False)
    assert run("fit", "table.csv", *FIT, "-o", "model").code == 0
    return place


@pytest.mark.parametrize("command", ["predict", "evaluate", "stress", "report"])
def test_a_training_column_that_is_missing(run, fitted, command):
    table().to_csv("new.csv", index=False)
    assert refused(run(command, "model", "new.csv"), "lacks 'kind'", "It has: x, y")
    assert left_behind(fitted) == ["model"]


@pytest.mark.parametrize("command", ["predict", "evaluate", "stress", "report"])
def test_a_model_that_is_not_there(run, fitted, command):
    assert refused(run(command, "modle", "table.csv"), "there is no model folder modle")


def test_a_folder_that_is_no_model(run, fitted):
    (fitted / "other").mkdir()
    assert refused(run("predict", "other", "table.csv"), "no model file at other")


def test_a_damaged_model_is_refused(run, fitted):
    file = fitted / "model" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-20])
    assert refused(run("predict", "model", "table.csv"), "model.safetensors")


def test_a_model_without_the_encoding_of_a_table(run, fitted):
    from stablepred import Dichotomizer

    Dichotomizer().fit([[1], [2]]).save("plain")
    assert refused(run("predict", "plain", "table.csv"), "plain holds a Dichotomizer")


def test_new_rows_must_be_there(run, fitted):
    (fitted / "new.csv").write_text("x,kind\n")
    assert refused(run("predict", "model", "new.csv", "-o", "out"), "has a header but no rows")
    assert left_behind(fitted) == ["model"]


def test_evaluating_without_the_target(run, fitted):
    table(kind="a").drop(columns="y").to_csv("new.csv", index=False)
    assert refused(run("evaluate", "model", "new.csv"), "column 'y' is not in the table")


def test_evaluating_with_a_third_value_in_the_target(run, fitted):
    table(kind="a", y=["no", "maybe"] * 20).to_csv("new.csv", index=False)
    assert refused(run("evaluate", "model", "new.csv"), "must be 'no' or 'yes'", "'maybe'")


def test_evaluating_without_some_outcomes(run, fitted):
    table(kind="a", y=["no", ""] * 20).to_csv("new.csv", index=False)
    assert refused(run("evaluate", "model", "new.csv"), "Fill it in, or delete such rows.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table.csv", "--by", "regoin"), "column 'regoin' is not in the table"),
        (("table.csv", "--bins", "1,2"), "--bins cuts the column that --by names"),
        (("table.csv", "--by", "x", "--bins", "1;2"), "--bins must be numbers with commas"),
        (("table.csv", "--by", "kind", "--bins", "1,2"), "holds text"),
        (
            ("table.csv", "--by", "x", "--bins", "50,60"),
            "no row of 'x' lies in the bins 50,60; it goes from 0 to 6.",
        ),
        (("table.csv", "other.csv", "--by", "x"), "--by cuts a single file"),
        (("table.csv", "--max-stability", "0.1"), "there is only one"),
    ],
)
def test_environments_that_make_no_sense(run, fitted, arguments, message):
    assert refused(run("evaluate", "model", *arguments), message)


# --- the output ---


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "table.csv", *FIT, "-o", "model"),
        ("predict", "model", "table.csv", "-o", "out"),
        ("evaluate", "model", "table.csv", "-o", "out"),
        ("stress", "model", "table.csv", "-o", "out"),
        ("weights", "table.csv", "--target", "y", "-o", "out"),
    ],
)
def test_an_output_that_exists_is_replaced_only_with_force(run, fitted, command):
    (fitted / "out").write_text("precious")
    assert refused(run(*command), "exists.", "--force")
    assert (fitted / "out").read_text() == "precious"
    assert run(*command, "--force").code == 0
    assert left_behind(fitted) == ["model", "out"]


def test_a_folder_is_no_place_for_a_file(run, fitted):
    assert refused(run("predict", "model", "table.csv", "-o", "model", "--force"), "is a folder")


def failing(error):
    def fail(*arguments, **options):
        raise error

    return fail


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
DENIED = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "model")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FULL, "No space left on device"),
        (DENIED, "Permission denied: 'model'"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
@pytest.mark.parametrize("older", [False, True])
def test_a_model_that_cannot_be_written(run, place, monkeypatch, error, message, older):
    table().to_csv("table.csv", index=False)
    arguments = ("fit", "table.csv", *FIT, "-o", "model", "--force")
    if older:
        run(*arguments)
    monkeypatch.setattr(os, "fsync", failing(error))
    assert refused(run(*arguments), message)
    assert left_behind(place) == (["model"] if older else [])
    if older:
        monkeypatch.undo()
        monkeypatch.chdir(place)
        assert run("predict", "model", "table.csv").code == 0


@pytest.mark.parametrize(
    ("error", "message"), [(FULL, "No space left on device"), (KeyboardInterrupt(), "interrupted")]
)
def test_predictions_that_cannot_be_written(run, fitted, monkeypatch, error, message):
    monkeypatch.setattr(pd.DataFrame, "to_csv", failing(error))
    assert refused(run("predict", "model", "table.csv", "-o", "out"), message)
    assert left_behind(fitted) == ["model"]


def test_a_place_without_permission_is_found_out_before_any_work(run, place, monkeypatch):
    table().to_csv("table.csv", index=False)
    monkeypatch.setattr(
        "stablepred.cli.tables.open_table", failing(AssertionError("work was done"))
    )
    monkeypatch.setattr("pathlib.Path.mkdir", failing(DENIED))
    assert refused(run("fit", "table.csv", *FIT, "-o", "model"), "Permission denied: 'model'")


def test_interrupting_the_fit_writes_nothing(run, place, monkeypatch):
    table().to_csv("table.csv", index=False)
    monkeypatch.setattr(EncodedTable, "fit", failing(KeyboardInterrupt()))
    assert refused(run("fit", "table.csv", *FIT, "-o", "model"), "interrupted.")
    assert left_behind(place) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
def test_an_interrupt_before_a_command_has_begun_is_one_line(how):
    code = (
        "import os, signal, stablepred.__main__ as it; signal.signal(signal.SIGINT, "
        "signal.default_int_handler); it.require = lambda *_: os.kill(os.getpid(), signal."
        f"{how}); it.main()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (2, "error: interrupted.\n")


def test_a_column_to_drop_is_quoted_for_the_shell(run, place):
    frame = table(since=["2020-01-31", "2021-02-28"] * 20).rename(columns={"since": "signup date"})
    frame.to_csv("table.csv", index=False)
    answer = run("fit", "table.csv", *FIT, "-o", "model")
    assert refused(answer, "--drop 'signup date'")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_real_signal_ends_with_a_message_and_no_folder(place, customers, how):
    frame = customers(1500)
    for k in range(10):
        frame[f"n{k}"] = frame["income"].sample(frac=1, random_state=k).to_numpy()
    frame.to_csv("table.csv", index=False)
    command = ["fit", "table.csv", "--target", "bought", "-o", "model"]
    process = subprocess.Popen(
        [sys.executable, "-m", "stablepred", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
        # In the background a shell has its commands ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        for line in process.stdout:
            if "features from" in line:
                break
        time.sleep(0.2)  # into the fit, which takes far longer
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 2
    assert err == "error: interrupted.\n"
    assert left_behind(place) == []


# --- debugging ---


def test_a_traceback_is_shown_only_to_debug(run, place):
    answer = run("fit", "table.csv", *FIT, "-o", "model", "--debug")
    assert answer.code == 2
    assert "Traceback" in answer.err
    assert answer.err.splitlines()[-1].startswith("error: there is no file table.csv")


def test_an_error_that_should_not_happen_is_one_line_too(run, place, monkeypatch):
    table().to_csv("table.csv", index=False)
    monkeypatch.setattr(EncodedTable, "fit", failing(ZeroDivisionError("division by zero")))
    answer = run("fit", "table.csv", *FIT, "-o", "model")
    assert refused(answer, "ZeroDivisionError: division by zero", "--debug")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "table.csv", "-o", "model"),
        ("fit", "table.csv", "--target", "y"),
        ("fit", "table.csv", *FIT, "--method", "magic", "-o", "model"),
        ("fit", "table.csv", *FIT, "--seed", "much", "-o", "model"),
        ("evaluate", "model"),
        ("conjure",),
    ],
)
def test_bad_usage_has_exit_code_two(run, place, arguments):
    assert run(*arguments).code == 2
