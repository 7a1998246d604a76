"""Standard input and output, and readers that leave."""

import io
import os
import subprocess
import sys
import threading

import pandas as pd
import pytest
from typer.testing import CliRunner

from stablepred.cli import app, screen

FIT = ("--target", "bought", "--method", "lr")


def stablepred(*arguments):
    return [sys.executable, "-m", "stablepred", *map(str, arguments)]


def leave(lines, *arguments):
    """Run a command, close its output after some lines; the exit code, those lines, the errors."""
    command = stablepred(*arguments)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        read = [process.stdout.readline() for _ in range(lines)]
        process.stdout.close()
        errors = process.stderr.read().decode()
        return process.wait(), read, errors


def test_a_fit_is_written_though_nobody_reads_what_it_prints(train, tmp_path):
    code, lines, errors = leave(1, "fit", train, *FIT, "-o", tmp_path / "model")
    assert (code, errors) == (141, "")
    assert lines[0].startswith(b"read ")
    written = {path.name for path in (tmp_path / "model").iterdir()}
    assert written == {"model.safetensors"}


@pytest.mark.slow
def test_a_reader_of_predictions_may_leave(model, test_table):
    code, _, errors = leave(0, "predict", model, test_table, "-o", "-")
    assert code == 141
    assert "error" not in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_tables_come_and_go_by_standard_input_and_output(model, test_table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        stablepred("predict", model, "-", "-o", "-"),
        input=test_table.read_bytes(),
        capture_output=True,
        check=True,
    )
    rows = pd.read_csv(io.BytesIO(done.stdout))
    assert list(rows.columns) == ["probability", "prediction"]
    assert len(rows) == 300
    assert b"written: - (300 rows" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "-", *FIT, "--drop", "region", "-o", "model"),
        ("weights", "-", "--target", "bought", "-o", "weights.csv"),
        ("evaluate", "MODEL", "-", "--by", "region"),
        ("stress", "MODEL", "-"),
    ],
)
def test_every_command_reads_standard_input(command, train, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = [str(model) if part == "MODEL" else part for part in command]
    piped = CliRunner().invoke(app, arguments, input=train.read_bytes())
    assert piped.exit_code == 0, piped.output
    arguments = [str(train) if part == "-" else part for part in arguments]
    named = CliRunner().invoke(app, [*arguments, "--force"])
    assert piped.stdout.replace("read -:", f"read {train}:") == named.stdout


def test_an_error_calls_standard_input_by_its_name():
    answer = CliRunner().invoke(app, ["fit", "-", *FIT, "-o", "model"], input=b"")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: standard input is empty")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
def test_a_named_pipe_is_read_like_a_file(model, test_table, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(
        target=lambda: (tmp_path / "pipe").write_bytes(test_table.read_bytes())
    )
    writer.start()
    outputs = [tmp_path / name for name in ("piped.csv", "read.csv")]
    for source, output in zip((tmp_path / "pipe", test_table), outputs, strict=True):
        answer = CliRunner().invoke(app, ["predict", str(model), str(source), "-o", str(output)])
        assert answer.exit_code == 0, answer.output
    writer.join()
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


@pytest.mark.parametrize(
    ("command", "first"),
    [
        (("report", "MODEL", "TABLE", "--by", "region"), "<!doctype html>"),
        (("stress", "MODEL", "TABLE"), "feature,agreement,"),
        (("weights", "TABLE", "--target", "bought"), "weight"),
    ],
)
def test_a_dash_is_standard_output_and_never_a_file(
    command, first, model, test_table, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    words = {"MODEL": str(model), "TABLE": str(test_table)}
    with pytest.raises(SystemExit) as done:
        app([*(words.get(part, part) for part in command), "-o", "-"])
    assert done.value.code == 0
    assert capfd.readouterr().out.lower().startswith(first)
    assert list(tmp_path.iterdir()) == []


def test_a_model_cannot_go_to_standard_output(train):
    answer = CliRunner().invoke(app, ["fit", str(train), *FIT, "-o", "-"])
    assert answer.exit_code == 2
    assert "a model is a folder" in answer.stderr


def test_errors_go_to_standard_output_and_the_table_beside(model, test_table, capfd):
    with pytest.raises(SystemExit) as done:
        app(["evaluate", str(model), str(test_table), "--by", "region", "-o", "-"])
    assert done.value.code == 0
    out, err = capfd.readouterr()
    assert out.startswith("environment,rows,rate,predicted,error,")
    assert "RMSE by region" in err


def test_nothing_is_printed_once_the_reader_has_left(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr("os.dup2", lambda *handles: None)
    screen.say("one")
    screen.show_table("title", ["a"], [["b"]])
    assert isinstance(sys.stdout, screen.NoReader)
