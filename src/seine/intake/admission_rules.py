"""What admission judges by: the line before, the partition before, or the micro-batch before.

| rule | late against | a promise binds | an arrival's number |
| --- | --- | --- | --- |
| `ByLine` | the largest time before | the lines behind it | one more |
| `ByPartition` | the same in its lane | its partition at once, then the others | offset and partition |
| `ByBatch` | the clock of the batch before | later micro-batches | batch, task, place |

`ByLine` is for what has one reader. `ByPartition` is for topics (`lanes.py`): many tasks judge side by side,
each whole partitions. `ByBatch` is for other sources that Spark reads, whose rows have no order: all tasks
judge by what the micro-batch before left, and rows of one never make each other late.

    batch 1   3  9  5        clock 9
    batch 2   8  4  12       with LATENESS 2: 8 is in time, 4 is late; clock 12
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.definitions import StreamDef
from seine.errors import RunError
from seine.intake.lanes import Partitions, bounds, judge_lanes, with_named
from seine.intake.parsed import ParsedLines
from seine.intake.punctuations import FreshPunctuations, PunctuationProbe, PunctuationStore
from seine.rows.clock import watermark_of
from seine.rows.delta import NEVER

TASK_NUMBERS = 1 << 28  # arrival numbers that a task of a micro-batch has to itself


class Promises(Protocol):
    """The punctuations of one scheme, as tuples and new punctuations are judged by them."""

    def broken(
        self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray
    ) -> IntArray: ...

    def latest_limits(
        self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray
    ) -> IntArray: ...

    def repeated(self, fresh: FreshPunctuations) -> IntArray: ...

    def add(self, fresh: FreshPunctuations, watermark: int, name: Callable[[], str]) -> None: ...

    def forget(self, watermark: int) -> None: ...


class LateTuples(NamedTuple):
    """Which tuples are late, and the clock after them."""

    late: BoolArray
    clock: int


class AdmissionRule(Protocol):
    """What admission of a stream judges by."""

    def late(self, tuples: ParsedLines, alive: BoolArray, clock: int, lateness: int) -> LateTuples:
        """Which of the tuples that are alive are late."""

    def promises(self, kept: PunctuationStore) -> Promises:
        """The punctuations that are kept, as they bind."""

    def partitions(self, numbers: IntArray) -> IntArray | None:
        """Of lines by their numbers the partition, as a number; None if there is none."""

    def arrivals(self, numbers: IntArray, first: int) -> IntArray:
        """Arrival numbers of the lines that are let in."""


class ByLine:
    """One reader sees all lines in their order.

    A late line never raises a running maximum, so the clock before each line is the prefix maximum over all
    that the rules before lateness let pass.
    """

    def late(self, tuples: ParsedLines, alive: BoolArray, clock: int, lateness: int) -> LateTuples:
        times = tuples.time if alive.all() else np.where(alive, tuples.time, NEVER)
        clocks = np.maximum.accumulate(np.concatenate([[clock], times]))
        return LateTuples(alive & (tuples.time < bounds(clocks[:-1], lateness)), int(clocks[-1]))

    def promises(self, kept: PunctuationStore) -> Promises:
        return kept

    def partitions(self, numbers: IntArray) -> IntArray | None:
        return None

    def arrivals(self, numbers: IntArray, first: int) -> IntArray:
        return np.arange(first, first + len(numbers))


class ByBatch:
    """Many tasks judge side by side; what they let in counts for later micro-batches."""

    def __init__(self, place: int = 0) -> None:
        """`place` is that of the task among those of its micro-batch."""
        self._place = place
        self._taken = 0

    def late(self, tuples: ParsedLines, alive: BoolArray, clock: int, lateness: int) -> LateTuples:
        return LateTuples(alive & (tuples.time < watermark_of(clock, lateness)), clock)

    def promises(self, kept: PunctuationStore) -> Promises:
        return _LaterPromises(kept)

    def partitions(self, numbers: IntArray) -> IntArray | None:
        return None

    def arrivals(self, numbers: IntArray, first: int) -> IntArray:
        """Gaps tell the numbers of tasks apart."""
        self._taken += len(numbers)
        if self._taken > TASK_NUMBERS:
            raise RunError(
                f"one task was given more than {TASK_NUMBERS:,} rows of a stream",
                hint="let a micro-batch be smaller, by an option of its format such as maxOffsetsPerTrigger",
            )
        return np.arange(first, first + len(numbers)) + self._place * TASK_NUMBERS


@dataclass(frozen=True)
class RecordOrigins:
    """Where the records of a piece are from, by number from 1 on: the places of their partitions among all
    that there are, and arrival numbers.
    """

    partitions: IntArray
    arrivals: IntArray


NO_ORIGINS = RecordOrigins(np.zeros(0, np.int64), np.zeros(0, np.int64))


class ByPartition:
    """A task judges whole partitions; `begin` says where the records of the next piece are from.

    `clocks` has of each partition the clocks to which its lanes came here, `reached` the largest times that
    were not too far ahead, where the stream has a bound on plain units. `active` are the clocks of those
    partitions that hold back the stream as the micro-batch begins.
    """

    def __init__(self, stream: StreamDef, partitions: Partitions, names: Sequence[str], clock: int) -> None:
        """`names` are the partitions that there are by now, and `clock` is the stream's."""
        known = with_named(partitions, names, clock)
        self._names = [*known]
        self._places = {name: place for place, name in enumerate(known)}
        self.numbers = np.array([one.number for one in known.values()], np.int64)
        self.active = {name: one.clock for name, one in known.items() if not one.is_silent}
        self.partitions_now = {name: one.begun(clock) for name, one in known.items()}
        self.clocks: dict[str, dict[str, int]] = {}
        self.reached: dict[str, dict[str, int]] = {}
        self._column = None if stream.clock_column is None else f"c{stream.clock_column}"
        self._origins = NO_ORIGINS
        self._lane_clocks: dict[str, dict[str, int]] = {}

    def begin(self, origins: RecordOrigins) -> None:
        """What was let in of the last piece counts for this one."""
        for name, clocks in self._lane_clocks.items():
            self.partitions_now[name] = self.partitions_now[name].after(clocks, {}, 0)
            self.clocks[name] = self.clocks.get(name, {}) | clocks
        self._lane_clocks, self._origins = {}, origins

    def end(self) -> None:
        """No piece comes any more."""
        self.begin(NO_ORIGINS)

    def came_to(self) -> dict[str, int]:
        """The clocks of the partitions of which lines were let in here."""
        return {name: self.partitions_now[name].clock for name in self.clocks}

    def place_of(self, name: str) -> int:
        """The place of a partition among all that there are."""
        return self._places[name]

    def late(self, tuples: ParsedLines, alive: BoolArray, clock: int, lateness: int) -> LateTuples:
        late, times = np.zeros(len(tuples), bool), np.where(alive, tuples.time, NEVER)
        self._lane_clocks = {}
        for name, lines, values, codes in self._by_partition(tuples):
            verdict = judge_lanes(self.partitions_now[name], values, codes, times[lines], lateness)
            late[lines] = verdict.late
            if verdict.clocks:
                self._lane_clocks[name] = verdict.clocks
        return LateTuples(late, clock)

    def _by_partition(self, tuples: ParsedLines) -> Iterator[tuple[str, IntArray, list[str], IntArray]]:
        """Of each partition its tuples, their clock values, and which each of them has."""
        partitions, (codes, known) = self.partitions(tuples.numbers), self.values(tuples)
        for place in np.unique(partitions).tolist():
            lines = np.flatnonzero(partitions == place)
            few, codes_here = np.unique(codes[lines], return_inverse=True)
            yield self._names[place], lines, [known[code] for code in few.tolist()], codes_here.reshape(-1)

    def values(self, tuples: ParsedLines) -> tuple[IntArray, list[str]]:
        """The clock values of tuples: which each of them has, and all of them."""
        if self._column is None:
            return np.zeros(len(tuples), np.int64), [""]
        texts = pc.fill_null(tuples.rows.column(self._column).cast(pa.string()), "").dictionary_encode()
        return texts.indices.to_numpy().astype(np.int64), texts.dictionary.to_pylist()

    def reached_of(self, place: int) -> dict[str, int]:
        """The largest times by clock value of a partition, which whoever looks at lines adds to."""
        name = self._names[place]
        return self.reached.setdefault(name, dict(self.partitions_now[name].reached))

    def promises(self, kept: PunctuationStore) -> Promises:
        return _PartitionPromises(kept)

    def partitions(self, numbers: IntArray) -> IntArray:
        places: IntArray = self._origins.partitions[numbers - 1]
        return places

    def arrivals(self, numbers: IntArray, first: int) -> IntArray:
        arrivals: IntArray = first + self._origins.arrivals[numbers - 1]
        return arrivals


class _LaterPromises:
    """What is kept binds; what is new binds later micro-batches."""

    def __init__(self, kept: PunctuationStore) -> None:
        self._kept = kept

    def broken(self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray) -> IntArray:
        return self._kept.broken(probe, None, since[:0])

    def latest_limits(
        self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray
    ) -> IntArray:
        return self._kept.latest_limits(probe, None, since[:0])

    def repeated(self, fresh: FreshPunctuations) -> IntArray:
        return self._kept.repeated(fresh)

    def add(self, fresh: FreshPunctuations, watermark: int, name: Callable[[], str]) -> None:
        """The driver keeps it."""

    def forget(self, watermark: int) -> None:
        """The driver does."""


class _PartitionPromises(_LaterPromises):
    """What is kept binds; what is new binds its own partition at once: the partition is part of its key."""

    def __init__(self, kept: PunctuationStore) -> None:
        super().__init__(kept)
        self._here = PunctuationStore((*kept.types, pa.int64()), {}, kept.forgets)
        self._numbers = count()

    def broken(self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray) -> IntArray:
        broken = super().broken(probe, fresh, since)
        if fresh is None and not self._here.runs:
            return broken
        here = self._here.broken(probe.in_partition, _in_partition(fresh), since)
        return np.union1d(broken, here)

    def latest_limits(
        self, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: IntArray
    ) -> IntArray:
        limits = super().latest_limits(probe, fresh, since)
        here = self._here.latest_limits(probe.in_partition, _in_partition(fresh), since)
        return np.maximum(limits, here)

    def repeated(self, fresh: FreshPunctuations) -> IntArray:
        kept = super().broken(fresh.probe, None, np.zeros(0, np.int64))
        return np.union1d(kept, self._here.repeated(fresh.in_partition))

    def add(self, fresh: FreshPunctuations, watermark: int, name: Callable[[], str]) -> None:
        self._here.add(fresh.in_partition, watermark, lambda: str(next(self._numbers)))


def _in_partition(fresh: FreshPunctuations | None) -> FreshPunctuations | None:
    return None if fresh is None else fresh.in_partition
