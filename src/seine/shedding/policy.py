"""The interface of an eviction policy: it ranks the tuples of a window, and the lowest are evicted.

At an instant, after what expired has left, a policy is called in this order:

    observe   each arrival of the other streams
    refresh   the window: update priorities of what is held
    rank      each arrival of its stream: set its priority
    victims   the slots to be evicted
    end       the instant is over

What it keeps between instants is in the columns of the window or in its `state`.

The window of one stream: the tuples in memory as a struct of arrays, with a heap of their departures.

slot        0    1    2  | 3 ..  free
number      7    9    4  |          columns INTS, FLOATS; `tokens` is a list beside them
leaves     30   12   55  |
heap       (12, 9) (30, 7) (55, 4)

The input and output of a shedder: arrivals with their join keys as tokens, and evictions.

Two tuples join as often as they have *tokens* in common. Of streams that are joined through a relation, a
token is a relation tuple, and a stream tuple has those that it joins with and that are active at its
timestamp: so a result of both tuples is a token that both have (formula 6). Of streams that are joined
directly, a token is a key, and every tuple has one.

Cites: STAR 2.2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np

from seine.algebra.arrays import AnyArray, FloatArray, IntArray

State = dict[str, AnyArray]
Tokens = tuple[int, ...]
INTS = ("number", "ts", "expiry", "leaves", "group")
FLOATS = ("importance", "priority", "matches")
_STALE_ENTRIES = 64  # heap entries of departed tuples, beyond as many as are held, before it is rebuilt
FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class TokenGroups:
    """The groups of a stream: their matches in the other windows, and what this instant added, by number."""

    matches: FloatArray
    fresh: Mapping[int, int]


class Policy:
    """The base of policies, for the window of one stream; as it is, it evicts the oldest."""

    ties: tuple[str, ...] = ("number",)  # columns that decide between equal priorities, the first one first
    counts_matches = False  # whether it needs groups and their match counts
    watches = False  # whether it needs `observe` and `refresh`

    def observe(self, stream: int, tokens: Tokens, importance: float, now: int) -> None:
        """An arrival of another stream at this instant."""

    def refresh(self, window: Window, groups: TokenGroups, now: int) -> None:
        """Update the priorities of the tuples that are held."""

    def rank(self, window: Window, slot: int, groups: TokenGroups) -> None:
        """Set the priority of an arrival, which has a slot already."""

    def victims(self, window: Window, count: int) -> list[int]:
        """The slots of `count` tuples to be evicted: those with the lowest priority, then by `ties`."""
        priority = window.priority[: window.count]
        if count == 1:
            return [self._lowest(window, priority)]
        bound = np.partition(priority, count - 1)[count - 1]
        below, equal = np.flatnonzero(priority < bound), np.flatnonzero(priority == bound)
        order = np.lexsort([getattr(window, name)[equal] for name in self.ties[::-1]])
        slots: list[int] = [*below.tolist(), *equal[order[: count - len(below)]].tolist()]
        return slots

    def _lowest(self, window: Window, priority: FloatArray) -> int:
        """The slot with the lowest priority, then by `ties`."""
        slots = (priority == priority[priority.argmin()]).nonzero()[0]
        if len(slots) == 1:
            return int(slots[0])
        for name in self.ties:
            if len(slots) > 1:
                values = getattr(window, name)[slots]
                slots = slots[values == values[values.argmin()]]
        return int(slots[0])

    def end(self) -> None:
        """The instant is over."""

    def state(self) -> State:
        """What must be saved besides the columns of the window."""
        return {}

    def restore(self, state: State) -> None:
        """Load a saved state."""


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


@dataclass(frozen=True)
class Arrivals:
    """Tuples of one stream, in the order of (timestamp, number).

    `number` identifies a tuple of the stream and grows with every arrival. `expiry` is the end of the window,
    `until` the latest end of the relation tuples that are its tokens: from then on it matches nothing new
    (8). The tokens of tuple i are `tokens[offsets[i] : offsets[i + 1]]`; a tuple without one never enters
    the window.

    Cites: STAR 3.2
    """

    number: IntArray
    ts: IntArray
    expiry: IntArray
    until: IntArray
    importance: FloatArray
    offsets: IntArray
    tokens: IntArray

    def __post_init__(self) -> None:
        count = len(self.number)
        lengths = {len(column) for column in (self.ts, self.expiry, self.until, self.importance)}
        if lengths != {count} or len(self.offsets) != count + 1:
            raise ValueError(f"columns of {count} tuples differ in length")
        if (np.diff(self.ts) < 0).any():
            raise ValueError("tuples are not in the order of event time")

    def __len__(self) -> int:
        return len(self.number)

    def slice(self, begin: int, end: int) -> Arrivals:
        """The arrivals from one place up to another."""
        return Arrivals(
            self.number[begin:end],
            self.ts[begin:end],
            self.expiry[begin:end],
            self.until[begin:end],
            self.importance[begin:end],
            self.offsets[begin : end + 1],
            self.tokens,
        )

    @staticmethod
    def keyed(
        number: IntArray, ts: IntArray, expiry: IntArray, keys: IntArray, importance: FloatArray
    ) -> Arrivals:
        """Tuples of a stream that is joined directly: the token of each is its key."""
        until = np.full(len(number), FOREVER, np.int64)
        return Arrivals(number, ts, expiry, until, importance, np.arange(len(number) + 1), keys)


@dataclass(frozen=True)
class Evictions:
    """Evicted tuples of one stream, and when; for one that was never admitted, `at` is its timestamp.

    Law: a tuple resides in its window during [ts, at), so a pair is emitted iff both arrived in the same
    instant or the older still resides at the timestamp of the younger. Tuples that leave because they
    expired, or because nothing can match them any more, are not among the evicted.
    """

    number: IntArray
    at: IntArray
