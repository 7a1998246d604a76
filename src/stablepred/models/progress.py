"""A progress line for fits, shown only on a terminal and only if the fit takes a while."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

PATIENCE = 2.0  # seconds before anything is shown


@contextmanager
def fit_progress(name: str, wanted: bool) -> Iterator[Callable[[str, int, float], None]]:
    """Yield a callback (stage, iteration, objective) that shows progress if a fit takes long."""
    console = Console(stderr=True)
    if not wanted or not console.is_terminal:
        yield lambda stage, iteration, value: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    started = time.monotonic()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(name, visible=False)

        def show(stage: str, iteration: int, value: float) -> None:
            progress.update(
                task,
                description=f"{name}: {stage}, iteration {iteration + 1}, objective {value:.5g}",
                visible=time.monotonic() - started > PATIENCE,
            )

        yield show
