"""How long good neighbours wait: from a line written to its result readable over HTTP."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.chaos.good_neighbours import GoodNeighbours

_POLL_SECONDS = 2.0


class WaitWatch(threading.Thread):
    """Tails a query that reports every line of a stream, through all restarts of the service."""

    def __init__(self, state: Path, neighbours: GoodNeighbours, stream: str, query: str) -> None:
        super().__init__(daemon=True)
        self._state, self._query = state, query
        self._written = neighbours.written[stream]
        self._next = "start"
        self._closed = threading.Event()
        self.ids: list[int] = []  # as they came
        self.waits: list[tuple[float, float]] = []  # when a line was written, and how long it waited

    def run(self) -> None:
        while not self._closed.is_set():
            try:
                self._read()
            except (OSError, ValueError, urllib.error.HTTPError):  # nobody serves at the moment
                time.sleep(0.1)

    def close(self) -> None:
        self._closed.set()
        self.join()

    def _read(self) -> None:
        url = json.loads((self._state / "service.json").read_text())["url"]
        words = f"from={self._next}&wait={_POLL_SECONDS}"
        with urllib.request.urlopen(f"{url}/v1/queries/{self._query}/results?{words}", timeout=30) as answer:
            lines, following = answer.read().splitlines(), answer.headers["Seine-Next"]
        now = time.monotonic()
        self._next = following
        for line in lines:
            number = json.loads(line)["row"]["id"]
            self.ids.append(number)
            written = self._written[number]
            self.waits.append((written, now - written))

    def longest(self, begin: float, end: float) -> float:
        """The longest wait of lines that were written between two instants; 0 without any."""
        return max((wait for written, wait in list(self.waits) if begin <= written <= end), default=0.0)

    @property
    def newest(self) -> float:
        """When the last line that can be read was written."""
        return max((written for written, _ in list(self.waits)), default=0.0)
