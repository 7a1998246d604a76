"""A folder that is complete or not there at all."""

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from stablepred.exceptions import InputError
from stablepred.io.save import MODEL_FILE

SUMMARY_FILE = "summary.json"


def check_model_folder(path: Path, *, force: bool) -> None:
    """Raise early when a model folder cannot be written to ``path``, before any work is done."""
    if path.is_dir():
        found = {item.name for item in path.iterdir()}
        if found - {MODEL_FILE, SUMMARY_FILE}:
            raise InputError(
                f"{path} is a folder with other things in it ({sorted(found)[0]}, ...), which are "
                "never replaced. Name another folder."
            )
        if found and not force:
            raise InputError(f"{path} exists. Name another folder, or replace it with --force.")
    elif path.exists():
        raise InputError(f"{path} is a file. Name a folder for the model.")
    _reserve(path).rmdir()


def write_model_folder(path: Path, fill: Callable[[Path], None], *, force: bool) -> None:
    """Fill a new folder, then give it its name; an old one is there until then.

    Parameters
    ----------
    path : Path
        The folder. One that exists must be a model folder, and is replaced only with ``force``.
    fill : callable
        Writes the files into the folder that it is given.
    force : bool
        Whether to replace an older model.
    """
    path = path.resolve()
    check_model_folder(path, force=force)
    new = _reserve(path)
    old = new.with_name(new.name + ".old")
    try:
        fill(new)
        if path.exists():
            os.rename(path, old)
        os.rename(new, path)
    except BaseException:
        if old.exists() and not path.exists():
            os.rename(old, path)
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _reserve(path: Path) -> Path:
    """An empty folder beside the place where ``path`` will be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    folder.mkdir()
    return folder
