"""What a release uploads, where its floors and Pythons are tested, and what the workflows run."""

import re
import subprocess
import sys
import tarfile
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# What only serves to develop has no floor of its own that is tested.
UNTESTED = {
    *("check-wheel-contents", "hatchling", "hypothesis", "mypy", "myst-parser", "numpydoc"),
    *("onnxruntime", "pandas-stubs", "playwright", "pydata-sphinx-theme", "pytest-xdist", "pyyaml"),
    *("ruff", "scipy-stubs", "sphinx", "sphinx-design", "sphinx-gallery", "stablepred", "twine"),
}

# A release is built from a clone, and .github is not part of an sdist.
needs_clone = pytest.mark.skipif(not (ROOT / ".github").exists(), reason="not in a clone")


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The sdist and the wheel as they would be uploaded."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", str(folder))
    return folder


# --- sdist and wheel ---


def test_twine_finds_nothing_to_complain_about(dist):
    pytest.importorskip("twine", reason="twine is not installed")
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, dist.iterdir()))


def test_the_wheel_has_sound_contents(dist):
    pytest.importorskip("check_wheel_contents", reason="check-wheel-contents is not installed")
    run(sys.executable, "-m", "check_wheel_contents", *map(str, dist.glob("*.whl")))


@needs_clone
def test_the_sdist_has_every_file_of_a_clone_that_builds_and_tests_it(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        inside = {name.split("/", 1)[1] for name in archive.getnames()}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    # Records of studies are large, and are not needed to run or test anything.
    outside = re.compile(r"results/|\.ci/|\.github/|\.pre-commit")
    missing = {f for f in listed if not outside.match(f) and (ROOT / f).exists()} - inside
    assert not missing
    assert not [name for name in inside if outside.match(name)]
    assert {"PKG-INFO", "examples/plot_own_csv.py", "studies/study.py", "docs/method.md"} <= inside


def test_what_is_installed_besides_the_wheel_follows_from_the_metadata():
    """Self-references of extras name extras that are there."""
    extras = PROJECT["optional-dependencies"]
    for listed in extras.values():
        for requirement in map(Requirement, listed):
            assert requirement.name != "stablepred" or requirement.extras <= extras.keys()
    public = {"cli", "plot", "report", "tables", "dask", "spark", "onnx", "optuna"}
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == public


def test_the_metadata_name_no_address_that_does_not_exist():
    assert "urls" not in PROJECT
    assert "example.com" not in (ROOT / "pyproject.toml").read_text()


# --- floors ---


def floors():
    listed = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for requirement in map(Requirement, chain.from_iterable(listed)):
        yield requirement.name.lower(), requirement.specifier


def test_every_floor_is_the_version_that_is_tested():
    lines = (ROOT / "constraints-floors.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    for name, specifier in floors():
        if name not in UNTESTED:
            (floor,) = [Version(one.version) for one in specifier if one.operator == ">="]
            assert floor == Version(tested[name]), name


def test_no_version_is_too_new():
    for name, specifier in floors():
        assert {one.operator for one in specifier} <= {">="}, name


# --- workflows ---


@needs_clone
def test_the_matrix_has_the_pythons_of_the_classifiers_and_begins_with_the_oldest():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]["python"]
    start = "Programming Language :: Python :: 3."
    named = [c.split(" :: ")[-1] for c in PROJECT["classifiers"] if c.startswith(start)]
    assert set(named) <= set(matrix)
    assert PROJECT["requires-python"] == f">={named[0]}" == f">={matrix[0]}"


@needs_clone
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_targets_that_the_makefile_has(path):
    yaml = pytest.importorskip("yaml")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            for line in step.get("run", "").splitlines():
                if line.startswith("make ") and "&&" not in line:
                    assert set(line.split()[1:]) <= targets, line
