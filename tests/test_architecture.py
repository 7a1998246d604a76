"""Who imports whom. Lower floors know nothing of the ones above them."""

import ast
from pathlib import Path

import pytest

import stablepred

ROOT = Path(stablepred.__file__).parent

# What every floor may use.
GROUND = {"_version", "exceptions", "fitting", "randomness", "persistence"}
# The floors that each floor may import, besides itself and the ground.
ALLOWED = {
    "core": set(),
    "data": set(),
    "report": set(),
    "theory": {"core"},
    "evaluation": {"core", "data", "report"},
    "estimators": {"core", "data", "evaluation"},
    "search": {"core", "data", "evaluation", "estimators"},
    "distributed": {"core", "data", "estimators"},
    "lab": {"core", "data", "evaluation", "estimators", "report", "search", "theory"},
    "cli": {"core", "data", "evaluation", "estimators", "report", "search", "theory", "lab"},
    "__init__": {"core", "data", "evaluation", "estimators", "search", "theory"},
}
# Within the ground: only downwards.
GROUND_EDGES = {
    "_version": set(),
    "exceptions": set(),
    "fitting": set(),
    "randomness": {"exceptions"},
    "persistence": {"_version", "exceptions", "randomness"},
}
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def floor(file):
    """The floor that a file stands on: its folder, or its own name at the top."""
    first = file.split("/")[0]
    return first.removesuffix(".py")


def imported_modules(file):
    """Full names of all modules that a file imports, wherever in the file."""
    found = set()
    package = ["stablepred", *file.split("/")[:-1]]
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found.add(module)
            # "from stablepred import theory" imports a floor as well.
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def imported_floors(file):
    """The floors of this package that a file imports."""
    names = {floor(other) for other in FILES}
    parts = [name.split(".") for name in imported_modules(file)]
    found = {part[1] for part in parts if part[0] == "stablepred" and len(part) > 1}
    return {name for name in found if name in names} - {floor(file)}


@pytest.mark.parametrize("file", FILES)
def test_a_file_imports_only_floors_below_its_own(file):
    own = floor(file)
    allowed = GROUND_EDGES[own] if own in GROUND else ALLOWED[own] | GROUND
    assert imported_floors(file) <= allowed


def test_every_floor_has_its_rule():
    assert {floor(file) for file in FILES} <= set(ALLOWED) | GROUND


def test_only_the_command_line_imports_the_laboratory():
    importers = {floor(file) for file in FILES if "lab" in imported_floors(file)}
    assert importers <= {"cli"}


def test_nothing_imports_the_command_line():
    assert not [file for file in FILES if "cli" in imported_floors(file)]


def test_files_import_no_private_name_of_another_floor():
    private = []
    for file in FILES:
        for name in imported_modules(file):
            parts = name.split(".")
            if parts[0] != "stablepred" or parts[1:2] in ([floor(file)], ["_version"]):
                continue
            private += [(file, name) for part in parts[2:] if part.startswith("_")]
    assert private == []


FOREIGN = {
    "core": {"pandas", "polars", "matplotlib", "rich", "typer", "safetensors"},
    "data": {"torch", "matplotlib", "rich", "typer"},
    "evaluation": {"matplotlib", "rich", "typer"},
    "estimators": {"matplotlib", "typer"},
    "theory": {"pandas", "matplotlib", "rich", "typer"},
    "search": {"matplotlib", "typer"},
    "report": {"torch", "sklearn", "matplotlib", "rich", "typer"},
    "persistence": {"pickle", "joblib", "torch"},
}


@pytest.mark.parametrize("file", FILES)
def test_a_floor_knows_no_library_that_is_not_its_business(file):
    libraries = {name.split(".")[0] for name in imported_modules(file)}
    assert not libraries & FOREIGN.get(floor(file), set())


def test_nothing_imports_pickle():
    offenders = {"pickle", "joblib", "dill", "cloudpickle", "marshal", "shelve"}
    for file in FILES:
        if floor(file) in ("lab", "cli"):
            continue
        assert not {name.split(".")[0] for name in imported_modules(file)} & offenders, file


def test_matplotlib_is_imported_by_the_plots_alone():
    importers = [
        file
        for file in FILES
        if "matplotlib" in {name.split(".")[0] for name in imported_modules(file)}
    ]
    assert set(importers) <= {"lab/plots.py", "lab/real_plots.py"}


@pytest.mark.parametrize("file", FILES)
def test_no_file_draws_from_the_global_generators(file):
    """Neither numpy.random.<draw>, nor torch.manual_seed, nor the random module."""
    allowed = {"default_rng", "Generator", "RandomState", "SeedSequence"}
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if not isinstance(node, ast.Attribute):
            continue
        text = ast.unparse(node)
        if text.startswith(("np.random.", "numpy.random.")):
            assert text.split(".")[2] in allowed, text
        assert text not in ("torch.manual_seed", "torch.random.manual_seed", "np.random.seed")
    assert "random" not in imported_modules(file)
