"""``python -m stablepred``: the command line."""

from stablepred.cli import app

app(prog_name="stablepred")
