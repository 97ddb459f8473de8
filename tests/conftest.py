"""Options and order of the whole test run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# tests share code as `tests.reference` and `tests.generators`, whatever folder pytest is started from
sys.path.insert(0, str(Path(__file__).parent.parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the expected part of the case files")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The conformance kit comes last."""
    items.sort(key=lambda item: item.get_closest_marker("conformance") is not None)
