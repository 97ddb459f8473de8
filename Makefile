# make install     a virtual environment in .venv with the seine command
# make demo        the main demonstration, end to end
# make test        every test        make lint    style and types        make bench    the benchmarks
# make lock        resolve requirements.lock anew from pyproject.toml

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WITH_JAVA = JAVA_HOME=$$(scripts/find_java)

.PHONY: install demo test lint format bench lock clean
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

test: install
	@scripts/find_postgres > /dev/null
	@$(WITH_JAVA) && export JAVA_HOME && $(BIN)/python -m pytest $(TESTS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	@$(WITH_JAVA) && export JAVA_HOME && $(BIN)/seine bench

lock:
	@scripts/lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
