"""Options and order of the whole test run, and what makes a run of thousands of tests cheap."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from seine.algebra import aggregates, user_functions
from seine.algebra.functions import user_modules

# tests share code as `tests.reference` and `tests.generators`, whatever folder pytest is started from
sys.path.insert(0, str(Path(__file__).parent.parent))

_YOUNG_OBJECTS = 20_000  # that are made before garbage is looked for among them


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the expected part of the case files")


def pytest_configure() -> None:
    """Tests kill processes and no machine: what this one writes need not be on the disk when it says so.

    Those that cut the power note what is synced: `tests/support/power_cuts.py`.
    """
    os.fsync = lambda handle: None
    os.syncfs = lambda handle: None  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts Spark comes first, in one process of those that share the work, so that it starts once."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=lambda item: (not item.get_closest_marker("spark"), _is_conformance(item)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test prints may hold half a character, which no process can send to another as UTF-8."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report


def _is_conformance(item: pytest.Item) -> bool:
    return item.get_closest_marker("conformance") is not None


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: no garbage is looked for among them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])


@pytest.fixture(autouse=True)
def _declared_functions() -> Iterator[None]:
    """Functions that a test declares, or that a pipeline of its brings, are gone after it."""
    registries = [user_functions._REGISTERED, aggregates._REGISTERED, user_modules._LOADED]
    before = [dict(registry) for registry in registries]
    yield
    for registry, functions in zip(registries, before, strict=True):
        registry.clear()
        registry.update(functions)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """One server for all tests, each of which makes databases of its own; they are skipped without one."""
    from tests.support.postgres_server import postgres_server

    with postgres_server() as url:
        yield url
