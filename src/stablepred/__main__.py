"""``python -m stablepred``: the command line."""

from stablepred.cli import app

if __name__ == "__main__":
    app(prog_name="stablepred")
