# Two commands set everything up by themselves: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HAS_GPU := $(shell nvidia-smi -L >/dev/null 2>&1 && echo yes)
EXTRAS := $(if $(HAS_GPU),[gpu],)
# One worker a core, libraries on one thread each. A worker begins with a row of files, and makes once what they share.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -rs -n auto --maxprocesses 16 --dist worksteal
# As pip does for a package that is not editable: else each command compiles its modules, where Python may not write.
COMPILE := $(BIN)/python -m compileall -q ncu_assist

.PHONY: demo test test-all fuzz lint fmt help gpu-test docs dist clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.demo  ## set up and profile lightning_decode: live on a GPU, from recorded runs elsewhere
	$(BIN)/ncu-assist profile lightning_decode
	$(BIN)/ncu-assist diff lightning_decode/v3 lightning_decode/v7
	@[ "$$(command -v ncu-assist)" = "$(CURDIR)/$(BIN)/ncu-assist" ] || echo "to type ncu-assist: source $(BIN)/activate"

test: $(VENV)/.test  ## set up and run the tests; what needs a missing tool skips with a reason
	@echo "The slow tests are left out; all of them: make test-all"
	$(PYTEST) -m "not gpu and not slow and not alone"

test-all: $(VENV)/.test  ## all tests but those that need a GPU and ncu
	$(PYTEST) -m "not gpu and not alone"
	$(BIN)/python -m pytest -rs -m alone

fuzz: $(VENV)/.test  ## damage recorded reports ten thousand times; make test-all does it a thousand times
	NCU_ASSIST_FUZZ_TIMES=10 $(PYTEST) --timeout 6000 tests/ncu/test_ncu_fuzz.py

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

docs: $(VENV)/.test  ## build the site and check every link; then open build/site/index.html
	$(BIN)/python -m mkdocs build --strict

dist: $(VENV)/.test  ## build wheel and sdist into dist/, and try each in an empty environment
	rm -rf dist && $(BIN)/python -m build --outdir dist .
	@$(BIN)/python hatch_build.py
	for one in dist/*.whl dist/*.tar.gz; do \
	    tried=$$(mktemp -d) && $(PYTHON) -m venv $$tried && \
	    $$tried/bin/python -m pip install --quiet --disable-pip-version-check "$$one" && \
	    (cd $$tried && bin/ncu-assist --version && bin/ncu-assist explain l2-bound >/dev/null) && rm -rf $$tried || exit 1; \
	done

clean:  ## remove the environment and caches
	rm -rf $(VENV) build dist .ncu-assist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.$(EXTRAS)'
	@$(COMPILE)
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev$(if $(HAS_GPU),$(comma)gpu,)]'
	@$(COMPILE)
	@touch $@

comma := ,
