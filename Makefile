PYTHON ?= python3
BIN ?= .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup test fuzz lint format doctest bench book lite notebooks ci clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Create .venv with the package, its development tools and the pre-commit hooks
	$(PYTHON) -m venv .venv
	.venv/bin/pip install -q -e ".[dev]"
	.venv/bin/pre-commit install

test: ## Run the tests; one file: make test ARGS=tests/cli/test_cli.py
	$(BIN)/python -m pytest -n auto $(ARGS)

fuzz: ## Run each fuzzer for an hour; shorter: make fuzz MINUTES=5 ARGS="--fuzz-seed 7"
	$(BIN)/python -m pytest -n auto -m "slow or not slow" tests/fuzz --fuzz-minutes $(or $(MINUTES),60) $(ARGS)

lint: ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: ## Fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

doctest: ## Run the examples in the docstrings
	$(BIN)/python -m pytest --doctest-modules discrim

bench: ## Compare the speed of this package with other packages
	$(BIN)/python -m tests.benchmarks

book: ## Execute the pages of vignettes/ and build the site in build/book
	$(BIN)/sphinx-build -q -E -W --keep-going -j auto -b html -d build/doctrees vignettes build/book

lite: ## Build the browser version of the pages in build/lite (its URL is BOOK_LITE of the book)
	$(BIN)/python -m pip install -q "jupyterlite-core[contents]==0.8.6" jupyterlite-pyodide-kernel==0.8.6
	rm -rf build/lib build/lite build/lite-source
	$(BIN)/python vignettes/_ext/lite.py build/lite-source
	$(BIN)/python -m pip wheel -q --no-deps -w build/lite-source/pypi .
	cd build/lite-source && $(abspath $(BIN))/jupyter lite build --output-dir ../lite

notebooks: ## Execute the lessons of Getting started into vignettes/notebooks
	$(BIN)/python vignettes/_ext/executed_notebooks.py

ci: ## Run all checks in a fresh virtual environment
	.ci/run

clean: ## Remove the output of the other targets, except .venv
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
