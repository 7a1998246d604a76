"""``stablepred demo``: train in one environment, compare in nine others."""

import typer


def demo() -> None:
    """Train all methods in one environment and compare them in nine others."""
    typer.echo("soon")
