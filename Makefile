# Two commands set everything up by themselves: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HAS_GPU := $(shell nvidia-smi -L >/dev/null 2>&1 && echo yes)
EXTRAS := $(if $(HAS_GPU),[gpu],)

.PHONY: demo test lint fmt help gpu-test clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.demo  ## set up and profile lightning_decode: live on a GPU, from recorded runs elsewhere
	$(BIN)/ncu-assist profile lightning_decode
	$(BIN)/ncu-assist diff lightning_decode/v3 lightning_decode/v7

test: $(VENV)/.test  ## set up and run the tests; what needs a missing tool skips with a reason
	$(BIN)/python -m pytest -rs --ignore tests/kernels
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -rs -n auto tests/kernels

gpu-test: $(VENV)/.test  ## the tests that need a GPU and ncu
	$(BIN)/python -m pytest -rs -m gpu

lint: $(VENV)/.test  ## ruff, mypy --strict, the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(VENV)/.test  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment and caches
	rm -rf $(VENV) .ncu-assist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.$(EXTRAS)'
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev$(if $(HAS_GPU),$(comma)gpu,)]'
	@touch $@

comma := ,
