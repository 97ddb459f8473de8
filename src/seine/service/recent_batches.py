"""The last micro-batches of a service: how long each took, stage by stage, and how fast nodes send rows."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from seine.intake.journal import Entry
from seine.runtime.output.task_report import BatchWork
from seine.runtime.output.totals import Totals

_logger = logging.getLogger(__name__)

_MOST_BATCHES = 200
_SLOW_SECONDS = 30.0
_RECENT_SECONDS = 10.0  # over which rates are measured
BATCH_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # that micro-batches are counted by


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


@dataclass(frozen=True)
class BatchTimes:
    """How long all micro-batches of this process took, and their stages: the longest task of each.

    `counts` has how many took no longer than each of `BATCH_SECONDS`, and how many there were.

    >>> times = BatchTimes().after(0.3, {0: 0.1, 1: 0.2}).after(99.0, {0: 1.0})
    >>> times.counts, times.stages
    ((0, 0, 1, 1, 1, 1, 1, 1, 1, 2), {0: 1.1, 1: 0.2})
    """

    counts: tuple[int, ...] = (0,) * (len(BATCH_SECONDS) + 1)
    seconds: float = 0.0
    stages: Mapping[int, float] = field(default_factory=dict)

    def after(self, seconds: float, stages: Mapping[int, float]) -> BatchTimes:
        """These, and one more."""
        counts = zip(self.counts, (*BATCH_SECONDS, math.inf), strict=True)
        every = sorted({*self.stages, *stages})
        return BatchTimes(
            tuple(count + (seconds <= bound) for count, bound in counts),
            self.seconds + seconds,
            {stage: self.stages.get(stage, 0.0) + stages.get(stage, 0.0) for stage in every},
        )


class RecentBatches:
    """The last micro-batches of this process. One thread notes, any other may read `batches` and `times`."""

    def __init__(self, totals: Totals) -> None:
        self.batches: tuple[RecentBatch, ...] = ()
        self.times = BatchTimes()
        self._since = time.time()
        self._before = _counts(totals)

    def note(self, entry: Entry, totals: Totals, work: BatchWork) -> None:
        """A micro-batch has been delivered."""
        now, counts = time.time(), _counts(totals)
        began = max(entry.written, self._since)
        rows, outputs, dead = (after - before for after, before in zip(counts, self._before, strict=True))
        batch = RecentBatch(entry.number, now, max(now - began, 0.0), rows, outputs, dead, work)
        if batch.seconds > _SLOW_SECONDS:
            facts = {"entry": entry.number, "seconds": round(batch.seconds, 1), "input_rows": rows}
            slowest = max(work.stages, key=lambda stage: work.stages[stage], default=None)
            _logger.warning("a micro-batch was slow", extra={**facts, "slowest_stage": slowest})
        self.batches = (*self.batches[1 - _MOST_BATCHES :], batch)
        self.times = self.times.after(batch.seconds, work.stages)
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
