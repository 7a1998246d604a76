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


def poll_while_replacing(path, look, times=59, content=str):
    """What ``look`` saw while a folder was replaced many times; nothing may be missing."""
    found, missing, done = [], [], threading.Event()

    def poll():
        while not done.is_set():
            try:
                found.append(look())
            except FileNotFoundError as error:
                missing.append(error)

    thread = threading.Thread(target=poll)
    thread.start()
    for k in range(1, times + 1):
        fill(path, content(k))
    done.set()
    thread.join()
    assert not missing
    return found


@pytest.mark.slow
@pytest.mark.parametrize("exchange", [True, False])
def test_a_thousand_replaced_models_are_never_missing_and_never_half(
    tmp_path, monkeypatch, exchange
):
    if exchange and not has_exchange(tmp_path):
        pytest.skip("this file system cannot exchange two folders")
    if not exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # for speed: no power fails here
    path, long = tmp_path / "model", 50_000
    fill(path, "0" * long)
    texts = poll_while_replacing(
        path, lambda: (path / "a").read_text(), 1000, lambda k: str(k % 10) * long
    )
    assert len(texts) > 100
    assert {len(text) for text in texts} == {long}
    assert {len(set(text)) for text in texts} == {1}


def has_exchange(folder):
    (folder / "one").mkdir()
    (folder / "other").mkdir()
    try:
        return atomic._exchange(folder / "one", folder / "other")
    finally:
        (folder / "one").rmdir()
        (folder / "other").rmdir()


def test_a_folder_that_is_replaced_is_there_at_every_moment(tmp_path):
    if not has_exchange(tmp_path):
        pytest.skip("this file system cannot exchange two folders")
    path = tmp_path / "folder"
    fill(path, "0")
    inodes = poll_while_replacing(path, lambda: path.stat().st_ino)
    assert len(set(inodes)) > 1  # the poller saw folders change
    assert {item.read_text() for item in path.iterdir()} == {"59"}
    assert list(tmp_path.iterdir()) == [path]


def test_without_an_exchange_every_file_is_there_at_every_moment(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    path = tmp_path / "folder"
    fill(path, "0")
    seen = poll_while_replacing(path, lambda: ((path / "a").read_text(), (path / "b").read_text()))
    assert len(set(seen)) > 1
    assert {item.read_text() for item in path.iterdir()} == {"59"}
    assert list(tmp_path.iterdir()) == [path]


def test_without_an_exchange_the_files_of_the_older_folder_go(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    fill(tmp_path / "folder", "old")
    (tmp_path / "folder" / "c").write_text("old")
    fill(tmp_path / "folder", "new")
    assert sorted(item.name for item in (tmp_path / "folder").iterdir()) == ["a", "b"]
    assert [item.name for item in tmp_path.iterdir()] == ["folder"]


def test_a_system_without_the_call_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic.ctypes, "CDLL", lambda name: object())
    fill(tmp_path / "folder", "old")
    fill(tmp_path / "folder", "new")
    assert (tmp_path / "folder" / "a").read_text() == "new"


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
    reader, writer = os.pipe()
    with pytest.raises(InputError, match="is a device or a pipe"):  # as /dev/stdout may be
        write_file(f"/dev/fd/{writer}", b"content")
    os.close(reader)
    os.close(writer)
    assert [item.name for item in tmp_path.iterdir()] == ["pipe"]
