"""What is shipped, what it needs, and that it keeps to itself."""

import ast
import json
import re
import subprocess
import sys
import textwrap
import tomllib
import zipfile
from pathlib import Path

import pytest

import stablepred

ROOT = Path(__file__).parent.parent
PACKAGE = Path(stablepred.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Names of modules that differ from those of their packages.
MODULES = {"scikit-learn": "sklearn"}


def names(requirements):
    return {re.split(r"[\s<>=!~\[;]", requirement)[0] for requirement in requirements}


DEPENDENCIES = names(PROJECT["dependencies"])
# Extras for users, without those that only name others.
EXTRAS = {
    extra: names(listed)
    for extra, listed in PROJECT["optional-dependencies"].items()
    if extra not in ("all", "docs", "test", "dev")
}
DEVELOPING = set().union(
    *(names(PROJECT["optional-dependencies"][extra]) for extra in ("docs", "test", "dev"))
)


# --- the wheel ---


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel as it would be published."""
    pytest.importorskip("hatchling", reason="the wheel cannot be built without hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    kept = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == kept
    assert "stablepred/py.typed" in inside


def test_the_wheel_brings_its_licence_and_its_command(wheel):
    notes = {Path(name).name for name in wheel.namelist() if ".dist-info/" in name}
    assert notes == {"METADATA", "WHEEL", "RECORD", "LICENSE", "entry_points.txt"}


def test_the_wheel_holds_no_binary_and_no_large_file(wheel):
    for entry in wheel.infolist():
        assert Path(entry.filename).suffix not in {".so", ".pyd", ".pkl", ".pickle", ".npy", ".pyc"}
        assert entry.file_size < 1_000_000, entry.filename


# --- dependencies ---


def test_every_dependency_is_explained():
    text = (ROOT / "docs" / "dependencies.md").read_text()
    words = set(re.findall(r"[\w-]+", text))
    listed = DEPENDENCIES | DEVELOPING.union(*EXTRAS.values())
    assert sorted(listed - words) == []


def imported_packages(path):
    """First parts of the names that a file imports: at its top, and inside functions."""
    top, inside = set(), set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        found = top if node in tree.body else inside
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return top - sys.stdlib_module_names, inside - sys.stdlib_module_names


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_every_import_is_declared(path):
    """At the top of a file only what is always installed; extras where they are used."""
    always = {MODULES.get(name, name) for name in DEPENDENCIES} | {"stablepred"}
    top, inside = imported_packages(path)
    drawing = {"plotting", "html"} & set(path.parts)
    extra = EXTRAS["cli"] if "cli" in path.parts else EXTRAS["plot"] if drawing else set()
    assert top <= always | extra
    assert inside <= always | extra


def test_every_dependency_is_used():
    imported = set()
    for path in PACKAGE.rglob("*.py"):
        imported |= set().union(*imported_packages(path))
    assert {MODULES.get(name, name) for name in DEPENDENCIES} <= imported


def test_every_package_of_an_extra_is_named_where_it_is_missed():
    """`_extras` knows what the package imports of them, and by which extra it comes."""
    from stablepred._extras import EXTRAS as KNOWN

    for package, extra in KNOWN.items():
        assert package in EXTRAS[extra]
    required = set()
    for path in PACKAGE.rglob("*.py"):
        found = re.findall(r'\b(?:require|Lazy)\("(\w+)', path.read_text())
        required |= set(found)
    assert required | {"rich"} == set(KNOWN)


@pytest.mark.parametrize("module", ["onnx", "pyarrow.compute"])
def test_a_missing_extra_is_an_import_error_that_says_what_to_install(module, monkeypatch):
    from stablepred._extras import EXTRAS as KNOWN
    from stablepred._extras import Lazy, require

    package = module.split(".")[0]
    monkeypatch.setitem(sys.modules, module, None)
    wanted = rf"this needs {package}, .*pip install 'stablepred\[{KNOWN[package]}\]'"
    with pytest.raises(ImportError, match=wanted):
        require(module, "this")
    with pytest.raises(stablepred.exceptions.InputError, match=wanted):
        Lazy(module, "this").anything  # noqa: B018


def test_without_typer_the_command_line_says_what_to_install(tmp_path):
    code = """
        import runpy, sys
        sys.modules["typer"] = None
        runpy.run_module("stablepred", run_name="__main__")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "error: the command line needs typer, which is not installed: "
        "pip install 'stablepred[cli]'.\n"
    )


# --- the network ---

WATCHED = """
    import json, sys, warnings
    calls = []

    def watch(event, arguments):
        if event in (
            "socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto",
            "socket.bind", "http.client.connect", "urllib.Request", "ftplib.connect",
        ):
            calls.append(event)
            raise OSError("the network is off")

    sys.addaudithook(watch)
    warnings.simplefilter("ignore")
"""


def calls_of(code, folder):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WATCHED) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_fitting_and_storing_open_no_connection(tmp_path):
    code = """
        import importlib, pkgutil
        import numpy
        import stablepred
        for module in pkgutil.walk_packages(stablepred.__path__, "stablepred."):
            importlib.import_module(module.name)
        from stablepred.data import SyntheticWorld
        from stablepred.search import StableSearchCV

        world = SyntheticWorld("s_indep_v", 8)
        train = world.sample(100, bias_rate=0.7, random_state=0)
        few = {"max_iter": 2, "random_state": 0}
        for model in (stablepred.GlobalBalancer(max_iter=2), stablepred.DGBRClassifier(**few)):
            model.fit(train.X, train.y)
            model.save("model")
            stablepred.load("model")
        gbr = stablepred.GBRClassifier(l1=0.01, refit=False)
        StableSearchCV(gbr, {"l2": [0.1]}, cv=2).fit(train.X, train.y)
        stablepred.stress_test(model, train.X, train.y)
        try:
            model.to_onnx("model.onnx")
        except stablepred.exceptions.InputError:
            pass  # the extra is not installed
        print(json.dumps(calls))
    """
    assert calls_of(code, tmp_path) == []


def test_the_command_line_opens_no_connection(tmp_path):
    code = """
        from stablepred.cli import app
        rows = [f"{k % 7},{'cook' if k % 3 else 'smith'},{int(k % 4 > 0)}" for k in range(60)]
        with open("table.csv", "w") as stream:
            stream.write("\\n".join(["age,job,buys", *rows]))
        for command in (
            "fit table.csv --target buys --method lr -o model",
            "predict model table.csv -o predictions.csv",
            "evaluate model table.csv --by job",
            "report model table.csv --by job -o report.html",
            "weights table.csv --drop buys -o weights.csv",
        ):
            assert not app(command.split(), standalone_mode=False), command
        print()
        print(json.dumps(calls))
    """
    assert calls_of(code, tmp_path) == []
    assert {"predictions.csv", "report.html", "weights.csv"} <= {p.name for p in tmp_path.iterdir()}


def test_a_connection_would_be_noticed(tmp_path):
    code = """
        import contextlib, socket
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", 9), timeout=1)
        print(json.dumps(calls))
    """
    assert calls_of(code, tmp_path) == ["socket.getaddrinfo"]
