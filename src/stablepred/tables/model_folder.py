"""What may stand in a model folder, and when it may be replaced."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stablepred.exceptions import InputError
from stablepred.io.atomic import check_writable, new_folder
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
    path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path.parent)


@contextmanager
def new_model_folder(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a folder to fill; one that exists must be a model folder, replaced only by force."""
    check_model_folder(path, force=force)
    with new_folder(path) as folder:
        yield folder
