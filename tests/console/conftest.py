"""One browser for all tests of the console, a service for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.console_rig import ConsoleRig, chromium


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """It ends with these tests: while it is there, its thread has an event loop that others would meet."""
    yield from chromium()


@pytest.fixture
def rig(tmp_path: Path, browser: Browser) -> Iterator[ConsoleRig]:
    rig = ConsoleRig(tmp_path, browser)
    yield rig
    rig.close()
