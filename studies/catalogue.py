"""All studies by name."""

from collections.abc import Sequence

from studies.continuous import ContinuousStudy
from studies.environments import EnvironmentsStudy
from studies.natural.left_out import LeftOutStudy
from studies.natural.study import NaturalStudy
from studies.paper import EVERYTHING, FIGURES, PaperStudy, named_figures
from studies.peers import PeersStudy
from studies.real import FIGURES as REAL_FIGURES
from studies.real import RealStudy
from studies.study import Study
from studies.tuning import TuningStudy

OTHERS: dict[str, type[Study]] = {
    "tuning-study": TuningStudy,
    "real": RealStudy,
    **dict.fromkeys(REAL_FIGURES, RealStudy),
    "natural": NaturalStudy,
    "natural-environments": LeftOutStudy,
    "continuous": ContinuousStudy,
    "peers": PeersStudy,
    "environments": EnvironmentsStudy,
}
NAMES = [*FIGURES, EVERYTHING, *OTHERS]


def is_study(name: str) -> bool:
    """Whether a name stands for a study: a figure of the paper, a part of one, or another."""
    return name in OTHERS or bool(named_figures(name, quick=False))


def find_study(name: str, seeds: Sequence[int], *, quick: bool, tuned: bool, command: str) -> Study:
    """The study of that name, for these seeds."""
    kind = OTHERS.get(name, PaperStudy)
    return kind(name, tuple(seeds), quick=quick, tuned=tuned, command=command)
