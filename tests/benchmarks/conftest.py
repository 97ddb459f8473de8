"""Tests of benchmarks and of the engines that only they reach belong to `make test-all`."""

from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.long)
