# Everything builds .venv with plain pip from pyproject.toml under constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test test-long check clean

demo: $(INSTALLED)
	$(BIN)/stablepred demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2

# The property tests with 1,000 examples each.
test-long: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 -m hypothesis --hypothesis-profile=long

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pip check

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis stablepred-demo

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@
