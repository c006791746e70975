# nbtext: `make demo` shows what it does, `make test` proves it, `make check` is what CI runs.

PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
CODE    = nbtext tests corpora
OUTSIDE = tests/cli tests/torture

.PHONY: demo test inside outside check format lint types twin docs dist release lowest man bench fuzz torture corpora clean

demo: $(VENV)/.nbtext
	$(BIN)/nbtext train corpora/letters/train -o $(VENV)/letters.joblib
	$(BIN)/nbtext evaluate corpora/letters/test -m $(VENV)/letters.joblib --to table
	echo "The bins in our street were not emptied again this week." | $(BIN)/nbtext predict - -m $(VENV)/letters.joblib

# in two parts, which `make -j2` runs at once; with the compiled kernel where it is, and in CI it must be
test: inside outside

inside: $(VENV)/.dev
	$(BIN)/python -m pytest -q $(addprefix --ignore=,$(OUTSIDE))

outside: $(VENV)/.dev
	$(BIN)/python -m pytest -q $(OUTSIDE)

check: format lint types test twin docs release lowest

format: $(VENV)/.dev
	$(BIN)/ruff format --check $(CODE)

lint: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)

types: $(VENV)/.dev
	$(BIN)/mypy

# and once more, with its twin in plain Python, what stands on the kernel; tests/features tries each by itself
TWIN = tests/bayes tests/model tests/cli/test_main_job.py
LONG = tests/model/test_growth.py tests/model/test_explanation.py

twin: $(VENV)/.dev
	NBTEXT_KERNEL=off $(BIN)/python -m pytest -q $(TWIN) $(addprefix --ignore=,$(LONG))

docs: $(VENV)/.dev
	$(BIN)/python -m pytest -q --doctest-modules nbtext

# a source archive, a wheel with the kernel, and (made where there is no compiler) one without
dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build >$(VENV)/dist.log 2>&1 || { cat $(VENV)/dist.log; false; }
	CC=false $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist dist/*.tar.gz

# each tried in an empty environment, away from the source
release: dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tests/release dist

# the tests that meet most of what is imported, on the lowest versions that pyproject.toml allows
LOWEST = tests/cli/test_main_job.py tests/cli/test_help.py tests/cli/test_report.py tests/artifact/test_model.py \
         tests/documents/test_jsonl.py tests/documents/test_decompression.py tests/features/test_stop_words.py

lowest: dist
	$(PYTHON) -m venv --clear $(VENV)/lowest
	$(BIN)/python tests/release/lowest.py >$(VENV)/lowest.txt
	$(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check -r $(VENV)/lowest.txt
	CC=false $(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps dist/*.tar.gz
	PATH="$(CURDIR)/$(VENV)/lowest/bin:$$PATH" $(VENV)/lowest/bin/python -m pytest -q $(LOWEST)
	env -u NBTEXT_KERNEL $(VENV)/lowest/bin/nbtext train --cluster local -q corpora/letters/train -o $(VENV)/lowest/letters.joblib
	env -u NBTEXT_KERNEL $(VENV)/lowest/bin/nbtext export $(VENV)/lowest/letters.joblib --to onnx -o $(VENV)/lowest/letters.onnx
	env -u NBTEXT_KERNEL $(VENV)/lowest/bin/nbtext predict file://$(CURDIR)/corpora/letters/test/trash/001.txt -m $(VENV)/lowest/letters.joblib

# man pages, of the same words as --help
man: $(VENV)/.nbtext
	$(BIN)/python -m nbtext.cli.manual $(VENV)/share/man/man1

# every figure that is shown anywhere, measured anew; the other tools are installed where they can be had, those that
# cannot are named in the table
bench: $(VENV)/.dev
	-sh tests/benchmarks/peers/install.sh
	$(BIN)/python tests/benchmarks/run.py
	$(BIN)/python tests/benchmarks/accuracy.py --without-oracle
	$(BIN)/python tests/benchmarks/em.py
	$(BIN)/python tests/benchmarks/scale.py $(VENV) 1 2 5 10
	$(BIN)/python tests/benchmarks/scale.py --cluster --kill --predict --shards $(VENV) 2
	$(MAKE) torture

# a guided fuzzer for each reader, the loader and the kernel; the tests run what it has found before
FUZZ_RUNS ?= 1000000
fuzz: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	$(BIN)/python tests/fuzz all $(FUZZ_RUNS)

# attacks, flipped bits, kills, hostile texts and (shorter) fuzzers: the reliability figures in one table
torture: $(VENV)/.dev
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	$(BIN)/python tests/torture 100000

corpora: $(VENV)/.nbtext
	$(BIN)/python corpora/fetch.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.nbtext: pyproject.toml $(wildcard nbtext/*/*.pyx nbtext/*/*.pxd nbtext/*/*/*.pxd) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: pyproject.toml $(wildcard nbtext/*/*.pyx nbtext/*/*.pxd nbtext/*/*/*.pxd) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(BIN)/python -m compileall -q nbtext  # the tests start it a thousand times
	touch $@ $(VENV)/.nbtext

clean:
	rm -rf $(VENV) build dist *.egg-info nbtext/*/_*.c nbtext/*/_*.so
