"""The command line: ``stablepred`` and ``python -m stablepred``."""

import signal
import sys

from stablepred._extras import require


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        require("typer", "the command line")
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # tidies up, as on Ctrl-C
    from stablepred.cli import app

    app(prog_name="stablepred")


if __name__ == "__main__":
    main()
