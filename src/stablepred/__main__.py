"""The command line: ``stablepred`` and ``python -m stablepred``."""

import os
import signal
import sys
from typing import Any

from stablepred._extras import require


def main() -> None:
    """Run the command line, or say which extra it needs."""
    for kind in (signal.SIGINT, signal.SIGTERM):  # first of all: imports take a second
        if signal.getsignal(kind) != signal.SIG_IGN:
            signal.signal(kind, _interrupt)
    try:
        require("typer", "the command line")
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    from stablepred.cli import app

    app(prog_name="stablepred")


def _interrupt(*_: Any) -> None:
    """End with exit code 2; what is half done is tidied up on the way."""
    os.write(2, b"error: interrupted.\n")
    sys.exit(2)


if __name__ == "__main__":
    main()
