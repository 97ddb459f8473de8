"""The tuples of one stream that memory holds, as columns of slots."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np

from seine.algebra.arrays import IntArray
from seine.shedding.arrivals import Floats, Ints

INTS = ("number", "ts", "expiry", "leaves", "group")
FLOATS = ("importance", "priority", "matches")
_SPARE = 64  # entries of tuples that are gone, beyond as many as are held, before the queue is made anew


class Window:
    """Slots 0 to count - 1 are taken; the last one moves to where one becomes free.

    `leaves` is when a tuple goes by itself: it expires, or nothing new can match it. `group` is that of its
    tokens, where matches are counted. `priority` and `matches` are what a policy keeps there.
    """

    number: Ints
    ts: Ints
    expiry: Ints
    leaves: Ints
    group: Ints
    importance: Floats
    priority: Floats
    matches: Floats

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
        """Put a tuple into the slot behind the last."""
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
        """Free some slots; the highest goes first, so that none of them moves before its turn."""
        for slot in sorted(slots, reverse=True):
            self.count -= 1
            del self._slots[self.number.item(slot)]
            tokens = self.tokens.pop()
            if slot != self.count:
                self.tokens[slot] = tokens
                self._ints[:, slot] = self._ints[:, self.count]
                self._floats[:, slot] = self._floats[:, self.count]
                self._slots[self.number.item(slot)] = slot
        if len(self._queue) > 2 * self.count + _SPARE:
            self._queue_all()

    def leaving(self, now: int) -> list[int]:
        """The slots of tuples that leave by themselves at this instant or before."""
        found = []
        while self._queue and self._queue[0][0] <= now:
            slot = self._slots.get(heappop(self._queue)[1])
            if slot is not None:
                found.append(slot)
        return found

    def state(self) -> dict[str, IntArray]:
        held = {name: getattr(self, name)[: self.count].copy() for name in (*INTS, *FLOATS)}
        ends = np.cumsum([0, *map(len, self.tokens)])
        return {**held, "ends": ends, "tokens": np.array([t for some in self.tokens for t in some], np.int64)}

    def restore(self, state: dict[str, IntArray]) -> None:
        self.count = len(state["number"])
        room = max(16, self.count)
        ints, floats = np.zeros((len(INTS), room), np.int64), np.zeros((len(FLOATS), room))
        ints[:, : self.count] = [state[name] for name in INTS]
        floats[:, : self.count] = [state[name] for name in FLOATS]
        self._take(ints, floats)
        tokens = state["tokens"].tolist()
        self.tokens = [tuple(tokens[begin:end]) for begin, end in pairwise(state["ends"].tolist())]
        self._slots = {number: slot for slot, number in enumerate(state["number"].tolist())}
        self._queue_all()

    def _take(self, ints: Ints, floats: Floats) -> None:
        self._ints, self._floats = ints, floats
        for name, column in zip((*INTS, *FLOATS), (*ints, *floats), strict=True):
            setattr(self, name, column)

    def _queue_all(self) -> None:
        held = slice(0, self.count)
        self._queue = list(zip(self.leaves[held].tolist(), self.number[held].tolist(), strict=True))
        heapify(self._queue)
