"""The window of one stream: the tuples in memory as a struct of arrays, with a heap of their departures.

slot        0    1    2  | 3 ..  free
number      7    9    4  |          columns INTS, FLOATS; `tokens` is a list beside them
leaves     30   12   55  |
heap       (12, 9) (30, 7) (55, 4)
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np

from seine.algebra.arrays import AnyArray, FloatArray, IntArray

INTS = ("number", "ts", "expiry", "leaves", "group")
FLOATS = ("importance", "priority", "matches")
_STALE_ENTRIES = 64  # heap entries of departed tuples, beyond as many as are held, before it is rebuilt


class Window:
    """Slots 0 to count - 1 are occupied; when one becomes free, the last tuple moves there.

    `leaves` is when a tuple leaves by itself: it expires, or nothing new can match it. `group` is the number
    of its token group, where matches are counted. `priority` and `matches` belong to the policy.
    """

    number: IntArray
    ts: IntArray
    expiry: IntArray
    leaves: IntArray
    group: IntArray
    importance: FloatArray
    priority: FloatArray
    matches: FloatArray

    def __init__(self) -> None:
        self.count = 0
        self.tokens: list[tuple[int, ...]] = []
        self._slots: dict[int, int] = {}  # by number
        self._queue: list[tuple[int, int]] = []  # (leaves, number), also of some that are gone
        self._take(np.zeros((len(INTS), 16), np.int64), np.zeros((len(FLOATS), 16)))

    def add(
        self,
        number: int,
        ts: int,
        expiry: int,
        leaves: int,
        importance: float,
        tokens: tuple[int, ...],
        group: int,
    ) -> int:
        """Append a tuple; returns its slot."""
        slot = self.count
        self.tokens.append(tokens)
        if slot == self._ints.shape[1]:
            self._take(np.tile(self._ints, 2), np.tile(self._floats, 2))
        self._ints[:, slot] = number, ts, expiry, leaves, group
        self._floats[:, slot] = importance, 0.0, 0.0
        self._slots[number] = slot
        heappush(self._queue, (leaves, number))
        self.count += 1
        return slot

    def remove(self, slots: list[int]) -> None:
        """Free slots, the highest first, so that none of them moves before its turn."""
        for slot in sorted(slots, reverse=True):
            self.count -= 1
            del self._slots[self.number.item(slot)]
            tokens = self.tokens.pop()
            if slot != self.count:
                self.tokens[slot] = tokens
                self._ints[:, slot] = self._ints[:, self.count]
                self._floats[:, slot] = self._floats[:, self.count]
                self._slots[self.number.item(slot)] = slot
        if len(self._queue) > 2 * self.count + _STALE_ENTRIES:
            self._rebuild_queue()

    def leaving(self, now: int) -> list[int]:
        """The slots of tuples that leave by themselves at this instant or before."""
        slots = []
        queue = self._queue
        while queue and queue[0][0] <= now:
            slot = self._slots.get(heappop(queue)[1])
            if slot is not None:
                slots.append(slot)
        return slots

    def state(self) -> dict[str, AnyArray]:
        """All columns, to be saved."""
        held = {name: getattr(self, name)[: self.count].copy() for name in (*INTS, *FLOATS)}
        ends = np.cumsum([0, *map(len, self.tokens)])
        tokens = np.array([token for of_tuple in self.tokens for token in of_tuple], np.int64)
        return {**held, "ends": ends, "tokens": tokens}

    def restore(self, state: dict[str, AnyArray]) -> None:
        """Load a saved state."""
        self.count = len(state["number"])
        room = max(16, self.count)
        ints, floats = np.zeros((len(INTS), room), np.int64), np.zeros((len(FLOATS), room))
        ints[:, : self.count] = [state[name] for name in INTS]
        floats[:, : self.count] = [state[name] for name in FLOATS]
        self._take(ints, floats)
        tokens = state["tokens"].tolist()
        self.tokens = [tuple(tokens[begin:end]) for begin, end in pairwise(state["ends"].tolist())]
        self._slots = {number: slot for slot, number in enumerate(state["number"].tolist())}
        self._rebuild_queue()

    def _take(self, ints: IntArray, floats: FloatArray) -> None:
        self._ints, self._floats = ints, floats
        for name, column in zip((*INTS, *FLOATS), (*ints, *floats), strict=True):
            setattr(self, name, column)

    def _rebuild_queue(self) -> None:
        held = slice(0, self.count)
        self._queue = list(zip(self.leaves[held].tolist(), self.number[held].tolist(), strict=True))
        heapify(self._queue)
