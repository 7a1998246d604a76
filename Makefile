# Everything builds .venv with plain pip from pyproject.toml under constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
BENCHMARKS := baselines evidence gram_evaluation growth same_balance two_processes whole_fit

FLOORS := .venv-floors
# The tests that meet other packages; what a fit computes is tested by `make test`.
FLOOR_TESTS := README.md tests/cli tests/data tests/evaluation tests/io tests/report \
	tests/models/test_fit_table.py tests/models/test_frames.py tests/models/test_meta.py \
	tests/test_onnx_export.py tests/test_public_api.py tests/test_search_optuna.py

.PHONY: demo test test-slow test-long test-floors check docs dist bench clean

demo: $(INSTALLED)
	$(BIN)/stablepred demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 -m slow

# The property tests with 1,000 examples each.
test-long: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 -m hypothesis --hypothesis-profile=long

# A fast part of the tests under the lowest versions that pyproject.toml allows.
test-floors: $(FLOORS)/.installed
	$(FLOORS)/bin/python -m pip check
	$(FLOORS)/bin/python -m pytest -n 2 -m "not slow" $(FLOOR_TESTS)

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pip check

# The site, into docs/_build/html; what warns fails.
docs: $(INSTALLED)
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# What a release uploads, into dist.
dist: $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

# Times side by side, as ratios, into results/bench; wants a machine that does nothing else.
bench: $(INSTALLED)
	for script in $(BENCHMARKS); do $(BIN)/python benchmarks/$$script.py || exit 1; done

clean:
	rm -rf .venv $(FLOORS) docs/_build docs/api docs/gallery build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis stablepred-demo

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

$(FLOORS)/.installed: pyproject.toml constraints-floors.txt
	$(PYTHON) -m venv $(FLOORS)
	$(FLOORS)/bin/python -m pip install --quiet --constraint constraints-floors.txt --editable ".[test]"
	touch $@
