# Needs Python 3.11+ and make; everything else is installed, pinned, into $(VENV).
# Another Python beside the first: make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
UV ?= uv
# Options of the benchmark, e.g. make bench BENCH="--samples 5000 --repeats 1"
BENCH ?=
# Options of the campaign, e.g. make hostile HOSTILE="--cases 5000 --seed 1"
HOSTILE ?=

py := $(VENV)/bin/python
pip := $(py) -m pip install -qq --disable-pip-version-check  # -qq: errors only

# A relative data folder means the same one wherever a test or a script changes to.
ifneq ($(strip $(PATCHFOLD_DATA)),)
override PATCHFOLD_DATA := $(or $(shell cd '$(PATCHFOLD_DATA)' 2>/dev/null && pwd),$(PATCHFOLD_DATA))
export PATCHFOLD_DATA
endif

# Node checks the sources of the explorer's page and bundles them. The bundle is committed, so that
# nobody needs Node to use patchfold. Where npm is missing, make says what it leaves out, or fails
# with PATCHFOLD_NODE=required.
ifneq ($(shell command -v npm),)
npm = npm --prefix page --silent run
npm_ready := page/node_modules/.installed
else
npm = echo 'npm is not installed; left out of page/:'
ifeq ($(PATCHFOLD_NODE),required)
npm = echo 'npm is not installed, and PATCHFOLD_NODE=required' >&2 && false
endif
endif

.PHONY: help demo quick test pandas3 tables test-all docs lint page fuzz hostile bench dist lock clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 10

demo: $(VENV)/.demo-installed  ## run the demo; it writes into demo/
	@$(py) examples/demo.py

# One thread a process: the workers of pytest share the cores already.
pytest := LOKY_MAX_CPU_COUNT=1 OMP_NUM_THREADS=1 MPLBACKEND=Agg $(py) -m pytest -n auto --maxprocesses 8 --dist loadgroup

# ruff and mypy look at what has changed since they last ran.
quick: $(VENV)/.dev-installed  ## in a minute: style, types, and the tests that find most mistakes
	@$(py) -m ruff check
	@$(py) -m ruff format --check
	@$(py) -m mypy
	@$(pytest) -q --quick --hypothesis-profile=quick tests

test: lint  ## in ten minutes: lint, then every feature in its real form
	@$(npm) test
	@$(pytest) -m "not long"

# anndata keeps pandas below 3 on Python 3.11, and most users have pandas 3: another environment.
pandas3:  ## the tests of tables with pandas 3
	@$(MAKE) --no-print-directory tables VENV=$(VENV)-pandas3

tables: $(VENV)/.tables-installed
	@$(pytest) -q -m "not long" tests/tables tests/explorer/test_tables.py \
	  $(addprefix tests/cli/test_,applying.py bridging.py comparing.py embedding.py loading.py options.py)

test-all: lint  ## in half an hour: every combination, with coverage
	@$(npm) test
	@$(pytest) --hypothesis-profile=all --cov

lint: $(VENV)/.dev-installed $(npm_ready)  ## style, format, types and the order of the folders
	@$(py) -m ruff check
	@$(py) -m ruff format --check
	@$(py) -m mypy
	@$(VENV)/bin/lint-imports --no-logo --no-cache
	@$(npm) lint

page: $(npm_ready)  ## bundle page/src into the program of the explorer's page
	@$(npm) build

# Warnings are errors. An example of the gallery runs again only if it has changed.
docs: $(VENV)/.docs-installed  ## the site, in docs/_build/html/index.html
	@OMP_NUM_THREADS=1 MPLBACKEND=Agg $(py) -m sphinx -q -W --keep-going -j auto -b html -d docs/_build/doctrees docs docs/_build/html
	@$(py) docs/_ext/check_site.py docs/_build/html

# Other files every time, and a few minutes in all; what fails is kept in .hypothesis and tried first.
fuzz: $(VENV)/.dev-installed  ## damaged tables and models, many of them, are refused in words
	@OMP_NUM_THREADS=1 MPLBACKEND=Agg $(py) -m pytest -n auto --maxprocesses 8 \
	  --hypothesis-profile=fuzz tests/tables/test_fuzz.py tests/cli/test_model_fuzz.py

# Each case runs in a process with a limit of time and memory; what is done is kept in studies/hostile-1/.
hostile: $(VENV)/.dev-installed  ## thousands of hostile inputs: right, or refused in clear words
	@OMP_NUM_THREADS=1 MPLBACKEND=Agg $(py) -m tests.hostile $(HOSTILE)

bench: $(VENV)/.bench-installed  ## patchfold beside its peers: time, memory and quality
	@$(py) -m benchmarks.peers --json bench/peers.json $(BENCH)

# Every supported Python of this machine gets an empty environment; some minutes each.
dist: $(VENV)/.dev-installed  ## wheel and sdist in dist/, each installed and tried
	@$(py) recipe/check_dist.py

# The four locks share one environment, so they are cut from one resolution.
compile = $(UV) pip compile --quiet --upgrade --universal --python-version 3.11 \
	--no-annotate --custom-compile-command 'make lock' pyproject.toml requirements/build.in
lock:  ## resolve requirements/*.txt anew (needs uv)
	@$(compile) --extra dev --extra bench --extra docs --output-file requirements/all.tmp
	@$(compile) --constraint requirements/all.tmp --extra plot --output-file requirements/demo.txt
	@$(compile) --constraint requirements/all.tmp --extra dev --output-file requirements/dev.txt
	@$(compile) --constraint requirements/all.tmp --extra bench --output-file requirements/bench.txt
	@$(compile) --constraint requirements/all.tmp --extra docs --output-file requirements/docs.txt
	@rm requirements/all.tmp
	@$(compile) requirements/tables.in --extra cli --extra plot --extra tsne --output-file requirements/tables.txt

clean:  ## remove the environment, caches and outputs
	rm -rf $(VENV) page/node_modules demo build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

page/node_modules/.installed: page/package-lock.json
	@echo "Installing page/package-lock.json into page/node_modules ..."
	@npm --prefix page --silent --no-audit --no-fund ci
	@touch $@

# A stamp is written last, so that an interrupted installation is taken up again.
$(VENV)/.%-installed: requirements/%.txt pyproject.toml $(VENV)/.created
	@echo "Installing requirements/$*.txt into $(VENV) ..."
	@$(pip) --requirement $<
	@$(if $(filter dev,$*),$(pip) --requirement requirements/gpu.txt)
	@$(pip) --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.dev-installed: requirements/gpu.txt

$(VENV)/.created: $(py)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'patchfold needs Python 3.11 or newer, and "$(PYTHON)" is not;' \
	       'name one: make PYTHON=python3.12 ...' >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { \
	  echo '"$(PYTHON) -m venv" failed; on Debian and Ubuntu it needs the package python3-venv.' >&2; exit 1; }
	@touch $@

# No recipe: an interpreter that is missing, dangling or newer than the environment means a new one.
$(py):
