"""Who imports whom: lower floors know nothing of the ones above them."""

import ast
import inspect
from pathlib import Path

import pytest
import sklearn.base

import stablepred
from stablepred import DGBRClassifier, GBRClassifier

ROOT = Path(stablepred.__file__).parent

FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def floor(file):
    """The floor of a file: its folder, or its own name at the top."""
    return file.split("/")[0].removesuffix(".py")


FLOORS = {floor(file) for file in FILES}


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


def imports_of(name):
    """What a floor imports of this package, other than itself: floors, and modules in them."""
    found = set()
    for file in FILES:
        if floor(file) == name:
            parts = [
                module.split(".")[1:3]
                for module in imported_modules(file)
                if module.startswith("stablepred.")
            ]
            found |= {".".join(part) for part in parts if part[0] in FLOORS - {name}}
    return found


def unexpected(name, allowed):
    """Imports of a floor besides the floors and modules that it may know."""
    return {
        module
        for module in imports_of(name)
        if not any(module == one or module.startswith(f"{one}.") for one in allowed)
    }


# What needs no floor beneath it: any other one may use these.
GROUND = {"exceptions", "_random", "_extras", "_parameters", "_version"}
# The marks of a class that says itself how it is stored and checked.
STORED = {"io.save"}
# What shows itself as a table in a notebook.
SHOWN = {"html.fragments"}

ALLOWED = {
    "outcomes": set() | STORED,
    "worlds": set(),
    "theory": set(),
    # Protocols of balancing; sample and core are one floor with two doors.
    "core": {"sample", "outcomes", "weights.base"} | STORED,
    "sample": {"core.sharding"},
    "weights": {"sample", "core", "outcomes"},
    "evidence": {"sample", "core", "outcomes"},
    "heads": {"sample", "core", "outcomes", "evidence", "validation.environments"} | STORED | SHOWN,
}


def test_the_floors_at_the_bottom_import_nothing_above_them():
    found = {name: unexpected(name, allowed | GROUND) for name, allowed in ALLOWED.items()}
    assert {name: above for name, above in found.items() if above} == {}


def test_what_reads_and_writes_files_knows_no_estimator():
    above = {"models", "heads", "tables", "cli", "html", "search", "validation"}
    assert {module for module in imports_of("io") if module.split(".")[0] in above} == set()


def test_evaluation_sees_models_as_objects_and_knows_no_estimator():
    above = {"models", "heads", "evidence", "baselines", "search", "distributed", "cli"}
    found = {m for m in imports_of("evaluation") if m.split(".")[0] in above}
    assert found <= {"baselines.methods"}  # the list of methods that comparisons name
    assert "validation.search" not in imports_of("evaluation")


def test_the_package_never_imports_the_studies():
    found = {file: imported_modules(file) for file in FILES}
    assert [file for file, names in found.items() if any("studies" in name for name in names)] == []


def test_the_command_line_is_imported_by_its_entry_point_only():
    importers = {name for name in FLOORS if any(m.split(".")[0] == "cli" for m in imports_of(name))}
    assert importers == {"__main__"}


def public_estimators():
    """The classes that ``import stablepred`` offers and that scikit-learn calls estimators."""
    offered = [getattr(stablepred, name) for name in stablepred.__all__]
    found = [one for one in offered if inspect.isclass(one)]
    return [one for one in found if issubclass(one, sklearn.base.BaseEstimator)]


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda one: one.__name__)
def test_above_an_estimator_there_is_at_most_one_class_of_this_package(estimator):
    own = [one for one in estimator.__mro__[1:] if one.__module__.startswith("stablepred")]
    assert len(own) <= 1, own


@pytest.mark.parametrize(("estimator", "most"), [(DGBRClassifier, 24), (GBRClassifier, 18)])
def test_an_estimator_has_a_bounded_number_of_parameters(estimator, most):
    assert len(inspect.signature(estimator).parameters) <= most
