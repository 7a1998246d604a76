"""Kinds of figures: what each of them needs to have recorded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any, Self

from studies.methods import COMPARED, ENCODERS, GRIDS, PAPER
from studies.paper.panels import (
    Panel,
    references_definition,
    run_definition,
    theory_definition,
)
from studies.paper.tuned import tuned_definition
from studies.records import Definition

STRENGTH_SEEDS = 5  # of those asked for, the first


@dataclass(frozen=True)
class Figure:
    """Panels that show the errors of all methods over the test environments.

    Attributes
    ----------
    name : str
    title : str
    claim : str
        What the paper says of it, or what is asked of the methods there.
    panels : tuple of Panel
        By letter.
    columns : int
        Panels side by side.
    """

    name: str
    title: str
    claim: str
    panels: tuple[Panel, ...]
    columns: int = 3

    @property
    def letters(self) -> str:
        """The letters of its parts; none where there is a single one."""
        return ascii_lowercase[: len(self.panels)] if len(self.panels) > 1 else ""

    @property
    def compared(self) -> tuple[Panel, ...]:
        """The panels in which all methods are compared."""
        return self.panels

    def definitions(self, seeds: Sequence[int]) -> list[Definition]:
        """Everything that is to be recorded for this figure."""
        found = []
        for panel in self.compared:
            for seed in seeds[: panel.most_seeds]:
                found.append(references_definition(panel, seed))
                found += [run_definition(panel, seed, method) for method in COMPARED]
        return found

    def tuned_definitions(self, seeds: Sequence[int]) -> list[Definition]:
        """Everything that is to be recorded of the tuned methods."""
        return [
            tuned_definition(panel, seed, method)
            for panel in self.compared
            for seed in seeds[: panel.tuned]
            for method in GRIDS
        ]

    def quick(self) -> Self:
        """A small version that shows that it runs."""
        return replace(self, panels=tuple(panel.quick() for panel in self.panels))

    def only(self, letter: str) -> Self:
        """One part of it."""
        part = self.panels[self.letters.index(letter)]
        return replace(self, name=self.name + letter, panels=(part,))


@dataclass(frozen=True)
class EmbeddingFigure(Figure):
    """The first matrix of the encoders, in one panel."""

    @property
    def compared(self) -> tuple[Panel, ...]:
        """No panel: the embeddings are shown, not the errors."""
        return ()

    def definitions(self, seeds: Sequence[int]) -> list[Definition]:
        """Everything that is to be recorded for this figure."""
        (panel,) = self.panels
        return [run_definition(panel, seed, method) for seed in seeds for method in ENCODERS]


@dataclass(frozen=True)
class Sweep:
    """Values of one strength of L_mix, the others as they are."""

    parameter: str
    symbol: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class StrengthFigure(Figure):
    """Errors of one method over strengths of L_mix: one panel, one part per strength."""

    method: str = PAPER
    sweeps: tuple[Sweep, ...] = ()

    @property
    def letters(self) -> str:
        """The letters of the strengths."""
        return ascii_lowercase[: len(self.sweeps)]

    @property
    def compared(self) -> tuple[Panel, ...]:
        """No panel: a single method is shown."""
        return ()

    def definitions(self, seeds: Sequence[int]) -> list[Definition]:
        """Everything that is to be recorded for this figure."""
        return [
            self.definition(sweep, value, seed)
            for sweep in self.sweeps
            for value in sweep.values
            for seed in seeds[:STRENGTH_SEEDS]
        ]

    def definition(self, sweep: Sweep, value: float, seed: int) -> Definition:
        """One value of one strength with one seed."""
        changes: dict[str, Any] = {sweep.parameter: value}
        return run_definition(self.panels[0], seed, self.method, **changes)

    def quick(self) -> Self:
        """Three values of each strength in a small panel."""
        sweeps = tuple(replace(sweep, values=sweep.values[::3]) for sweep in self.sweeps)
        return replace(super().quick(), sweeps=sweeps)

    def only(self, letter: str) -> Self:
        """One strength of it."""
        part = self.sweeps[self.letters.index(letter)]
        return replace(self, name=self.name + letter, sweeps=(part,))


@dataclass(frozen=True)
class TheoryFigure(Figure):
    """E[alpha] against n and p: nothing is drawn at random, no seed is needed."""

    rows: tuple[int, ...] = ()
    features: tuple[int, ...] = ()

    def definitions(self, seeds: Sequence[int]) -> list[Definition]:
        """The one record of all values."""
        return [theory_definition(self.rows, self.features)]

    def quick(self) -> Self:
        """Every fourth number of rows."""
        return replace(self, rows=self.rows[::4])
