# make demo | test | lint | bench | clean.  Each makes .venv if there is none, installs what it needs, and runs.
# Needs Python 3.11 or newer (with its venv module) and make; PYTHON=... chooses the interpreter.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:

ifeq ($(origin PYTHON),undefined)
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
  if $$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
endif
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
OUT ?= sosdp-demo
NAME ?= all
# Where everything runs once (CI is set): two thirds of the modules are never imported, the others compile then.
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install $(if $(CI),--no-compile) --editable

# One thread a process: the tests run JOBS processes, and BLAS threads on top of that only get in each other's way.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export PYTHONUNBUFFERED := 1
# The tests start some hundred interpreters: compiled once (`make clean` removes that), a third of their start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo docs test test-kernels lint format bench mutants clean

help:
	@echo "make demo   run the demonstration; writes $(OUT)/report.html"
	@echo "make test   run the tests, six minutes (SLOW=1 for all of them, as .ci/run does; PYTEST=--campaigns for hours of random cases)"
	@echo "make test-kernels   the numerical tests once more, with OpenBLAS's kernels of other processors in turn"
	@echo "make docs   the documentation site, docs/_build/html"
	@echo "make lint   formatter, linter and type checker"
	@echo "make bench  run the benchmarks (NAME=cases for one of them)"
	@echo "make mutants   drop single terms of proofs; a test must fail each time (NAME=privacy for one table)"
	@echo "make clean  remove the environment and everything generated"

# The stamps depend on pyproject.toml alone: the package is installed in place, so nothing else needs a reinstall.
$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
	  echo "sosdp needs Python 3.11 or newer with the venv module (Debian: apt install python3-venv); or say PYTHON=/path/to/python" >&2; \
	  exit 2; fi
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed-demo: pyproject.toml | $(BIN)/python
	@echo "installing sosdp and what the demonstration needs into $(VENV) (a minute or two the first time)"
	@$(INSTALL) '.[demo]'
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	@echo "installing sosdp and its development extra into $(VENV) (a minute or two the first time)"
	@$(INSTALL) '.[dev]'
	@touch $@ $(VENV)/installed-demo

demo: $(VENV)/installed-demo
	@$(BIN)/sosdp demo --out $(OUT)

# Each process takes a run of neighbouring files, so that what a file prepares is prepared once.
PARALLEL = -n $(JOBS) --dist worksteal
test: $(VENV)/installed-dev
	@$(BIN)/python -m pytest $(PARALLEL) $(if $(SLOW),--slow) $(PYTEST)

# The answers may not depend on the processor: the same tests, once more each, with OpenBLAS told that it runs on
# an older one. The kernels take turns, one process each, side by side.
KERNELS ?= Haswell Prescott
# What rounds: rigorous bounds, our own solvers, and a sample of everything that is solved (cases, known answers,
# random questions through every door).  The other tests of the engine pass through the same code with matrices of
# a few rows, and ask about words, verdicts and exact data, which a last digit does not change.
NUMERICAL = tests/ledger tests/sos_cone tests/structured tests/fuzz/test_doors.py tests/fuzz/test_engine.py \
  $(addprefix tests/engine/test_,brackets.py cases.py certify.py conic.py conic_attacks.py exact_face.py \
    known_answers.py low_rank.py newton_cg.py relaxation.py rigorous.py sosprogram.py symmetry.py verdicts.py) \
  $(addprefix tests/certificates/test_,cases.py convex.py facial.py refine.py rounding.py zeros.py) \
  $(addprefix tests/privacy/test_,adversary_gaussian.py allowances.py projection.py) \
  tests/sbm/test_certificate_exact.py tests/gaussian/test_pipelines.py
test-kernels: $(VENV)/installed-dev
	@set -- $(KERNELS); logs=$$(mktemp -d); runs=(); for kernel; do \
	  OPENBLAS_CORETYPE=$$kernel $(BIN)/python -m pytest -q --part $${#runs[@]}/$$# $(NUMERICAL) $(PYTEST) >$$logs/$$kernel 2>&1 & \
	  runs+=($$!); \
	done; failed=0; for kernel; do \
	  wait $${runs[0]} || failed=1; runs=("$${runs[@]:1}"); \
	  echo "OPENBLAS_CORETYPE=$$kernel"; cat $$logs/$$kernel; \
	done; rm -r $$logs; exit $$failed

$(VENV)/installed-docs: pyproject.toml | $(BIN)/python
	@$(INSTALL) '.[docs]'
	@touch $@

$(VENV)/installed-ci: pyproject.toml | $(BIN)/python
	@$(INSTALL) '.[dev,docs]'
	@touch $@ $(VENV)/installed-demo $(VENV)/installed-dev $(VENV)/installed-docs

docs: $(VENV)/installed-docs
	@rm -rf docs/_build docs/api docs/notebooks
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

lint: $(VENV)/installed-dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(VENV)/installed-dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/installed-dev
	@$(BIN)/python -m benchmarks $(NAME)

clean:
	rm -rf $(VENV) sosdp-demo build dist .pytest_cache .mypy_cache .ruff_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

mutants: $(VENV)/installed-dev
	@$(BIN)/python -m tests.mutants $(NAME:all=)
