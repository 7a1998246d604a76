"""What a definition describes -> its record."""

import time
from collections.abc import Callable

from threadpoolctl import threadpool_limits

from stablepred._version import __version__
from stablepred.core.threads import threads_for
from stablepred.lab import experiment, tuned
from stablepred.lab.records import Definition, Result

KINDS: dict[str, Callable[[Definition], Result]] = {
    "references": experiment.references,
    "run": experiment.run,
    "theory": experiment.expected_imbalance,
    "tuned": tuned.search,
}


def compute(definition: Definition) -> Result:
    """Run what a definition describes on one thread; say how long it took, and when."""
    started = time.perf_counter()
    with threadpool_limits(1), threads_for(0):
        result = KINDS[definition["kind"]](definition)
    return result | {
        "version": __version__,
        "seconds": round(time.perf_counter() - started, 3),
        "finished": round(time.time()),
    }
