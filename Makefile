# Every target sets up its own virtual environment first: Python 3.11 and make are all you need.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed

# One thread in each of two workers: the tests are many and small. A choice of tests skips the coverage gate.
WORKERS ?= 2
THREADS ?= 1
TESTS ?=

# The items that docs/RESULTS.md shows.
PUBLISHED := table1 ablation ncm directions time confusion similar-pairs efficiency

# In front of commands that change the system: sudo, or nothing for root.
ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup browser check test docs faults bench results demo release format clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## create .venv and install the pinned packages

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch first and by exact version: an open bound can pull in gigabytes of CUDA packages.
$(READY): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install -q -c constraints.txt torch==2.13.0 setuptools
	$(BIN)/pip install -q -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

# Pages are tested in a real browser; playwright drives the system's, for it cannot always fetch its own.
browser:  ## install Chromium for the tests of pages, if there is none
	command -v chromium || { $(ROOT) apt-get update -qq && $(ROOT) env DEBIAN_FRONTEND=noninteractive \
		apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; }

check: $(READY)  ## lint, format check, types, import order
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY)  ## run the tests; TESTS="-k name" to choose
	OMP_NUM_THREADS=$(THREADS) $(BIN)/python -m pytest -n $(WORKERS) $(or $(TESTS),--cov)

docs: $(READY)  ## build the documentation site, build/site; a warning is an error
	$(BIN)/python -m tools.site

faults: $(READY)  ## attack runs, files, disks and threads in full, an hour; writes docs/RELIABILITY.md
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults

bench: $(READY)  ## time a step of every method, and run the digits that have no record yet
	$(BIN)/python -m benchmarks.step
	$(BIN)/python -m benchmarks.digits

results: $(READY)  ## write docs/RESULTS.md and the tables of README and BEYOND from the records in results/
	$(BIN)/bison-ocl report $(addprefix results/,$(PUBLISHED)) --out docs --no-page --format png
	$(BIN)/python -m tools.document_tables

demo: $(READY)  ## compare a few methods on the embedded digits; writes demo/
	$(BIN)/bison-ocl demo --out demo

# Without isolation: the pinned setuptools builds, and nothing is fetched.
release: $(READY)  ## build the wheel and the source distribution in dist/, and check their metadata
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*

format: $(READY)  ## sort imports and format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove caches and build outputs, keep .venv
	rm -rf build dist demo .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
