"""The console in a real browser, on a service that runs its micro-batches on a thread of this process."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.http_rig import HttpRig
from tests.support.paths import ROOT

PICTURES = Path(os.environ.get("SEINE_CONSOLE_PICTURES", ROOT / "build" / "console"))
_IDLE_SECONDS = 0.02
_PATIENCE = 20_000  # milliseconds, of a machine that has other work


def chromium() -> Iterator[Browser]:
    """A browser for a fixture; without one the tests are skipped."""
    finder = subprocess.run([str(ROOT / "scripts" / "find_chromium")], capture_output=True, text=True)
    path = finder.stdout.strip()
    if not path:
        pytest.skip("no Chromium: the console's tests are skipped")
    with sync_playwright() as playwright:
        expect.set_options(timeout=_PATIENCE)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class ConsoleRig(HttpRig):
    """A service whose pipeline runs by itself, and pages of its console."""

    def __init__(self, folder: Path, browser: Browser, depth: int = 2, **listening: Any) -> None:
        super().__init__(folder, depth, **listening)
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._ended = threading.Event()
        self._pump = threading.Thread(target=self._run_batches, daemon=True)
        self._pump.start()
        self.complaints: list[str] = []  # what browsers said on their consoles, and what they refused

    def _run_batches(self) -> None:
        while not self._ended.is_set():
            if not self.service.driver.run_some(self.host.run):
                time.sleep(_IDLE_SECONDS)

    def open(self, place: str = "", **options: Any) -> Page:
        """A page of the console in a browser of its own."""
        context = self._browser.new_context(viewport={"width": 1280, "height": 860}, **options)
        context.set_default_timeout(_PATIENCE)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self._note("error", str(error)))
        page.goto(f"{self.server.url}/{place}")
        return page

    def write(self, stream: str, *rows: Any) -> None:
        """Let rows arrive in the file of a stream."""
        with (self.folder / f"{stream}.jsonl").open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def append(self, *values: int) -> None:
        """Let rows of the stream s arrive."""
        self.write("s", *({"a": value, "ts": 1} for value in values))

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until the service has come so far."""
        end = time.monotonic() + _PATIENCE / 1000
        while not condition():
            assert time.monotonic() < end
            time.sleep(_IDLE_SECONDS)

    def pretend_queries(self, name: str, count: int) -> None:
        """Let readers see so many queries like one that is registered; the network has that one alone."""
        view = self.service.published.view
        one = view.find(name)
        names = [f"{name}{number}" for number in range(count)]
        registered = {each: replace(one, query=replace(one.query, name=each)) for each in names}
        self.service.publisher.publish_view(replace(view, registered=MappingProxyType(registered)))

    def _note(self, kind: str, text: str) -> None:
        if kind == "error" and "status of 4" not in text:  # a refusal that the page shows
            self.complaints.append(text)

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        self._ended.set()
        self._pump.join(10)
        super().close()
        assert not self.complaints, "\n".join(self.complaints)


def keep_picture(page: Page, name: str) -> None:
    """Keep how a page looks, for people."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"{name}.png"), caret="initial")  # hiding it takes a style
