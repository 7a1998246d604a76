"""Leave one environment out: train in all others, with their labels or without, and test in it.

At most 1,000 rows of each training environment are used, and those with fewer than 150 are left
out, as are tables that leave fewer than two to train in.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline

from stablepred.baselines import GroupDROClassifier
from stablepred.data import TableEncoder
from studies.methods import BOOSTING, CHOSEN_LR, CONSTANT, LR, METHODS, OURS, fit
from studies.natural.cases import (
    LEAST_TESTED,
    LEAST_TRAINED,
    MOST_ROWS,
    MOST_SEEDS,
    Case,
    make,
    measure,
    take_rows,
)
from studies.natural.methods import GROUP_DRO, WITH_LABELS, settings
from studies.natural.pictures import draw_size
from studies.natural.report import (
    CAPPED,
    CHANGES,
    format_summary,
    long_table,
    matrix,
    measure_title,
    summary,
    table_means,
)
from studies.natural.study import MEANS, RUNS, SUMMARY, NaturalStudy
from studies.natural.tables import BY_AGE, ENVIRONMENTS, MADE_UP, NATURAL, load_table
from studies.records import Definition, Records, Result
from studies.study import Tables
from studies.tables import join, markdown, seed_text

NAME = "natural-environments"
# Raised when a change of the code changes the environments or what is recorded of them.
REVISION = 1

COMPARED = (CONSTANT, LR, CHOSEN_LR, BOOSTING, GROUP_DRO, OURS, WITH_LABELS)
SHOWN = ("average", "log-loss")  # of the one test environment


class LeftOut(Case):
    """One method, trained in all environments but ``environment``."""

    @property
    def definition(self) -> Definition:
        """What the record is keyed by."""
        name = OURS if self.method == WITH_LABELS else self.method
        return {
            "study": NAME,
            "revision": REVISION,
            **{field: getattr(self, field) for field in Case.__dataclass_fields__},
            "method revision": METHODS[name].revision if name in METHODS else 1,
            "settings": settings(name),
        }


def list_cases(seeds: Iterable[int], *, quick: bool = False) -> list[LeftOut]:
    """Every method for every environment that can be left out, for at most three seeds."""
    return [
        LeftOut(table, environment, MOST_ROWS, method, seed)
        for table in (MADE_UP if quick else NATURAL | BY_AGE)
        for environment, rows in ENVIRONMENTS[table].items()
        if rows >= LEAST_TESTED and len(training_environments(table, environment)) > 1
        for seed in list(seeds)[:MOST_SEEDS]
        for method in COMPARED
    ]


def training_environments(table: str, left_out: str) -> list[str]:
    """The environments that are large enough, without one."""
    least = LEAST_TESTED if table in MADE_UP else LEAST_TRAINED
    return [e for e, n in ENVIRONMENTS[table].items() if e != left_out and n >= least]


def run_case(definition: Definition) -> Result:
    """Train one method in all other environments and record its error in the one left out."""
    case = LeftOut.from_definition(definition)
    table, rng = load_table(case.table), np.random.default_rng(case.seed)
    parts = [
        np.sort(rng.permutation(np.flatnonzero(table.environment == name))[: case.most_rows])
        for name in training_environments(case.table, case.environment)
    ]
    rows = np.concatenate(parts)
    train, labels = take_rows(table, "the others", rows), table.environment[rows]
    if case.method == GROUP_DRO:
        model = make_pipeline(TableEncoder(), GroupDROClassifier())
        fitted = fit(lambda: model, train, groupdroclassifier__environment=labels)
    elif case.method == WITH_LABELS:
        fitted = fit(lambda: METHODS[OURS](case.seed), train, environment=labels)
    else:
        fitted = fit(lambda: make(case, train), train)
    return measure(fitted, train, table, [case.environment])


class LeftOutStudy(NaturalStudy):
    """Every environment of every table left out in turn."""

    folder = NAME
    run = staticmethod(run_case)

    @cached_property
    def cases(self) -> list[LeftOut]:  # type: ignore[override]
        """Every method for every environment that is left out."""
        return list_cases(self.seeds, quick=self.quick)

    def tables(self, records: Records) -> Tables:
        """One row per run and method; means per table; means over tables."""
        long = long_table(records, self.recorded(records))
        long = long[long["size"] == CAPPED]
        means = table_means(long)
        return {RUNS: long, MEANS: means, SUMMARY: summary(long, means)}

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """The changes against LR."""
        path = folder / f"{NAME}.png"
        draw_size(self.tables(records)[MEANS], "every environment left out in turn", path, SHOWN)
        return [path]

    def page(self, records: Records, tables: Tables, pictures: Sequence[Path]) -> str:
        """How it was run, the picture, and the tables."""
        parts = [
            "# Natural shifts, one environment left out",
            f"`{self.command}`",
            "Trained in all environments of a table but one, on at most "
            f"{MOST_ROWS:,} rows of each with at least {LEAST_TRAINED}, and tested in that one; "
            f"every environment in turn, {seed_text(self.seeds[:MOST_SEEDS])}. A change is that "
            "against LR on the same rows, in thousandths, negative where the method is better; a "
            "table's is the mean over its environments and seeds, and tables count the same. "
            f"`{WITH_LABELS}` and `{GROUP_DRO}` are given the labels of the training environments; "
            "all other methods see the pooled rows. `constant` is the mean of the training rows.",
            *self.skipped(records),
        ]
        for kind, part in tables[SUMMARY].groupby("tables", sort=False):
            parts.append(f"## Mean over the {part['count'].max()} tables ({kind})")
            parts.append(markdown(format_summary(part).drop(columns=measure_title("worst"))))
        parts += [f"![Change against LR]({path.name})" for path in pictures]
        for name in SHOWN:
            parts.append(f"## Change of the {measure_title(name)}, in thousandths")
            parts.append(markdown(matrix(tables[MEANS], CHANGES[name])))
        return join(parts)
