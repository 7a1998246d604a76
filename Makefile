# Everything builds .venv with plain pip from pyproject.toml under constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
BENCHMARKS := gram_evaluation growth same_balance two_processes whole_fit

.PHONY: demo test test-slow test-long check bench clean

demo: $(INSTALLED)
	$(BIN)/stablepred demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 -m slow

# The property tests with 1,000 examples each.
test-long: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 -m hypothesis --hypothesis-profile=long

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pip check

# Times side by side, as ratios, into results/bench; wants a machine that does nothing else.
bench: $(INSTALLED)
	for script in $(BENCHMARKS); do $(BIN)/python benchmarks/$$script.py || exit 1; done

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis stablepred-demo

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@
