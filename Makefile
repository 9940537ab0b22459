# Each target works as the first command on a fresh machine with Python 3.11 or later and venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run
SITE := $(VENV)/.site
STUDIES := $(VENV)/.studies
DEV := $(VENV)/.dev
CONSTRAINTS := constraints.txt
EXTRAS := dev,lint
PROJECTS := pyproject.toml studies/pyproject.toml $(CONSTRAINTS)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS)
FAST := -n 2 --dist worksteal -m "not (contract or statistical or fuzz or whole or faults or audit)"

.PHONY: demo check test test-all oldest newest faults audit fuzz verify golden lint format bench studies
.PHONY: package desk-test words docs r-check
.PHONY: studies-install clean

demo: $(RUN)
	$(BIN)/understudy demo

# For daily work: no test that repeats, draws or enumerates for long.
check: lint
	$(BIN)/pytest $(FAST)

test: $(DEV)
	$(BIN)/pytest -n 2 --dist worksteal -m "not (faults or audit or desk)"

# The same with every case of every test (`tests/night.py` says which wait for it): by night.
test-all: $(DEV)
	WHOLE_MATRIX=1 $(BIN)/pytest -n 2 --dist worksteal -m "not (faults or audit)"

# The fast tests with the oldest libraries that pyproject.toml admits, and with the newest there are.
oldest: CONSTRAINTS := constraints-oldest.txt
oldest: EXTRAS := dev
newest: CONSTRAINTS := /dev/null
oldest newest:
	$(MAKE) VENV=.$@ CONSTRAINTS=$(CONSTRAINTS) .$@/.dev
	NUMBA_CACHE_DIR=$(CURDIR)/.$@/compiled .$@/bin/python -m pytest $(FAST)

# Classic mistakes, each of which an audit must notice; and lower bounds on what releases of every
# method cost, which take about an hour.
audit: $(DEV)
	$(BIN)/pytest -n 2 --dist worksteal -m audit
	$(BIN)/understudy audit

# What can go wrong around a run, by the hundred: kills, full disks, losses of power, servers.
faults: $(DEV)
	$(BIN)/pytest -n 2 --dist worksteal -m faults

# Files that a reader breaks at, searched for a minute each; by coverage where atheris is installed.
fuzz: $(DEV)
	$(BIN)/python benchmarks/fuzz.py

# Ten thousand altered releases, which loading and the independent checker must both refuse.
verify: $(DEV)
	$(BIN)/python benchmarks/check_altered.py

# The steward's desk in a real browser; skipped where there is no Chromium.
desk-test: $(DEV)
	$(BIN)/pytest -n 2 --dist worksteal -m desk

# The catalogue of what the desk says, from its sources.
words: $(DEV)
	$(BIN)/pybabel -q extract -F pyproject.toml -k refusal --omit-header --add-location=file --sort-by-file -o src/understudy/desk/words.pot src/understudy/desk

# Whether a change of structure left all releases, answers, plans and helps as they were.
golden: $(DEV)
	$(BIN)/python tests/golden/golden_releases.py

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n 2
	$(BIN)/lint-imports --no-cache

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/counting.py
	$(BIN)/python benchmarks/sparse.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/reading_text.py
	$(BIN)/python benchmarks/dense.py
	$(BIN)/python benchmarks/evaluate.py
	$(BIN)/python benchmarks/methods.py
	$(BIN)/python benchmarks/hierarchy.py
	$(BIN)/python benchmarks/privbayes.py
	$(BIN)/python benchmarks/marginals.py
	$(BIN)/python benchmarks/households.py
	$(BIN)/python benchmarks/lbfgs.py
	$(BIN)/python benchmarks/pegs.py
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/pmse.py
	$(BIN)/python benchmarks/censored.py
	$(BIN)/python benchmarks/pseudo_posterior.py
	$(BIN)/python benchmarks/mixture_chains.py
	$(BIN)/python benchmarks/spark.py

# The pages of `docs/` as a site, in `site/`; each warning is an error. Opens without a network.
docs: $(SITE)
	rm -rf site
	$(BIN)/sphinx-build -q -W --keep-going -b html -d $(VENV)/.doctrees docs site
	rm -rf jupyter_execute  # the notebooks, which the site has as pages

# Wheel and source distribution, each installed into an empty environment and used there.
package: $(DEV)
	rm -rf dist .package
	$(BIN)/python -m build --outdir dist .
	for made in dist/*.whl dist/*.tar.gz; do \
	    rm -rf .package && "$(PYTHON)" -m venv .package && \
	    .package/bin/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) "$$made" && \
	    (cd .package && bin/python ../packaging/check_installed.py PLACEHOLDERS=$(PLACEHOLDERS)) || exit 1; \
	done
	rm -rf .package

# The R package as CRAN checks it, without a network: needs R with knitr, reticulate and testthat.
r-check: $(RUN)
	@if [ "$(PLACEHOLDERS)" = refused ] && grep -n PLACEHOLDER r/DESCRIPTION; then exit 1; fi
	packaging/check_r.sh $(CURDIR)/$(BIN)/python

studies-install: $(STUDIES)

studies: $(STUDIES)
	$(BIN)/understudy study coverage --out study-results/coverage
	$(BIN)/understudy study bowen-liu-1 --out study-results/bowen-liu-1
	$(BIN)/understudy study bowen-liu-2 --out study-results/bowen-liu-2
	$(BIN)/understudy study bowen-liu-3 --out study-results/bowen-liu-3
	$(BIN)/understudy study steps-simulation --out study-results/steps-simulation
	$(BIN)/understudy study steps-voter --out study-results/steps-voter
	$(BIN)/understudy study pegs --out study-results/pegs
	$(BIN)/understudy study pmse-failure --out study-results/pmse-failure
	$(BIN)/understudy study pmse-table2 --out study-results/pmse-table2
	$(BIN)/understudy study pmse-regression --out study-results/pmse-regression
	$(BIN)/understudy study pseudo-posterior --out study-results/pseudo-posterior

clean:
	rm -rf $(VENV) .oldest .newest .package build dist site jupyter_execute docs/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed."; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; set PYTHON=/path/to/python3.11."; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(RUN): $(BIN)/python pyproject.toml $(CONSTRAINTS)
	$(INSTALL) -e '.[demo,evaluate,files,ledger]'
	@touch $@

$(SITE): $(BIN)/python pyproject.toml $(CONSTRAINTS)
	$(INSTALL) -e '.[demo,docs,evaluate,files]'
	@touch $@ $(RUN)

# The studies need the very version beside them: both in one command.
$(STUDIES): $(BIN)/python $(PROJECTS)
	$(INSTALL) -e . -e ./studies
	@touch $@ $(RUN)

$(DEV): $(BIN)/python $(PROJECTS)
	$(INSTALL) -e '.[$(EXTRAS)]' -e ./studies
	@touch $@ $(RUN) $(STUDIES)
