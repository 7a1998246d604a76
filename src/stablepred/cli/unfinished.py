"""The checkpoint that ``stablepred fit`` keeps beside its output until the model is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stablepred.cli.guard import describe
from stablepred.cli.screen import say
from stablepred.exceptions import InputError
from stablepred.io.checkpoint import read_checkpoint, remove_checkpoint


def checkpoint_beside(output: Path) -> Path:
    """The file for the state of an unfinished fit."""
    output = output.resolve()
    return output.with_name(f"{output.name}.checkpoint")


def check_unfinished(checkpoint: Path, *, resume: bool, force: bool) -> None:
    """Go on from an unfinished fit, discard it, or refuse to decide which."""
    if resume:
        found = checkpoint.exists()
        say(f"going on from {checkpoint}" if found else "no unfinished fit: starting again")
    elif checkpoint.exists():
        read_checkpoint(checkpoint)  # what is no checkpoint is not discarded
        if not force:
            raise InputError(
                f"there is an unfinished fit in {checkpoint}. Go on from it with --resume, or "
                "discard it with --force."
            )
        remove_checkpoint(checkpoint)
        say("the unfinished fit was discarded")


@contextmanager
def resumable(checkpoint: Path) -> Iterator[None]:
    """Keep the checkpoint until the block is done; where it ends early, say how to go on."""
    try:
        yield
    except (KeyboardInterrupt, OSError) as error:
        if not checkpoint.exists():
            raise
        raise InputError(
            f"{describe(error)} What was done so far is in {checkpoint}; run it again with "
            "--resume to go on."
        ) from None
    remove_checkpoint(checkpoint)
