# Every target works on a fresh checkout with Python 3.11+ and make: it makes the environment it needs, once.
# Stamp files inside .venv remember what is installed; a changed pyproject.toml installs again.

PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
METRIC := .venv-metric-learn
BIN := $(VENV)/bin
# Where `make peers` finds its datasets.
DATA ?= ../shared/data
# The build of torch that KeOps runs on; a plain `torch` may bring GPU libraries of several gigabytes.
TORCH ?= torch==2.13.0
# More options for `make peers` and `make bench`, for example ARGS="--quick --only product".
ARGS ?=
# Processes that `make test` uses.
JOBS ?= 2

PIP = -m pip --quiet --disable-pip-version-check --no-input
# Editable, so that commands, tests and docs always see the tree as it is and a changed file needs no new install.
INSTALL = install --editable

.DEFAULT_GOAL := help
.PHONY: help setup demo test coverage lint types check bench peers peers-setup docs house clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.done-dev  ## Make .venv with Mercer and every tool of its developers
	@echo "setup: ready. Use $(BIN)/python, or: source $(BIN)/activate"

demo: $(VENV)/.done-display  ## Show the main job
	@echo "demo: running examples/demo.py"
	@$(BIN)/python examples/demo.py

test: $(VENV)/.done-dev  ## Run every test and doctest, then the rules uncompiled
	@echo "test: pytest on tests, docstrings and docs/objects ($(JOBS) processes)"
	@$(BIN)/python -m pytest -q -n $(JOBS)
	@echo "test: the rules as plain Python (NUMBA_DISABLE_JIT=1)"
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m uncompiled tests || [ $$? -eq 5 ]  # 5: none marked yet

coverage: $(VENV)/.done-dev  ## Show what the tests reach, uncompiled rules included
	@echo "coverage: the whole suite, then the rules as plain Python"
	@$(BIN)/python -m pytest -q -n $(JOBS) --cov --cov-report=
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m uncompiled tests --cov --cov-append

lint: $(VENV)/.done-dev  ## Check style and layout with ruff
	@echo "lint: ruff check, ruff format --check (mend with: $(BIN)/ruff check --fix . && $(BIN)/ruff format .)"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.done-dev  ## Check types with mypy
	@echo "types: mypy on src/mercer"
	@$(BIN)/python -m mypy

house: $(VENV)/.done-dev  ## Check the rules of the house: rooms, names, sizes
	@echo "house: tests/test_house.py"
	@$(BIN)/python -m pytest -q tests/test_house.py

docs: $(VENV)/.done-docs  ## Build the documentation, warnings as errors
	@echo "docs: sphinx, strict"
	@MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs: open docs/_build/html/index.html"

check: lint types house test docs  ## Run what CI runs
	@echo "check: all good"

bench: $(VENV)/.done-dev  ## Time the parts of Mercer
	@echo "bench: benchmarks/micro/run.py"
	@test -f benchmarks/micro/run.py || { echo "bench: benchmarks/micro/run.py is not there yet." >&2; exit 1; }
	@$(BIN)/python benchmarks/micro/run.py $(ARGS)

peers: $(PEERS)/.done $(METRIC)/.done  ## Print each speed bar as a ratio to other libraries (DATA=folder of datasets)
	@echo "peers: benchmarks/peers/run.py --data $(DATA) $(ARGS)"
	@test -f benchmarks/peers/run.py || { echo "peers: benchmarks/peers/run.py is not there yet." >&2; exit 1; }
	@$(PEERS)/bin/python benchmarks/peers/run.py --data $(DATA) $(ARGS)

peers-setup: $(PEERS)/.done $(METRIC)/.done  ## Make .venv-peers and .venv-metric-learn, without measuring
	@echo "peers-setup: ready"

clean:  ## Remove what was built and cached; the environments stay
	@echo "clean: build products and caches"
	@rm -rf build dist demo_output docs/_build docs/gallery docs/api docs/sg_execution_times.rst
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
	@find src tests docs examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# --------------------------------------------------------------------------------------------------------- environments

$(VENV)/bin/python $(PEERS)/bin/python $(METRIC)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "setup: Python 3.11 or newer is needed; got $$($(PYTHON) --version 2>&1). Say: make PYTHON=python3.12" >&2; exit 1; }
	@echo "setup: making $(@D:/bin=)"
	@$(PYTHON) -m venv $(@D:/bin=)

# One rule for .done-display, .done-docs and .done-dev: the stamp's name is the extra it stands for.
$(VENV)/.done-%: pyproject.toml | $(VENV)/bin/python
	@echo "setup: installing mercer[$*] into $(VENV)"
	@$(BIN)/python $(PIP) $(INSTALL) '.[$*]'
	@touch $@

$(PEERS)/.done: pyproject.toml | $(PEERS)/bin/python
	@echo "setup: installing mercer[peers] with $(TORCH) into $(PEERS)"
	@$(PEERS)/bin/python $(PIP) install '$(TORCH)'
	@$(PEERS)/bin/python $(PIP) $(INSTALL) '.[peers]'
	@touch $@

# metric-learn only runs with scikit-learn before 1.8, so it has an environment of its own.
$(METRIC)/.done: | $(METRIC)/bin/python
	@echo "setup: installing metric-learn into $(METRIC)"
	@$(METRIC)/bin/python $(PIP) install 'metric-learn==0.7.0' 'scikit-learn<1.8'
	@touch $@
