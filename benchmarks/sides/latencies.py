"""How long results took: from the append of the later of two records until the result can be read."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import msgspec
import numpy as np

from seine.errors import RunError


@dataclass(frozen=True)
class LatencyFigures:
    """Percentiles in seconds, and how many results they are of."""

    median: float
    p99: float
    results: int


class Latencies:
    """Takes results as JSON records; a side warms up for some seconds, from its first result on.

    What was sent before that, and while it started, is left out.
    """

    def __init__(self, warm: float) -> None:
        self._warm, self._first = warm, 0.0
        self._taken: list[float] = []

    def take(self, records: Sequence[bytes], left: str, right: str) -> None:
        """Results that can be read now; `left` and `right` are the fields that say when they were sent."""
        now = time.time() * 1e6
        if records and not self._first:
            self._first = now + self._warm * 1e6
        for record in records:
            row = msgspec.json.decode(record)
            row = row.get("row", row)
            sent = max(row[left], row[right])
            if sent >= self._first:
                self._taken.append((now - sent) / 1e6)

    def figures(self) -> LatencyFigures:
        """The percentiles of what was taken."""
        if not self._taken:
            raise RunError("no result came in time")
        median, last = np.percentile(self._taken, [50, 99])
        return LatencyFigures(float(median), float(last), len(self._taken))


def print_latencies(figures: LatencyFigures) -> None:
    """Print the figures for the parent process to read."""
    print(json.dumps(asdict(figures)))
