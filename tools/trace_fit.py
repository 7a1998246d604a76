"""How long is the path of a fit through the code?

    python tools/trace_fit.py [--list]

Prints, for fits of two estimators and for two runs of ``stablepred fit`` on a CSV file, how many
functions of the package run, in how many files, and how often the folder changes along the sequence
of their first calls. --list prints that sequence, too.

A function is a function or method with a name; lambdas, comprehensions, class bodies and the top
level of modules are not counted. A folder is one directly under ``src/stablepred``, or a module
that lies there itself. A function is counted once, at its first call; the folder changes where two
that follow each other in this sequence are in different folders. What runs during imports does not
count: everything is imported, and fitted once, before.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

import numpy as np
import pandas as pd
from typer.testing import CliRunner

import stablepred
from stablepred.cli import app

ROOT = str(Path(stablepred.__file__).parent)


def first_calls(action: Callable[[], object]) -> list[CodeType]:
    """The functions of the package that an action runs, in the order of their first calls."""
    seen: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and code.co_name[0] != "<":
            seen.setdefault(code)

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return list(seen)


def place(code: CodeType) -> str:
    """The path of a function's file in the package."""
    return Path(code.co_filename).relative_to(ROOT).as_posix()


def folder_of(code: CodeType) -> str:
    """The folder directly under the package, or the module that lies there itself."""
    return place(code).split("/")[0].removesuffix(".py")


def rows(n: int = 600) -> tuple[pd.DataFrame, pd.Series]:
    """0/1 features and their outcome."""
    world = stablepred.data.SyntheticWorld("s_indep_v", 10)
    sample = world.sample(n, bias_rate=0.75, random_state=0)
    return sample.X, pd.Series(sample.y, name="y")


def actions(folder: Path) -> dict[str, Callable[[], object]]:
    """What is traced."""
    X, y = rows()
    age = pd.Series(np.arange(len(X)) * 37 % 60).mask(lambda age: age % 7 == 0)
    job = np.resize(["cook", "clerk", "smith"], len(X))
    table = X.assign(age=age, job=job, y=y.map({0: "no", 1: "yes"}))
    table.to_csv(folder / "table.csv", index=False)
    command = f"fit {folder}/table.csv --target y --force -o {folder}/model".split()

    def fit_csv(*options: str) -> None:
        done = CliRunner().invoke(app, [*command, *options])
        assert done.exit_code == 0, done.output

    return {
        "DGBRClassifier().fit": lambda: stablepred.DGBRClassifier(random_state=0).fit(X, y),
        "StableClassifier().fit": lambda: stablepred.StableClassifier(random_state=0).fit(X, y),
        "stablepred fit": fit_csv,
        "stablepred fit --method dgbr": lambda: fit_csv("--method", "dgbr"),
    }


def main(*options: str) -> None:
    """Print the counts."""
    warnings.simplefilter("ignore")
    print(f"{'':30}{'functions':>10}{'files':>10}{'changes':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name, action in actions(Path(folder)).items():
            action()  # imports, and caches of scikit-learn and torch
            calls = first_calls(action)
            folders = [folder_of(code) for code in calls]
            changes = sum(a != b for a, b in pairwise(folders))
            files = len({code.co_filename for code in calls})
            print(f"{name:30}{len(calls):10}{files:10}{changes:10}")
            if "--list" in options:
                for code in calls:
                    print(f"    {place(code)}:{code.co_firstlineno} {code.co_qualname}")


if __name__ == "__main__":
    main(*sys.argv[1:])
