# bothworlds: `make` shows what there is to do. Every target sets up what it needs in .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS ?= 2
WORKERS := $(shell expr $(JOBS) + 2)  # of the tests: some of them wait for others' processes
SOURCES := pyproject.toml src/bothworlds/_version.py
export PYTHONDONTWRITEBYTECODE :=  # where it is set, each of the tests' many processes would parse all its modules anew

.DEFAULT_GOAL := help
.PHONY: help demo test test-python slow coverage browser latex pages bytecode examples lint format docs studies bench lab constants compare tournament delay advice evidence torture soak container dist serve-demo clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/pip.stamp:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip
	@touch $@

$(VENV)/demo.stamp: $(SOURCES) | $(VENV)/pip.stamp
	$(PIP) install --editable '.[lab]'
	@touch $@

$(VENV)/dev.stamp: $(SOURCES) | $(VENV)/pip.stamp
	$(PIP) install --no-compile --editable '.[lab,cluster,postgres,openfeature]' --group dev  # most modules are never imported
	@touch $@

$(VENV)/kernels.stamp: $(VENV)/demo.stamp examples/quick.toml  # compiled once, then in the user's cache
	$(BIN)/bothworlds warmup examples/quick.toml
	@touch $@

demo: $(VENV)/kernels.stamp ## nine policies in eight worlds: scorecard, tables and report in about a minute
	@rm -rf build/quick
	$(BIN)/bothworlds run examples/quick.toml --out build/quick

$(VENV)/serve.stamp: $(SOURCES) | $(VENV)/pip.stamp
	$(PIP) install --editable '.[service]' 'httpx>=0.28'
	@touch $@

serve-demo: $(VENV)/serve.stamp ## a decision service with a shop that drifts: watch it live on its board
	$(BIN)/python examples/shop.py

browser: # Debian's chromium for the tests of the report, by apt when root; without it they are skipped, which says so
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && echo "installing chromium with apt, for the tests of the report" && apt-get -qq update >/dev/null \
	  && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install chromium fonts-dejavu-core >/dev/null; } \
	  || echo "no chromium, and not root: the tests of the report in a browser will be skipped"

LATEX := texlive-latex-recommended texlive-science texlive-pictures
latex: $(VENV)/dev.stamp ## set tables and pgf figures with LaTeX, which apt installs when root (some 300 MB, once)
	@kpsewhich siunitx.sty pgf.sty >/dev/null 2>&1 || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && echo "installing $(LATEX) with apt" && apt-get -qq update >/dev/null \
	  && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $(LATEX) >/dev/null; } \
	  || echo "no LaTeX, and not root: its tests will be skipped"
	$(BIN)/python -m pytest -q tests/report/test_latex.py

test: ## everything that must pass: lint, types, layers, examples, tests (eleven to fifteen minutes on two cores)
	@$(MAKE) --no-print-directory --jobs $(WORKERS) browser lint bytecode examples  # the first waits for the network
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow" tests

examples: $(VENV)/dev.stamp # of README, pages and docstrings; a page in one process
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile README.md docs src

slow: $(VENV)/dev.stamp ## tests that take ten seconds or more each: killed studies, caches, processes that compile, other sizes, cases with kernels of others (some ten minutes)
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m slow tests

OTHER := .venv-$(notdir $(PYTHON))
$(OTHER)/dev.stamp: $(SOURCES)
	$(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade pip
	$(OTHER)/bin/python -m pip --disable-pip-version-check --quiet install --no-compile \
	  --editable '.[lab,cluster,postgres,openfeature]' --group test
	@touch $@

TESTS ?= tests
test-python: $(OTHER)/dev.stamp ## the tests on another Python: make test-python PYTHON=python3.13 (in a venv of its own)
	$(OTHER)/bin/python -VV
	$(OTHER)/bin/python -m pytest -q -n $(JOBS) --dist worksteal -m "not slow" $(TESTS)

pages: $(VENV)/dev.stamp ## build the documentation without charts, every warning an error, as CI does
	BOTHWORLDS_GALLERY=plain $(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs-plain

bytecode: $(VENV)/dev.stamp # of all that tests import, once: the workers, which start at the same time, would each make it
	@$(BIN)/python -m pytest -q --collect-only tests >/dev/null || true  # what is wrong, the tests themselves will say

# Coverage is of two runs: kernels can only be watched where they are not compiled, all else where they are.
KERNELS := tests/simplex tests/policies tests/environments tests/simulation tests/theory tests/test_bandit.py
coverage: $(VENV)/dev.stamp browser ## run the tests compiled and as plain Python, and ask for 95% of all branches (about 15 minutes)
	$(BIN)/python -m pytest -q -n $(JOBS) --cov --cov-report= --cov-fail-under=0 tests
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n $(JOBS) -m "not compiled" --cov --cov-append --cov-report=term $(KERNELS)

lint: $(VENV)/dev.stamp ## ruff, mypy --strict, import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev.stamp ## let ruff format and fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/dev.stamp ## build the documentation, charts included, into build/docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

studies: $(VENV)/demo.stamp ## run all studies in examples/ into build/studies (about an hour; resumes)
	for file in examples/*.toml; do $(BIN)/bothworlds run $$file --out build/studies/$$(basename $$file .toml) || exit; done

bench: ## measure speed against peers, NumPy and C, in a venv of its own (about ten minutes; writes docs/benchmarks.md)
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[fast]' scipy mpmath gmpy2
	for peer in river mabwiser '--no-deps SMPyBandits'; do \
	  $(BENCH)/bin/python -m pip --disable-pip-version-check --quiet install $$peer || echo "$$peer: not installed"; done
	$(BENCH)/bin/python benchmarks/bench.py

lab: $(VENV)/dev.stamp ## measure the lab: its overhead, the analysis of a thousand cells
	$(BIN)/python benchmarks/lab_overhead.py
	$(BIN)/python benchmarks/analysis.py

constants: $(VENV)/dev.stamp ## measure what the choice of constants costs (the table in README)
	$(BIN)/python benchmarks/constants.py

compare: $(VENV)/dev.stamp ## every policy in four worlds (the table in the docs; some ten minutes)
	$(BIN)/python benchmarks/compare.py

tournament: $(VENV)/dev.stamp ## the policies that could be the default, in 66 worlds (about forty minutes; writes docs/tournament.md)
	$(BIN)/python benchmarks/tournament.py --out docs/tournament.md

delay: $(VENV)/dev.stamp ## late feedback and switching costs (the tables in docs/delay.md; some minutes)
	$(BIN)/python benchmarks/delay.py
	$(BIN)/python benchmarks/switching.py

advice: $(VENV)/dev.stamp ## whom to trust (the table in docs/advice.md; some minutes)
	$(BIN)/python benchmarks/advice.py

evidence: $(VENV)/dev.stamp ## coverage, widths, costs, drift, peeking, certainty (the tables in docs/evidence.md; ten minutes)
	$(BIN)/python benchmarks/evidence.py

torture: $(VENV)/dev.stamp ## kill processes 200 times on each database, cut the power, fail stores at any call (half an hour; shows how far)
	BOTHWORLDS_KILLS=200 BOTHWORLDS_EXAMPLES=400 BOTHWORLDS_LIVES=10 BOTHWORLDS_CUTS=40 BOTHWORLDS_SERVER_LIVES=4 \
	  BOTHWORLDS_SERVER_CUTS=15 $(BIN)/python -m pytest -v -s -n $(JOBS) --dist worksteal tests/service/test_kill.py \
	  tests/service/test_power_loss.py tests/service/test_failing_store.py tests/service/test_faults.py \
	  tests/service/test_processes.py tests/service/test_postgres.py tests/service/test_retention.py \
	  tests/service/test_serving.py tests/service/test_openapi.py

soak: $(VENV)/dev.stamp ## serve for ten minutes at half load: memory, latency and files must not grow
	$(BIN)/python benchmarks/soak.py --folder build

container: ## build the image with docker or podman (which apt installs when root), run it, hold it to its promises (some ten minutes)
	@command -v docker podman >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && echo "installing podman with apt" && apt-get -qq update >/dev/null \
	  && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install podman >/dev/null; } || true
	$(PYTHON) -u tests/service/container.py

WHEEL := build/wheel
dist: $(VENV)/dev.stamp ## build sdist and wheel, install the wheel in an empty venv, play from it (about five minutes)
	rm -rf dist $(WHEEL) $(WHEEL)-study
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip --disable-pip-version-check --quiet install dist/*.whl
	cd build && wheel/bin/python -c "import bothworlds as bw; b = bw.Bandit(['blue', 'green'], seed=7); \
	  p = b.pull(); b.update(p, reward=1.0); print(b)"
	$(WHEEL)/bin/python -m pip --disable-pip-version-check --quiet install 'bothworlds[lab]'  # of what is installed
	cd build && wheel/bin/bothworlds run ../examples/quick.toml --out wheel-study
	@echo "dist/ is ready"

clean: ## remove .venv, build and caches
	rm -rf $(VENV) $(VENV)-python* $(BENCH) build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
