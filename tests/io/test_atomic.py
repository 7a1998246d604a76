"""The one writer: old content or new, at every moment."""

import os
import threading

import pytest

from stablepred.exceptions import InputError
from stablepred.io.atomic import new_file, write_file


@pytest.mark.slow
def test_a_file_that_is_replaced_a_thousand_times_is_never_missing_and_never_half(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # for speed: no power fails here
    path, long, done = tmp_path / "file", 50_000, threading.Event()
    write_file(path, b"0" * long)
    found = []

    def poll():
        while not done.is_set():
            found.append(path.read_bytes())

    thread = threading.Thread(target=poll)
    thread.start()
    for k in range(1000):
        write_file(path, str(k % 10).encode() * long)
    done.set()
    thread.join()
    assert len(found) > 100
    assert {len(text) for text in found} == {long}
    assert {len(set(text)) for text in found} == {1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "path"
    path.write_text("old")

    def interrupted():
        with new_file(path) as name:
            name.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
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
    reader, writer = os.pipe()
    with pytest.raises(InputError, match="is a device or a pipe"):  # as /dev/stdout may be
        write_file(f"/dev/fd/{writer}", b"content")
    os.close(reader)
    os.close(writer)
    assert [item.name for item in tmp_path.iterdir()] == ["pipe"]
