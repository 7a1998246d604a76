"""A progress line for fits, shown only on a terminal and only if the fit takes a while."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stablepred._extras import require

PATIENCE = 2.0  # seconds before anything is shown


@contextmanager
def fit_progress(name: str, wanted: bool) -> Iterator[Callable[[str, int, float], None]]:
    """Yield a callback (stage, iteration, objective) that shows progress if a fit takes long."""
    if not wanted or not sys.stderr.isatty():
        yield lambda stage, iteration, value: None
        return
    rich = require("rich.progress", "verbose > 0 on a terminal")
    text = rich.TextColumn("{task.description}")
    columns = (rich.SpinnerColumn(), text, rich.TimeElapsedColumn())
    console = require("rich.console", "verbose > 0").Console(stderr=True)
    started = time.monotonic()
    with rich.Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(name, visible=False)

        def show(stage: str, iteration: int, value: float) -> None:
            progress.update(
                task,
                description=f"{name}: {stage}, iteration {iteration + 1}, objective {value:.5g}",
                visible=time.monotonic() - started > PATIENCE,
            )

        yield show
