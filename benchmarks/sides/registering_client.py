"""A client that keeps registering queries: half of them have results in each batch, others come and go."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from benchmarks.sides.commit_recorder import AwaitedQuery, CommitRecorder
from seine.service.client import Client

_SURE = "CREATE QUERY sure_{number} AS SELECT tran_id, amount FROM transfer WHERE amount > {bound};"
_LEAST_AMOUNT = 2_000_000  # three transfers in a thousand are larger, so that every batch has results
_MOST_STANDING = 4  # of the queries that come and go, at a time


class RegisteringClient:
    """Registers a query over HTTP each `interval` seconds; `others` are (name, SELECT)."""

    def __init__(
        self, client: Client, recorder: CommitRecorder, others: Iterator[tuple[str, str]], interval: float
    ) -> None:
        self.awaited: list[AwaitedQuery] = []
        self.seconds: list[float] = []  # of each change
        self._client = client
        self._recorder = recorder
        self._others = others
        self._interval = interval
        self._standing: deque[str] = deque()
        self._turn = 0

    def work(self, until: int) -> None:
        """Register until so many micro-batches are delivered."""
        due = time.monotonic()
        while not self._recorder.wait(until, max(due - time.monotonic(), 0.0)):
            if self._turn % 2:
                self._register_other()
            else:
                self._register_sure()
            self._turn += 1
            due = max(due + self._interval, time.monotonic())

    def _register_sure(self) -> None:
        number = len(self.awaited)
        name = f"sure_{number}"
        self._recorder.expect(name)
        called, delivered = time.monotonic(), self._recorder.delivered
        entry = self._register(_SURE.format(number=number, bound=_LEAST_AMOUNT + number))
        self.awaited.append(AwaitedQuery(name, called, delivered, entry))

    def _register_other(self) -> None:
        name, text = next(self._others)
        self._register(f"CREATE QUERY {name} AS {text};")
        self._standing.append(name)
        if len(self._standing) > _MOST_STANDING:
            started = time.monotonic()
            self._client.drop(self._standing.popleft())
            self.seconds.append(time.monotonic() - started)

    def _register(self, statement: str) -> int:
        """Register a statement; returns the first entry that counts for it."""
        started = time.monotonic()
        outcome = self._client.register(statement, file="live", folder="")
        self.seconds.append(time.monotonic() - started)
        entry: int = outcome["entry"]
        return entry
