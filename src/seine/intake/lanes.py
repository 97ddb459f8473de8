"""Lateness by partition: the running maximum of a stream by line, for a topic that many tasks read.

A *lane* is a partition and a clock value. Without a clock column each partition is one lane.

    bids/0   7  9  6          with LATENESS 2: 6 is late, it is judged by 9
    bids/1   3  4             in time: what bids/0 has sent is nothing to it; the stream's clock is 4

A record is late against the larger of its lane's largest time so far and its partition's *floor*. A lane that
is new, or was silent, begins at its partition's clock, the least over its lanes. A partition that is new, or
was silent, begins at the stream's clock in the entry that first has it: its floor. The stream's clock is the
least over the partitions that are not silent, and one that never sent holds it back until it is.

Law: what becomes of a record follows from those before it in its partition, and from entries that note a new
partition or silence; never from how micro-batches and tasks were cut. And no record that is let in is behind
a clock of the stream from before.

Proof: a lane never falls, and begins at its partition's clock or later, so no partition's clock falls; a
partition begins at the stream's clock or later, so neither does that. A later record of a lane is at its
clock less LATENESS or later, which is at its partition's, which is at the stream's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappush, heapreplace
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from seine.algebra.arrays import BoolArray, IntArray
from seine.rows.delta import FOREVER, NEVER

_MOST_LOOKS = 16  # at all lines of a partition at once, before they are judged one after the other


class Lane(Struct, frozen=True, array_like=True):
    """The clock of a lane, and when it sent last, by the wall clock in microseconds."""

    clock: int
    heard: int = 0
    silent: bool = False


class Partition(Struct, frozen=True, array_like=True):
    """The lanes of a partition by clock value; until there are some, when it was named and whether that is
    too long ago.

    Its `number` among those of the stream stays. `reached` has the largest time by clock value of all lines
    that were not too far ahead, where a bound asks for it.
    """

    number: int = 0
    floor: int = NEVER
    heard: int = 0
    silent: bool = False
    lanes: dict[str, Lane] = {}
    reached: dict[str, int] = {}

    @property
    def is_silent(self) -> bool:
        """Whether it is left out of the least."""
        return all(lane.silent for lane in self.lanes.values()) if self.lanes else self.silent

    @property
    def clock(self) -> int:
        """The least over its lanes that are not silent; its floor if there is none."""
        active = (lane.clock for lane in self.lanes.values() if not lane.silent)
        return max(self.floor, min(active, default=NEVER))

    def begun(self, stream_clock: int) -> Partition:
        """As a micro-batch begins with it: one that was silent goes on at the stream's clock."""
        return replace(self, floor=max(self.floor, stream_clock)) if self.is_silent else self

    def after(self, clocks: Mapping[str, int], reached: Mapping[str, int], wall: int) -> Partition:
        """After lines of a micro-batch, with which lanes came to these clocks."""
        lanes = {value: Lane(clock, wall) for value, clock in clocks.items()}
        return replace(self, lanes=self.lanes | lanes, reached={**self.reached, **reached})

    def left_out(self, wall: int, idle: int) -> Partition:
        """With those lanes silent that were for so long; they stay so until they send."""
        lanes = {
            value: lane if lane.silent or wall - lane.heard < idle else replace(lane, silent=True)
            for value, lane in self.lanes.items()
        }
        return replace(self, lanes=lanes, silent=self.silent or wall - self.heard >= idle)


Partitions = Mapping[str, Partition]


def with_named(
    partitions: Partitions, names: Iterable[str], clock: int, wall: int = 0
) -> dict[str, Partition]:
    """The partitions that there are, as `topic/number`; those that are new begin at the stream's clock.

    Numbers are those of the topic while no other topic has them.

    >>> known = with_named({"bids/0": Partition(0, 5)}, ["bids/0", "bids/1", "more/1"], 7)
    >>> [(one.number, one.clock) for one in known.values()]
    [(0, 5), (1, 7), (2, 7)]
    """
    known, taken = dict(partitions), {one.number for one in partitions.values()}
    for name in names:
        if name not in known:
            in_topic = int(name.rpartition("/")[2])
            number = max(taken) + 1 if in_topic in taken else in_topic
            known[name] = Partition(number, clock, wall)
            taken.add(number)
    return known


def stream_clock(partitions: Partitions, before: int) -> int:
    """The clock of the stream; where all are silent the largest of any lane. It never falls.

    >>> two = {"a": Partition(lanes={"": Lane(9)}), "b": Partition(lanes={"": Lane(4)})}
    >>> stream_clock(two, NEVER), stream_clock(two, 6)
    (4, 6)
    """
    active = [one.clock for one in partitions.values() if not one.is_silent]
    if active:
        return max(before, min(active))
    return max([before, *(lane.clock for one in partitions.values() for lane in one.lanes.values())])


class LaneVerdict(NamedTuple):
    """Which lines of a partition are late, and the clocks of the lanes in which a line was let in."""

    late: BoolArray
    clocks: dict[str, int]


def judge_lanes(
    partition: Partition, values: Sequence[str], codes: IntArray, times: IntArray, lateness: int
) -> LaneVerdict:
    """Judge lines of one partition in their order; a line that is dead already has the time NEVER.

    `values[codes[i]]` is the clock value of line i.

    >>> judge = judge_lanes(Partition(), [""], np.zeros(4, np.int64), np.array([7, 9, 6, 8]), 2)
    >>> judge.late.tolist(), judge.clocks
    ([False, False, True, False], {'': 9})
    """
    lanes = _Lanes.of(partition, values, codes, times)
    births, starts = _births(lanes, lateness)
    places = np.arange(len(times))
    marks = np.maximum(starts[codes], lanes.before)
    late = (times != NEVER) & ((places < births[codes]) | (times < bounds(marks, lateness)))
    accepted = np.zeros(len(values), bool)
    accepted[codes[(times != NEVER) & ~late]] = True
    clocks = np.maximum(starts, lanes.last)
    return LaneVerdict(late, {values[lane]: int(clocks[lane]) for lane in np.flatnonzero(accepted).tolist()})


def bounds(clocks: IntArray, lateness: int) -> IntArray:
    """The earliest times that are in time by these clocks."""
    lateness = min(lateness, FOREVER)
    return np.where(clocks < NEVER + lateness, NEVER, clocks - lateness)


class _Lanes(NamedTuple):
    """Lines of a partition with what their lanes had before; `others` is the least of the other lanes.

    `known` is the clock of each lane, `active` whether it holds its partition back. `after` is the largest
    time of the lane up to a line, `before` without it, `next` the place of the lane's next line, `first` that
    of its first. `last` is the largest time of each lane.
    """

    floor: int
    others: int
    active: BoolArray
    known: IntArray
    codes: IntArray
    times: IntArray
    before: IntArray
    after: IntArray
    next: IntArray
    first: IntArray
    last: IntArray

    @staticmethod
    def of(partition: Partition, values: Sequence[str], codes: IntArray, times: IntArray) -> _Lanes:
        count, lanes = len(times), [partition.lanes.get(value) for value in values]
        known = np.array([NEVER if lane is None else lane.clock for lane in lanes], np.int64)
        active = np.array([lane is not None and not lane.silent for lane in lanes], bool)
        here = set(values)
        others = [
            lane.clock for value, lane in partition.lanes.items() if value not in here and not lane.silent
        ]
        order = np.argsort(codes, kind="stable")
        grouped = codes[order]
        same = np.zeros(count, bool)
        same[1:] = grouped[1:] == grouped[:-1]
        highest = np.maximum(_running(grouped, times[order]), known[grouped])
        after, before = np.empty(count, np.int64), np.empty(count, np.int64)
        after[order] = highest
        before[order] = np.where(same, np.roll(highest, 1), known[grouped])
        following = np.full(count, count)
        following[order[:-1]] = np.where(same[1:], order[1:], count)
        first = np.full(len(values), count)
        first[grouped[~same]] = order[~same]
        last = known.copy()
        np.maximum.at(last, codes, after)
        floor, least = partition.floor, min(others, default=FOREVER)
        return _Lanes(floor, least, active, known, codes, times, before, after, following, first, last)


def _running(groups: IntArray, times: IntArray) -> IntArray:
    """The running maximum of each group; groups ascend."""
    ranks = np.unique(times, return_inverse=True)
    # Groups ascend, so adding a multiple of them makes one running maximum restart at each.
    base = groups * len(ranks[0])
    highest: IntArray = ranks[0][np.maximum.accumulate(base + ranks[1].reshape(-1)) - base]
    return highest


def _births(lanes: _Lanes, lateness: int) -> tuple[IntArray, IntArray]:
    """The line with which each lane begins to hold its partition back, -1 if it did, and the clock there.

    Whether a line begins a lane depends on the partition's clock before it, and so on the lanes before. A
    clock from which lanes are missing is too high. So it is looked again until nothing changes, each time by
    the clock that follows from the lanes which the last look found: it sinks to the right one, for the first
    line at which it is too high has all lanes before it.
    """
    count = len(lanes.times)
    clocks = np.where(lanes.active, np.maximum(lanes.known, lanes.floor), NEVER)
    births = np.where(lanes.active, -1, count)
    if lanes.active.all():
        return births, clocks
    alive, new = lanes.times != NEVER, ~lanes.active[lanes.codes]
    first = -1  # the line of the first lane, if there was none: until then the clock is the floor
    if lanes.others == FOREVER and not lanes.active.any():
        floors = np.maximum(lanes.floor, lanes.known[lanes.codes])
        begins = np.flatnonzero(alive & (lanes.times >= bounds(floors, lateness)))
        if not len(begins):
            return births, clocks
        first = int(begins[0])
        births[lanes.codes[first]], clocks[lanes.codes[first]] = first, lanes.floor
    places = np.arange(count)
    for _ in range(_MOST_LOOKS):
        partition = _clock_before(lanes, births, clocks)
        partition[: first + 1] = lanes.floor
        marks = np.maximum(partition[:count], lanes.known[lanes.codes])
        begins = np.flatnonzero(alive & new & (lanes.times >= bounds(marks, lateness)))
        births_seen = np.where(lanes.active, -1, count)
        np.minimum.at(births_seen, lanes.codes[begins], places[begins])
        began = np.maximum(partition[np.minimum(births_seen, count)], lanes.known)
        starts = np.where(lanes.active, clocks, np.where(births_seen < count, began, NEVER))
        if np.array_equal(births_seen, births) and np.array_equal(starts, clocks):
            return births, clocks
        births, clocks = births_seen, starts
    return _births_in_order(lanes, lateness)


def _births_in_order(lanes: _Lanes, lateness: int) -> tuple[IntArray, IntArray]:
    """What `_births` finds, line by line: in a chain of lanes each keeps the next in time, and takes a look.

    The heap has a clock of each lane that holds the partition back, perhaps one from before.
    """
    births = np.where(lanes.active, -1, len(lanes.times))
    starts = np.where(lanes.active, np.maximum(lanes.known, lanes.floor), NEVER)
    now = {lane: int(starts[lane]) for lane in np.flatnonzero(lanes.active).tolist()}
    heap = [(clock, lane) for lane, clock in now.items()]
    heapify(heap)
    known, lateness = lanes.known.tolist(), min(lateness, FOREVER)
    for place, (lane, time) in enumerate(zip(lanes.codes.tolist(), lanes.times.tolist(), strict=True)):
        if time == NEVER:
            continue
        if lane in now:
            now[lane] = max(now[lane], time)
            continue
        while heap and heap[0][0] < now[heap[0][1]]:
            heapreplace(heap, (now[heap[0][1]], heap[0][1]))
        least = min(lanes.others, heap[0][0] if heap else FOREVER)
        start = max(lanes.floor, NEVER if least == FOREVER else least, known[lane])
        if time >= max(NEVER, start - lateness):
            births[lane], starts[lane], now[lane] = place, start, max(start, time)
            heappush(heap, (now[lane], lane))
    return births, starts


def _clock_before(lanes: _Lanes, births: IntArray, clocks: IntArray) -> IntArray:
    """The partition's clock before each line, and after all of them.

    A lane holds it back from its birth on; but one that is born later is not behind the clock of now, so
    for each line the least is taken over all that lanes have then or later.
    """
    count = len(lanes.times)
    least = np.full(count + 1, lanes.others)
    born = np.arange(count) >= births[lanes.codes]
    held = np.maximum(clocks[lanes.codes], lanes.after)
    np.minimum.at(least, lanes.next[born], held[born])
    np.minimum.at(least, lanes.first[lanes.active], clocks[lanes.active])
    before: IntArray = np.maximum(np.minimum.accumulate(least[::-1])[::-1], lanes.floor)
    return before
