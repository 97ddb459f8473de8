"""Replays complete instants through a memory-limited join, one slice of event time after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from seine.algebra.arrays import IntArray
from seine.operators.limited.arrival_join import ArrivalJoin
from seine.operators.limited.join_memory import JoinMemory
from seine.operators.limited.residents import ArrivedTuples
from seine.operators.limited.star_combinations import importance_of_all
from seine.operators.limited.window_capacity import WindowCapacity
from seine.rows.delta import Delta

# tuples of a slice: fewer cost too much each, more would mostly expire before they could join each other
_LEAST_SLICE, _LARGEST_SLICE = 4096, 1 << 16
if TYPE_CHECKING:
    from seine.operators.limited.limited_node import LimitedNode


class Replay:
    """The arrivals of complete instants, and the join and the windows that they pass through."""

    def __init__(
        self, node: LimitedNode, join: ArrivalJoin, memory: JoinMemory, due: Sequence[ArrivedTuples]
    ) -> None:
        self._star, self._how = node.star, node.memory.importance
        self._join, self._memory, self._due = join, memory, due
        self.times = np.sort(np.concatenate([arrived.arrivals.ts for arrived in due]))
        self._passed = 0
        self._opened = False

    @property
    def capacity(self) -> WindowCapacity:
        """What the windows may hold."""
        return self._memory.capacity

    def advance(self, end: int) -> Iterator[Delta]:
        """Replay all instants before `end`; yields the results that follow."""
        last = int(np.searchsorted(self.times, end))
        times, self._passed = self.times[self._passed : last], last
        self._open()
        for begin, until in pairwise(_cuts(times, self.capacity)):
            residents = self._memory.admit([arrived.between(begin, until) for arrived in self._due])
            for combinations in self._join.results(residents):
                self._memory.account.deliver(importance_of_all(combinations, self._star, self._how))
                yield Delta(self._join.output(combinations))
            self._memory.keep(residents, until - 1)

    def delivered_since(self) -> float:
        """The importance of the results delivered since the last call."""
        return self._memory.account.delivered_since()

    def grant(self, tuples: int, instant: int) -> None:
        """From an instant on, all windows together may hold so many tuples."""
        self._open()
        self.capacity.grant(tuples)
        self._memory.squeeze(instant)

    def close(self, horizon: int) -> None:
        """Write what is held when all instants before the horizon are over."""
        if self._opened:
            self._memory.close(horizon)

    def _open(self) -> None:
        if not self._opened:
            self._memory.open([arrived.batch[:0] for arrived in self._due])
            self._opened = True

    def clear(self) -> None:
        """Drop everything: the streams have ended."""
        self._memory.clear()


def _cuts(times: IntArray, capacity: WindowCapacity) -> list[int]:
    """Where slices begin, and where the last one ends; each has an arrival, none has a fixed point inside."""
    if not len(times):
        return []
    begins = times[:: min(max(_LEAST_SLICE, 2 * capacity.tuples), _LARGEST_SLICE)]
    if capacity.varies:
        first = np.flatnonzero(np.diff(times // capacity.period)) + 1
        begins = np.concatenate([begins, times[first]])
    return [*np.unique(begins).tolist(), int(times[-1]) + 1]
