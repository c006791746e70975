# nbtext: `make demo` trains and uses a small model, `make test` runs the tests, `make check` runs what CI runs.

PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
CODE    = nbtext tests corpora .github
PYTEST  = $(BIN)/python -m pytest -q
# pytest-xdist: a few tests share as many processes as there are CPUs; many tests share one more, because they also wait
PARALLEL = -n auto --dist worksteal
FEW      = -n logical --dist worksteal
# tests of processes that may use little memory, which fail beside others
ALONE    = tests/cli/test_memory_limits.py
SLOWEST  = --durations=10
# without cached bytecode each start of the program takes twice the time, and pytest rewrites all tests in each process
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all quick check format lint types cross arm plain docs dist release lowest site bench bench-all fuzz torture core corpora clean

demo: $(VENV)/.nbtext
	$(BIN)/nbtext train corpora/letters/train -o $(VENV)/letters.joblib
	$(BIN)/nbtext evaluate corpora/letters/test -m $(VENV)/letters.joblib --to table
	echo "The bins in our street were not emptied again this week." | $(BIN)/nbtext predict - -m $(VENV)/letters.joblib

# They use the compiled kernel if it is installed; CI requires it.
# Without long tests, and with a sample of those with many cases (tests/conftest.py); `make test-all` runs all of them.
test: $(VENV)/.dev
	$(PYTEST) $(PARALLEL) $(SLOWEST) --sample $(PAGES) --ignore=$(ALONE)
	$(PYTEST) --sample $(ALONE)

test-all: $(VENV)/.check
	$(PYTEST) $(PARALLEL) $(SLOWEST) --ignore=$(ALONE)
	$(PYTEST) $(ALONE)

# The core and the main job, for every save.
quick: $(VENV)/.dev
	$(PYTEST) $(FEW) --sample -m "not exhaustive" tests/test_house.py tests/bayes tests/features tests/model tests/cli/test_main_job.py \
		$(addprefix --ignore=,$(LONG) tests/model/test_multilabel.py tests/features/test_vectorizer.py tests/bayes/test_prevalence.py)

# With the tests of HTML pages in a browser. All tools come first, so that none is installed while tests run.
check: PAGES = --pages
check: $(VENV)/.check
	$(MAKE) format lint types cross $(ARM) test plain docs release lowest PAGES=$(PAGES)

format: $(VENV)/.dev
	$(BIN)/ruff format --check $(CODE)

lint: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)

types: $(VENV)/.check
	$(BIN)/mypy

# Compile the kernel for other systems, which finds functions that one of them lacks. Nothing is linked or run.
OTHER_SYSTEMS = aarch64-linux-gnu aarch64-macos x86_64-macos x86_64-windows-gnu
CROSS = $(VENV)/cross

cross: $(VENV)/.check
	rm -rf $(CROSS) && mkdir $(CROSS)
	cp -r "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["include"])')" $(CROSS)/include
	cat tests/release/other_systems.h >>$(CROSS)/include/pyconfig.h
	$(BIN)/cython -3 nbtext/_kernel.pyx -o $(CROSS)/kernel.c
	for system in $(OTHER_SYSTEMS); do \
		$(BIN)/python -m ziglang cc -g0 -target $$system -I $(CROSS)/include -c $(CROSS)/kernel.c -o $(CROSS)/$$system.o || exit 1; done

# Run the kernel on ARM, in an emulator, and compare models and predictions. `make check` does it if Debian's qemu-user is installed.
ARM = $(if $(wildcard /usr/bin/qemu-aarch64),arm)

arm: cross
	sh tests/release/arm.sh $(abspath $(BIN)/python $(CROSS))

# The tests of code that calls the kernel, with its pure-Python version. tests/features compares the two versions.
PLAIN = tests/bayes tests/model tests/cli/test_main_job.py tests/documents/test_directory.py tests/documents/test_jsonl.py \
        tests/report/test_records.py
LONG = tests/model/test_growth.py tests/model/test_explanation.py

plain: $(VENV)/.check
	NBTEXT_KERNEL=off $(PYTEST) $(FEW) --sample $(PLAIN) $(addprefix --ignore=,$(LONG))

docs: $(VENV)/.check
	$(PYTEST) --doctest-modules nbtext

# A source archive, a wheel with the kernel, and a wheel without it (built without a compiler, in an environment that pip
# makes from build-system.requires).
dist: $(VENV)/.check
	rm -rf dist
	$(BIN)/python -m build --no-isolation >$(VENV)/dist.log 2>&1 || { cat $(VENV)/dist.log; false; }
	CC=false $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist dist/*.tar.gz

# Install and test each of them in an empty environment, outside the source tree.
release: dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tests/release dist

# Tests that import most dependencies, with the lowest versions that pyproject.toml allows.
LOWEST = tests/cli/test_main_job.py tests/cli/test_help.py tests/cli/test_report.py tests/artifact/test_model.py \
         tests/documents/test_jsonl.py tests/documents/test_decompression.py tests/features/test_stop_words.py

lowest: dist
	$(PYTHON) -m venv --clear $(VENV)/lowest
	$(BIN)/python tests/release/lowest.py >$(VENV)/lowest.txt
	$(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r $(VENV)/lowest.txt
	CC=false $(VENV)/lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-build-isolation --no-deps dist/*.tar.gz
	env -u NBTEXT_KERNEL PATH="$(CURDIR)/$(VENV)/lowest/bin:$$PATH" $(VENV)/lowest/bin/python -m pytest -q $(LOWEST)
	env -u NBTEXT_KERNEL $(VENV)/lowest/bin/nbtext train --cluster local -q corpora/letters/train -o $(VENV)/lowest/letters.joblib
	env -u NBTEXT_KERNEL $(VENV)/lowest/bin/nbtext predict file://$(CURDIR)/corpora/letters/test/trash/001.txt -m $(VENV)/lowest/letters.joblib

# The documentation site, in $(VENV)/site: the guides, and references of the commands and the library.
site: $(VENV)/.check
	$(BIN)/python .github/site/build.py $(VENV)/site

# Measure speed, memory and accuracy, beside other programs.
# These are installed for comparison; those that cannot be installed fail in the tables.
bench: $(VENV)/.check
	-sh tests/benchmarks/peers/install.sh
	$(BIN)/python tests/benchmarks/run.py --rounds 3
	$(BIN)/python tests/benchmarks/review.py

# Measure every other published figure, too. This takes much longer.
bench-all: bench
	$(BIN)/python tests/benchmarks/accuracy.py
	$(BIN)/python tests/benchmarks/draws.py --sizes 5,10,20 --draws 20 ""
	$(BIN)/python tests/benchmarks/draws.py --sizes all --test 100000 "" "--model best" "--model combined"
	$(BIN)/python tests/benchmarks/draws.py --at-random --sizes 50,100,200,500,1000 --draws 20
	$(BIN)/python tests/benchmarks/draws.py --corpus 20news --sizes 10 --draws 4 --test 10000 "" "--unlabeled {others} --em 10"
	$(BIN)/python tests/benchmarks/keywords.py
	$(BIN)/python tests/benchmarks/label.py
	$(BIN)/python tests/benchmarks/prevalence.py
	$(BIN)/python tests/benchmarks/prevalence.py --groups
	$(BIN)/python tests/benchmarks/prevalence.py --several
	$(BIN)/python tests/benchmarks/draws.py --corpus 20news --corpus imdb --corpus banking77 --sizes all --test 100000 "" "--max-model-bytes 300KB" \
		"--model best --max-model-bytes 1MB" "--model best --max-model-bytes 300KB"
	$(BIN)/python tests/benchmarks/scale.py $(VENV) 1 2 5 10
	$(BIN)/python tests/benchmarks/scale.py $(VENV) 2 --ways "" "--cluster local" --predict --shards
	$(MAKE) torture

# Coverage-guided fuzzing of each reader, the loader and the kernel. The tests run the inputs that failed before.
FUZZ_RUNS ?= 1000000
fuzz: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	$(BIN)/python tests/fuzz all $(FUZZ_RUNS)

# Hostile model files and tables, killed processes, races, and short fuzzing runs: the reliability figures.
torture: $(VENV)/.dev
	$(BIN)/python tests/torture
	$(BIN)/python -m pytest -q tests/artifact/test_attacks.py
	$(MAKE) fuzz FUZZ_RUNS=100000 || $(BIN)/python tests/fuzz replay 1000
	for each in $(notdir $(patsubst %/__init__.py,%,$(wildcard nbtext/applications/*/__init__.py))); do $(MAKE) core WITHOUT=$$each || exit 1; done
	$(MAKE) core

# The tests of the core without applications: `make core WITHOUT=review`. Tests that run a command or an option of them are skipped.
WITHOUT ?= $(notdir $(patsubst %/__init__.py,%,$(wildcard nbtext/applications/*/__init__.py)))
core: $(VENV)/.dev
	rm -rf build/core && mkdir -p build/core && cp -r nbtext tests corpora pyproject.toml build/core
	cd build/core && rm -rf $(WITHOUT:%=nbtext/applications/%) && cd tests && rm -rf applications docs release torture test_applications.py test_house.py
	cd build/core && PYTHONPATH=$(CURDIR)/build/core NBTEXT_DELETED="$(WITHOUT) $(if $(filter unlabeled,$(WITHOUT)),--em) $(if $(filter keywords,$(WITHOUT)),--keywords) \
	  $(if $(filter vectors,$(WITHOUT)),--vectors) $(if $(filter keywords unlabeled vectors,$(WITHOUT)),--unlabeled)" \
	  $(abspath $(BIN))/python -m pytest -q --sample

corpora: $(VENV)/.nbtext
	$(BIN)/python corpora/fetch.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.nbtext: pyproject.toml $(wildcard nbtext/*.pyx nbtext/*/*.pxi nbtext/*/*/*.pxi) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e .
	touch $@

$(VENV)/.dev: pyproject.toml $(wildcard nbtext/*.pyx nbtext/*/*.pxi nbtext/*/*/*.pxi) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	$(BIN)/python -m compileall -q nbtext  # the tests start the program in many processes
	touch $@ $(VENV)/.nbtext

$(VENV)/.check: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-build-isolation -e '.[dev,check]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info nbtext/_*.c nbtext/_*.so
