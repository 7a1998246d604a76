"""Who imports whom. Lower floors know nothing of the ones above them."""

import ast
from pathlib import Path

import stablepred

ROOT = Path(stablepred.__file__).parent

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


# What the rooms at the bottom of the house may import; the ones above them are free to use these.
BOTTOM = {
    "outcomes": set(),
    "exceptions": set(),
    "fitting": set(),
    "_random": set(),
    "worlds": {"_random", "exceptions"},
    "io": {"_version", "exceptions"},
    "core": {"exceptions", "outcomes", "weights"},
    "weights": {"core"},
    "evidence": {"core"},
    "theory": {"_lazy", "exceptions", "weights"},
    "preprocessing": {"exceptions", "fitting", "io"},
    "tables": {"_version", "exceptions", "fitting", "io", "preprocessing", "worlds"},
}


def importers(name):
    """The rooms that import a room."""
    return {floor(file) for file in FILES if name in imported_floors(file)}


def test_the_rooms_at_the_bottom_import_nothing_above_them():
    found = {room: set() for room in BOTTOM}
    for file in FILES:
        if floor(file) in found:
            found[floor(file)] |= imported_floors(file)
    assert {room: above for room in BOTTOM if (above := found[room] - BOTTOM[room])} == {}


def test_the_top_is_imported_by_nothing_but_the_entry_points():
    assert importers("cli") == {"__main__"}
    assert importers("distributed") == set()


def test_models_are_objects_to_whatever_does_not_fit_them():
    assert importers("models") <= {"__init__", "cli", "distributed", "validation"}


def test_the_package_never_imports_the_studies():
    found = {file: imported_modules(file) for file in FILES}
    assert [file for file, names in found.items() if any("studies" in name for name in names)] == []
