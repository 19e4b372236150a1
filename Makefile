# `make` lists what can be done. Everything is installed into .venv; nothing but Python >= 3.11 and make is needed.

PYTHON ?= python3
# Options for every pip call, such as an index of wheels: see README.md.
PIP_ARGS ?=
# Test processes side by side; each may hold a model. 0 runs them in one process.
JOBS ?= 2
# Further options for pytest, such as -k or a path.
PYTEST_ARGS ?=
FUZZ_COUNT ?= 10000
DEMO_QUESTION ?= How can computers agree on a value when one of them fails?
DEMO_PAPER ?= reimers2019sentence

# Where quick benchmarks leave results and pictures; those that were measured with care are in benchmarks/.
BENCH_FOLDER ?= build/bench

export PIP_ARGS
BIN = .venv/bin
BENCH = BENCH_FOLDER=$(BENCH_FOLDER) $(BIN)/python benchmarks/

.NOTPARALLEL:
.PHONY: help install install-dev demo test check bench fuzz notebook clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | expand -t 14

install: ## make .venv with semsearch and its default model
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  found=`$(PYTHON) -c 'import platform; print("Python " + platform.python_version())' 2>/dev/null`; \
	  echo "semsearch needs Python 3.11 or later; '$(PYTHON)' is $${found:-not there}." >&2; \
	  echo "Name a newer one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@$(PYTHON) tools/install.py

install-dev: install ## add what tests, checks and notebooks need
	@$(PYTHON) tools/install.py test notebook lint

demo: install ## build an index of the packaged sample and ask it two things
	$(BIN)/semsearch build --sample --index demo
	$(BIN)/semsearch query --index demo --top-k 5 "$(DEMO_QUESTION)"
	$(BIN)/semsearch related --index demo --top-k 5 $(DEMO_PAPER)

test: install-dev ## run the tests
	$(BIN)/python -m pytest -n $(JOBS) --dist loadscope $(PYTEST_ARGS)

check: install-dev ## ruff, then mypy --strict
	$(BIN)/ruff check
	$(BIN)/mypy

bench: install-dev ## the quick benchmarks, on the packaged sample; results and pictures go to build/bench
	@$(PYTHON) tools/install.py bench
	$(BIN)/semsearch build --sample --index demo
	mkdir -p $(BENCH_FOLDER) && $(BIN)/semsearch export -i demo --vectors $(BENCH_FOLDER)/vectors.npy
	$(BENCH)cold_start.py --index demo --runs 3
	$(BENCH)encoding.py --source semsearch/data/sample.jsonl --texts 96 --max-tokens 256
	$(BENCH)warm_questions.py semsearch/data --index indexes/demo --count 100
	$(BENCH)structures.py --vectors $(BENCH_FOLDER)/vectors.npy --sizes 20000
	$(BENCH)scale.py --texts semsearch/data/sample.jsonl --vectors $(BENCH_FOLDER)/vectors.npy --sizes 5000 10000
	$(BENCH)draw.py

fuzz: install-dev ## feed FUZZ_COUNT broken files to the readers
	$(BIN)/python tests/fuzz_readers.py --count $(FUZZ_COUNT)

notebook: install-dev ## run the notebooks and keep their outputs
	$(BIN)/jupyter-execute --inplace notebooks/*.ipynb

clean: ## remove .venv and caches; indexes stay
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find semsearch tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
