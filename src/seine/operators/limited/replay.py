"""Event time passes in a join within a memory, a slice after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from seine.operators.limited.join_memory import Memory
from seine.operators.limited.meeting import Meeting
from seine.operators.limited.residents import ArrivedTuples
from seine.operators.limited.weighing import importance_of_all
from seine.operators.limited.window_room import Room
from seine.rows.delta import Delta

if TYPE_CHECKING:
    from seine.operators.limited.limited_node import LimitedNode

_SLICE = 4096  # tuples that are looked at together, at least: more of them would mostly miss each other,
_LARGE = 1 << 16  # and at most


class Replay:
    """The arrivals of complete instants, on their way through the memory of a join."""

    def __init__(
        self, node: LimitedNode, meeting: Meeting, memory: Memory, due: Sequence[ArrivedTuples]
    ) -> None:
        self._star, self._how = node.star, node.memory.importance
        self._meeting, self._memory, self._due = meeting, memory, due
        self.times = np.sort(np.concatenate([some.arrivals.ts for some in due]))
        self._passed = 0
        self._opened = False

    @property
    def room(self) -> Room:
        return self._memory.room

    def advance(self, end: int) -> Iterator[Delta]:
        """Let all instants before one pass; the results that follow."""
        last = int(np.searchsorted(self.times, end))
        times, self._passed = self.times[self._passed : last], last
        self._open()
        for begin, until in pairwise(_cuts(times, self.room)):
            residents = self._memory.admit([some.between(begin, until) for some in self._due])
            for found in self._meeting.meet(residents):
                self._memory.account.tell(importance_of_all(found, self._star, self._how))
                yield Delta(self._meeting.told(found))
            self._memory.keep(residents, until - 1)

    def told_since(self) -> float:
        """The importance that was told since this was asked last."""
        return self._memory.account.told_since()

    def grant(self, tuples: int, instant: int) -> None:
        """From an instant on there is room for so many tuples."""
        self._open()
        self.room.grant(tuples)
        self._memory.squeeze(instant)

    def close(self, horizon: int) -> None:
        """Make durable what is held when all instants before the horizon are over."""
        if self._opened:
            self._memory.close(horizon)

    def _open(self) -> None:
        if not self._opened:
            self._memory.open([some.batch[:0] for some in self._due])
            self._opened = True

    def clear(self) -> None:
        """Nothing comes any more."""
        self._memory.clear()


def _cuts(times: np.ndarray, room: Room) -> list[int]:
    """Where slices begin, and where the last one ends; each has an arrival, and none a fixed point within."""
    if not len(times):
        return []
    begins = times[:: min(max(_SLICE, 2 * room.tuples), _LARGE)]
    if room.varies:
        first = np.flatnonzero(np.diff(times // room.period)) + 1
        begins = np.concatenate([begins, times[first]])
    return [*np.unique(begins).tolist(), int(times[-1]) + 1]
