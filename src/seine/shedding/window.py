"""The tuples of one stream that memory holds, as columns of slots."""

from __future__ import annotations

import numpy as np

from seine.shedding.arrivals import FOREVER, Arrivals, Floats, Ints

COLUMNS = {
    "number": np.int64,
    "ts": np.int64,
    "expiry": np.int64,
    "leaves": np.int64,
    "importance": np.float64,
    "group": np.int64,
    "matches": np.float64,
    "priority": np.float64,
}


class Window:
    """Slots 0 to count - 1 are taken; the last one moves to where one becomes free.

    `leaves` is when a tuple goes by itself: it expires, or nothing new can match it. `matches` and
    `priority` are what a policy keeps there.
    """

    number: Ints
    ts: Ints
    expiry: Ints
    leaves: Ints
    importance: Floats
    group: Ints
    matches: Floats
    priority: Floats

    def __init__(self) -> None:
        self.count = 0
        self._next = FOREVER  # no tuple leaves by itself before
        for name, kind in COLUMNS.items():
            setattr(self, name, np.zeros(16, kind))

    def add(self, arrivals: Arrivals, groups: list[int]) -> None:
        """Put arrivals into the slots behind the last."""
        begin, end = self.count, self.count + len(arrivals)
        self._reserve(end)
        self.number[begin:end] = arrivals.number
        self.ts[begin:end] = arrivals.ts
        self.expiry[begin:end] = arrivals.expiry
        self.leaves[begin:end] = leaves = np.minimum(arrivals.expiry, arrivals.until)
        self.importance[begin:end] = arrivals.importance
        self.group[begin:end] = groups
        self.count = end
        self._next = min(self._next, int(leaves.min()))

    def remove(self, slots: list[int]) -> None:
        """Free some slots; the highest goes first, so that none of them moves before its turn."""
        for slot in sorted(slots, reverse=True):
            self.count -= 1
            if slot != self.count:
                for name in COLUMNS:
                    column = getattr(self, name)
                    column[slot] = column[self.count]

    def leaving(self, now: int) -> list[int]:
        """The slots of tuples that leave by themselves at this instant or before."""
        if now < self._next:
            return []
        leaves = self.leaves[: self.count]
        gone = leaves <= now
        staying = leaves[~gone]
        self._next = int(staying.min()) if len(staying) else FOREVER
        found: list[int] = np.flatnonzero(gone).tolist()
        return found

    def state(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name)[: self.count].copy() for name in COLUMNS}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.count = len(state["number"])
        for name, kind in COLUMNS.items():
            setattr(self, name, state[name].astype(kind))
        self._next = int(self.leaves.min()) if self.count else FOREVER

    def _reserve(self, size: int) -> None:
        for name in COLUMNS:
            column = getattr(self, name)
            if len(column) < size:
                setattr(
                    self, name, np.concatenate([column, np.zeros(max(size, 2 * len(column)), column.dtype)])
                )
