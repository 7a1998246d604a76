"""Who imports whom. Lower floors know nothing of the ones above them."""

import ast
from pathlib import Path

import stablepred

ROOT = Path(stablepred.__file__).parent

# Modules at the top of the package that every floor may use.
GROUND = {"_version", "_random", "exceptions", "fitting", "io", "preprocessing"}
BELOW = {"core", "outcomes", "theory", "worlds"}  # these know nothing above them


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


def test_nothing_imports_the_command_line():
    assert not [file for file in FILES if "cli" in imported_floors(file) and floor(file) != "cli"]
