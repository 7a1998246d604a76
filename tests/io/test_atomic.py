"""The one writer: old content or new, at every moment."""

import os
import threading

import pytest

from stablepred.exceptions import InputError
from stablepred.io import atomic
from stablepred.io.atomic import new_file, new_folder, write_file


def fill(path, text):
    with new_folder(path) as folder:
        (folder / "a").write_text(text)
        (folder / "b").write_text(text)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="one step on Linux only")
def test_a_folder_that_is_replaced_is_there_at_every_moment(tmp_path):
    path = tmp_path / "folder"
    fill(path, "0")
    absent, done = [], threading.Event()

    def poll():
        while not done.is_set():
            if not path.is_dir():
                absent.append(path)

    thread = threading.Thread(target=poll)
    thread.start()
    for k in range(1, 100):
        fill(path, str(k))
    done.set()
    thread.join()
    assert not absent
    assert {item.read_text() for item in path.iterdir()} == {"99"}
    assert list(tmp_path.iterdir()) == [path]


def test_without_an_exchange_a_folder_is_replaced_by_two_renames(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    fill(tmp_path / "folder", "old")
    fill(tmp_path / "folder", "new")
    assert (tmp_path / "folder" / "a").read_text() == "new"
    assert [item.name for item in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("writer", [new_file, new_folder])
def test_a_block_that_fails_changes_nothing(writer, tmp_path):
    path = tmp_path / "path"
    path.write_text("old") if writer is new_file else fill(path, "old")

    def interrupted():
        with writer(path) as name:
            (name if writer is new_file else name / "a").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (path if writer is new_file else path / "a").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_written_through_and_may_dangle(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_a_device_and_a_pipe_are_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", os.devnull):
        with pytest.raises(InputError, match="not a regular file"):
            write_file(path, b"content")
    assert not os.path.isfile(os.devnull)
    assert [item.name for item in tmp_path.iterdir()] == ["pipe"]
