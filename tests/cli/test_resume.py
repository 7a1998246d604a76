"""``stablepred fit --resume``: interrupted fits, and what is said of them."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from stablepred.models import checkpoints
from stablepred.tables.table_model import TableModel

METHOD = ("--target", "bought", "--method", "gbr")


@pytest.fixture
def place(tmp_path, monkeypatch, customers):
    """A folder with a small table, and checkpoints after every iteration."""
    monkeypatch.chdir(tmp_path)
    customers(120)[["age", "job", "offer", "bought"]].to_csv("table.csv", index=False)
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "TIMES_AS_LONG", 0.0)
    return tmp_path


@pytest.fixture
def interrupt(run, monkeypatch):
    """Run a fit that is interrupted after its first iteration."""

    def interrupted_fit(*arguments):
        keep = checkpoints.FileCheckpoint.keep

        def interrupting(self, state):
            keep(self, state)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(checkpoints.FileCheckpoint, "keep", interrupting)
            return run("fit", "table.csv", *METHOD, "-o", "model", *arguments)

    return interrupted_fit


def names(place):
    return sorted(path.name for path in place.iterdir())


def test_an_interrupted_fit_goes_on_to_the_same_model(place, run, interrupt):
    assert run("fit", "table.csv", *METHOD, "-o", "whole").code == 0
    answer = interrupt()
    checkpoint = place / "model.checkpoint"
    assert answer.code == 2
    assert answer.err == (
        f"error: interrupted. What was done so far is in {checkpoint}; run it again with --resume "
        "to go on.\n"
    )
    assert names(place) == ["model.checkpoint", "table.csv", "whole"]
    answer = run("fit", "table.csv", *METHOD, "-o", "model", "--resume")
    assert answer.code == 0
    assert f"going on from {checkpoint}\n" in answer.out
    assert names(place) == ["model", "table.csv", "whole"]
    files = [place / name / "model.safetensors" for name in ("model", "whole")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "the disk is full"),
        (KeyboardInterrupt(), "interrupted."),
    ],
)
def test_the_checkpoint_stays_until_the_model_is_written(place, run, monkeypatch, error, message):
    def fail(*arguments, **options):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(TableModel, "save", fail)
        answer = run("fit", "table.csv", *METHOD, "-o", "model")
    assert answer.code == 2
    assert answer.err.startswith(f"error: {message}")
    assert f"What was done so far is in {place / 'model.checkpoint'}; run it again" in answer.err
    assert names(place) == ["model.checkpoint", "table.csv"]
    assert run("fit", "table.csv", *METHOD, "-o", "model", "--resume").code == 0
    assert names(place) == ["model", "table.csv"]


def test_an_unfinished_fit_is_neither_taken_up_nor_lost_unasked(place, run, interrupt):
    interrupt()
    answer = run("fit", "table.csv", *METHOD, "-o", "model")
    assert answer.code == 2
    assert answer.err == (
        f"error: there is an unfinished fit in {place / 'model.checkpoint'}. Go on from it with "
        "--resume, or discard it with --force.\n"
    )
    assert names(place) == ["model.checkpoint", "table.csv"]


def test_an_unfinished_fit_is_discarded_by_force(place, run, interrupt):
    interrupt()
    answer = run("fit", "table.csv", *METHOD, "-o", "model", "--seed", 4, "--force")
    assert answer.code == 0
    assert "the unfinished fit was discarded\n" in answer.out
    assert names(place) == ["model", "table.csv"]


def test_an_unfinished_replacement_goes_on_by_force_too(place, run, interrupt):
    assert run("fit", "table.csv", *METHOD, "-o", "model").code == 0
    interrupt("--force", "--seed", 4)
    answer = run("fit", "table.csv", *METHOD, "-o", "model", "--seed", 4, "--force", "--resume")
    assert answer.code == 0
    assert "going on from" in answer.out
    assert names(place) == ["model", "table.csv"]


def test_with_nothing_to_resume_it_starts_again(place, run):
    answer = run("fit", "table.csv", *METHOD, "-o", "model", "--resume")
    assert answer.code == 0
    assert "no unfinished fit: starting again\n" in answer.out


def test_an_unfinished_fit_with_other_options_is_refused(place, run, interrupt):
    interrupt()
    answer = run("fit", "table.csv", *METHOD, "-o", "model", "--seed", 4, "--resume")
    assert answer.code == 2
    assert "belongs to another fit (of other random_state). Remove it" in answer.err
    assert names(place) == ["model.checkpoint", "table.csv"]


@pytest.mark.parametrize("arguments", [("--resume",), ("--force",), ()])
def test_a_file_that_is_no_checkpoint_is_not_touched(arguments, place, run):
    (place / "model.checkpoint").write_text("a poem")
    answer = run("fit", "table.csv", *METHOD, "-o", "model", *arguments)
    assert answer.code == 2
    assert "is not a sound checkpoint" in answer.err
    assert (place / "model.checkpoint").read_text() == "a poem"
    assert names(place) == ["model.checkpoint", "table.csv"]


@pytest.mark.parametrize("arguments", [("--method", "lr"), ()])
def test_what_keeps_no_checkpoint_cannot_be_resumed(arguments, place, run):
    answer = run("fit", "table.csv", "--target", "bought", "-o", "m", "--resume", *arguments)
    assert answer.code == 2
    assert "keeps no checkpoint to --resume; gbr, dgbr and dlr do" in answer.err


KILLED = """
from stablepred.models import checkpoints
checkpoints.SECONDS = checkpoints.TIMES_AS_LONG = 0.0
from stablepred.cli import app
app(prog_name="stablepred")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
def test_a_killed_fit_goes_on_to_the_same_model(place, run, customers):
    customers(400).to_csv("table.csv", index=False)
    options = ("table.csv", "--target", "bought", "--method", "dgbr", "-o")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, "fit", *options, "model"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (place / "model.checkpoint").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert names(place)[-2:] == ["model.checkpoint", "table.csv"]
    assert run("fit", *options, "model", "--resume").code == 0
    assert run("fit", *options, "whole").code == 0
    assert names(place) == ["model", "table.csv", "whole"]
    files = [place / name / "model.safetensors" for name in ("model", "whole")]
    assert files[0].read_bytes() == files[1].read_bytes()
