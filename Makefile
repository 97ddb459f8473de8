# make install     a virtual environment in .venv with the seine command
# make demo        the main demonstration, end to end
# make test        what finds most bugs, in some minutes        make test-all    the tests that take longer
# make lint        style and types
# make bench       the benchmarks, or one of them, NAME=join; a part of it, ONLY=..., and what else benchmarks/README.md says
# make chaos       a service among bad neighbours, for ten minutes; SEED=7 repeats what seed 7 did
# make kills       from topics to topics and tables, killed a hundred times (make test-all: ten); power cuts; a cluster; spark-submit
# make properties  random scripts and streams with many seeds, SEEDS=40; make test has the first of each
# make fuzz        ten minutes of scripts and requests that are nearly right; make test-all has few of them
# make soak        hours of a service that everything happens to, MINUTES=120; its report is docs/soak.md
# make conformance the conformance kit beside the repository, plainly and in small batches
# make console     build the console's page into the package; it needs Node, which users do not
# make package     the wheel and the sdist, installed in fresh environments of Python 3.11, 3.12 and 3.13
# make site        the documentation as a site, in build/site
# make lock        resolve requirements.lock anew from pyproject.toml

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WITH_JAVA = JAVA_HOME=$$(scripts/find_java)

SEED := $(or $(SEED),$(shell date +%s))
CHAOS_SECONDS := 600
MINUTES := 120
# the fewest seeds of a random test
SEEDS := 40
# the longest that a line may wait for its result, in seconds
CHAOS_BOUND := 180
CHAOS = SEINE_SEEDS=$(SEED)-$$(($(SEED) + 1)) SEINE_CHAOS_SECONDS=$(CHAOS_SECONDS) SEINE_CHAOS_BOUND=$(CHAOS_BOUND)

.DELETE_ON_ERROR:

install: $(STAMP)
	@scripts/find_java > /dev/null
	@echo "seine is installed: $(BIN)/seine --help"

$(STAMP): pyproject.toml requirements.lock
	@python=$$(scripts/find_python) && $$python -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

demo: install
	@$(WITH_JAVA) && export JAVA_HOME && $(BIN)/seine demo

# Two processes share the tests; what starts Spark stays in one of them.
PYTEST = $(WITH_JAVA) && export JAVA_HOME && $(BIN)/python -m pytest
SHARED = -q -p no:cacheprovider -n 2 --dist loadgroup

.PHONY: console package site install demo test test-all servers properties chaos kills fuzz soak conformance lint format bench lock clean

test: install servers
ifdef TESTS
	@$(PYTEST) $(TESTS)
else
	@$(PYTEST) $(SHARED) -m "not (long or slow or small_batches)"
endif

test-all: install servers
	@$(PYTEST) $(SHARED) -m "long and not (slow or small_batches)"

servers:
	@scripts/find_postgres > /dev/null
	@scripts/find_kafka > /dev/null
	@scripts/find_chromium > /dev/null

chaos: install
	@$(WITH_JAVA) && export JAVA_HOME && $(CHAOS) $(BIN)/python -m pytest -q -s tests/chaos

kills: install
	@$(WITH_JAVA) && export JAVA_HOME && $(BIN)/python -m pytest -q -m slow tests/spark tests/console tests/properties

properties: install
	@SEINE_SEEDS=$(SEEDS) $(BIN)/python -m pytest -q tests/properties

fuzz: install
	@SEINE_FUZZ_SECONDS=300 SEINE_FUZZ_TRIES=1000000000 SEINE_FUZZ_SEED=$(SEED) $(BIN)/python -m pytest -q tests/fuzz

soak: install
	@scripts/find_kafka > /dev/null
	@$(WITH_JAVA) && export JAVA_HOME && $(BIN)/python -m tests.soak --minutes $(MINUTES) --seed $(SEED) --report docs/soak.md

conformance: install
	@$(WITH_JAVA) && export JAVA_HOME && $(BIN)/python -m pytest -q tests/conformance

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

BENCH_OPTIONS = $(if $(QUICK),--quick) $(foreach option,only resume queries pictures out,$(call given,$(option)))
given = $(if $($(call upper,$1)),--$1 $($(call upper,$1)))
upper = $(shell echo $1 | tr a-z A-Z)

bench: install
	@$(WITH_JAVA) && export JAVA_HOME && PYTHONPATH=$(CURDIR) $(BIN)/python -m benchmarks $(NAME) $(BENCH_OPTIONS)

console:
	cd console && npm ci --no-audit --no-fund && npm run --silent build

package: install
	@$(BIN)/python -m pytest -q -m slow tests/packaging

site: $(STAMP)
	@$(BIN)/python docs_site/write_pages.py build/pages
	@$(BIN)/zensical build --strict --clean > /dev/null
	@echo "open build/site/index.html"

lock:
	@scripts/lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
