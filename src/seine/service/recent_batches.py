"""The last micro-batches of a service: how long each took, stage by stage, and how fast nodes send rows."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile

from seine.intake.journal import Entry
from seine.runtime.output.batch_work import BatchWork
from seine.runtime.output.totals import Totals

_MOST_BATCHES = 200
_RECENT_SECONDS = 10.0  # over which rates are measured


@dataclass(frozen=True)
class RecentBatch:
    """One micro-batch: `at` is when it was delivered, Unix time; it took `seconds` since it could begin."""

    entry: int
    at: float
    seconds: float
    input_rows: int
    output_rows: int
    dead_letters: int
    work: BatchWork


class RecentBatches:
    """The last micro-batches of this process. One thread notes, any other may read `batches`."""

    def __init__(self, totals: Totals) -> None:
        self.batches: tuple[RecentBatch, ...] = ()
        self._since = time.time()
        self._before = _counts(totals)

    def note(self, entry: Entry, totals: Totals, work: BatchWork) -> None:
        """A micro-batch has been delivered."""
        now, counts = time.time(), _counts(totals)
        began = max(_written(entry, now), self._since)
        rows, outputs, dead = (after - before for after, before in zip(counts, self._before, strict=True))
        batch = RecentBatch(entry.number, now, max(now - began, 0.0), rows, outputs, dead, work)
        self.batches = (*self.batches[1 - _MOST_BATCHES :], batch)
        self._since, self._before = now, counts

    def rates(self) -> dict[int, float]:
        """Of each node the rows a second that it has sent on in the last seconds."""
        now = time.time()
        recent = list(takewhile(lambda one: one.at >= now - _RECENT_SECONDS, reversed(self.batches)))
        sent: Counter[int] = Counter()
        for batch in recent:
            sent.update(batch.work.sent)
        return {node: rows / _RECENT_SECONDS for node, rows in sent.items()}


def _counts(totals: Totals) -> tuple[int, int, int]:
    return totals.input_rows, totals.output_rows, totals.dead_letters


def _written(entry: Entry, now: float) -> float:
    """When an entry was written; the time given if it is gone already."""
    try:
        return os.stat(os.path.join(entry.folder, "entry.json")).st_mtime
    except OSError:
        return now
