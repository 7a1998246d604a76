"""Model files: one safetensors file, arrays as tensors, everything else as JSON in its header.

No pickle: reading a file runs no code from it. Only classes registered with :func:`storable`, and
a list of scikit-learn's estimators, can be stored. Files are checked (``container``), and objects
while they are built (``codec``, ``objects``, ``check_stored``). See ``docs/model-files.md``.
"""

from pathlib import Path
from typing import Any

from stablepred._version import __version__
from stablepred.exceptions import InputError, ModelFileError
from stablepred.io.atomic import PathLike, write_file
from stablepred.io.codec import decode_model, encode
from stablepred.io.container import FORMAT, pack, unpack
from stablepred.io.objects import storable

__all__ = ["FORMAT", "MODEL_FILE", "load", "save", "save_method", "storable"]

# The model in a folder, as the command line writes it.
MODEL_FILE = "model.safetensors"


def save(model: Any, path: PathLike) -> None:
    """Write the model to one file (safetensors with a JSON header, no pickle).

    The file is complete or not there at all. Read it with :func:`stablepred.load`.

    Raises
    ------
    InputError
        When a part of the model has no plain form, or when :func:`load` would refuse the file:
        numbers that are not finite, parameters changed after the fit so that they contradict it.
    """
    name, arrays = type(model).__name__, dict[str, Any]()
    content = encode(model, name, arrays)
    try:
        decode_model(content, arrays)
        blob = pack(content, arrays)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"this {name} cannot be stored: {reason}.") from error
    write_file(path, blob)


save_method = save  # in the body of a class: ``save = save_method``


def load(path: PathLike) -> Any:
    """Read a model that was written with ``save``.

    ``path`` is the file, or a folder with a file ``model.safetensors``.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ModelFileError
        When the file is damaged, of another format, or no model file at all.
    """
    path = Path(path)
    if path.is_dir():
        path = path / MODEL_FILE
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}")
    try:
        content, arrays = unpack(path)
    except ModelFileError as error:  # a file of another format
        raise ModelFileError(f"{path} cannot be read: {error}") from error
    except Exception as error:
        raise ModelFileError(
            f"{path} is not a sound stablepred model file: {str(error).rstrip('.')}. Give a file "
            "that model.save() wrote; if this is one, copy or save it again."
        ) from error
    try:
        return decode_model(content["model"], arrays)
    except Exception as error:
        written = str(content["stablepred"])[:40]
        advice = f"This version, {written}, wrote it: it was changed since. Save the model again."
        if written != __version__:
            advice = (
                f"It was written by stablepred {written!r}, and this is {__version__}; if it is "
                "from a later version, install that one, else save the model again."
            )
        raise ModelFileError(
            f"{path} holds no model that this version knows: {str(error).rstrip('.')}. {advice}"
        ) from error
