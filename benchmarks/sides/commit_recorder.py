"""A listener to the commits of a service: clocks after each micro-batch, and first results of queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Condition

from benchmarks.harness.measure import Mark, mark
from seine.errors import RunError
from seine.runtime.output.sink import Sink


@dataclass(frozen=True)
class AwaitedQuery:
    """A registered query: when it was, the last entry delivered by then, and the first that counts for it."""

    query: str
    called: float
    delivered: int
    entry: int


@dataclass(frozen=True)
class FirstResult:
    """The entry with the first result of a query, and when that could be read."""

    entry: int
    wall: float


@dataclass(frozen=True)
class Wait:
    """Micro-batches up to the first result: since the query's first entry, and since the registering call."""

    batches: int
    since_call: int
    seconds: float


class CommitRecorder:
    """Called after each commit by the committing thread; other threads wait here for micro-batches."""

    def __init__(self, clocks: Callable[[int, int, int], Mark] = mark) -> None:
        self.marks: list[Mark] = []
        self.firsts: dict[str, FirstResult] = {}
        self.delivered = -1
        self._clocks = clocks
        self._awaited: set[str] = set()
        self._moved = Condition()
        self._ended = False

    def __call__(self, sink: Sink) -> None:
        totals = sink.totals
        now = time.monotonic()
        taken = self._clocks(totals.batches, totals.input_rows, totals.output_rows)
        with self._moved:
            for query in [name for name in self._awaited if totals.outputs.get(name)]:
                self.firsts[query] = FirstResult(totals.entry, now)
                self._awaited.remove(query)
            self.marks.append(taken)
            self.delivered = totals.entry
            self._moved.notify_all()

    @property
    def batches(self) -> int:
        """The number of micro-batches delivered so far."""
        return self.marks[-1].batch if self.marks else 0

    def expect(self, query: str) -> None:
        """Watch for the first result of a query that is about to be registered."""
        with self._moved:
            self._awaited.add(query)

    def end(self) -> None:
        """Wake all waiting threads: there are no more micro-batches."""
        with self._moved:
            self._ended = True
            self._moved.notify_all()

    def wait(self, batch: int, seconds: float | None = None) -> bool:
        """Wait until so many micro-batches are delivered, or for so many seconds; whether they are."""
        with self._moved:
            self._moved.wait_for(lambda: self._ended or self.batches >= batch, seconds)
            if self._ended and self.batches < batch:
                raise RunError(f"the service ended after {self.batches} of {batch} micro-batches")
            return self.batches >= batch


def waits(awaited: Iterable[AwaitedQuery], firsts: Mapping[str, FirstResult]) -> list[Wait]:
    """The waits of queries for their first results; a query without one is an error.

    >>> waits([AwaitedQuery("q", 5.0, 7, 10)], {"q": FirstResult(11, 9.5)})
    [Wait(batches=2, since_call=4, seconds=4.5)]
    """
    waited = []
    for query in awaited:
        if query.query not in firsts:
            raise RunError(f"query {query.query}, registered from entry {query.entry} on, has no result")
        first = firsts[query.query]
        waited.append(
            Wait(first.entry - query.entry + 1, first.entry - query.delivered, first.wall - query.called)
        )
    return waited
