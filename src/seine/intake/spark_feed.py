"""The driver's side of a stream that Spark reads: what its tasks reported, and what the next ones go on with.

No line of it comes here. After each micro-batch the reports of its tasks move the clocks, and what admission
goes on with becomes part of the next entry, before Spark begins the next micro-batch:

    entry 7 (clock 12) -> tasks of batch 7 let in, report 15 and 19 -> entry 8 (clock 19) -> ...

The clock of a topic is the least over its partitions (`lanes.py`), that of another source with a clock column
the least over the values of that column; a partition or value that has been silent for as long as the stream
has patience is left out until it sends again. A clock never falls.

The streams that Spark reads for a pipeline: each is a branch of the plan, beside the journal's.

A pipeline has the same branches from its first micro-batch to its last. When others are wanted, it hands its
state over to a pipeline that has them, and a branch that both have goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from seine.algebra.definitions import StreamDef
from seine.errors import RunError
from seine.intake.admission import Admission, Admitted
from seine.intake.admission_rules import TASK_NUMBERS
from seine.intake.feed import Feed
from seine.intake.guarded_source import Surroundings
from seine.intake.intake_state import LineCounts, SparkState, StreamState
from seine.intake.lanes import stream_clock, with_named
from seine.intake.stream_status import SourceCondition, StreamStatus
from seine.rows.arrow_ipc import read_ipc
from seine.rows.clock import largest
from seine.rows.delta import NEVER

_MOST_CLOCK_VALUES = 100_000  # of a stream: they are in every entry


class TaskOutcome(Protocol):
    """What a task reports of a stream that it read: see `SourceReport`."""

    @property
    def stream(self) -> str: ...
    @property
    def place(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def seen(self) -> dict[str, int]: ...
    @property
    def punctuations(self) -> bytes: ...
    @property
    def dead(self) -> int: ...
    @property
    def late(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def clocks(self) -> dict[str, dict[str, int]]: ...
    @property
    def reached(self) -> dict[str, dict[str, int]]: ...
    @property
    def partitions(self) -> tuple[str, ...]: ...
    @property
    def latest(self) -> int: ...


class SparkFeed(Feed):
    """A feed without lines: a stream's clocks and promises between two micro-batches.

    It ends when it is said to be `at_end`: its tasks may find more.
    """

    def __init__(
        self,
        stream: StreamDef,
        state: StreamState | None,
        runs: Mapping[str, pa.RecordBatch],
        surroundings: Surroundings,
    ) -> None:
        state = state or StreamState()
        super().__init__(stream, state, Admission(stream, state.admission, runs), surroundings)
        self.spark = state.spark or SparkState()
        self.at_end = False
        self._opened = surroundings.wall()
        self.known_watermark = self.admission.watermark  # what stages know of it
        self.state()

    @property
    def waiting(self) -> bool:
        return False

    @property
    def ended(self) -> bool:
        return self.at_end

    @property
    def condition(self) -> SourceCondition:
        idle = self._idle_since
        return SourceCondition("running", self._opened) if idle is None else SourceCondition("idle", idle)

    def reach(self) -> int | None:
        return None

    def take(self, horizon: int) -> list[Admitted]:
        return []

    def close(self) -> None:
        """Its tasks read it."""

    def begin(self, entry: int) -> None:
        """It is a stream from this entry on."""
        self.spark = replace(self.spark, born=entry)
        self.state()  # for whoever asks before that entry

    @property
    def branch(self) -> SourceBranch:
        return SourceBranch(self.stream.name, self.spark.born)

    @property
    def latest(self) -> int:
        """The largest timestamp of an accepted tuple; NEVER before the first."""
        return max([self.spark.largest, *self.spark.clocks.values()])

    def take_outcomes(self, outcomes: Sequence[TaskOutcome], wall: int) -> None:
        """Go on from what the tasks of a micro-batch report; `wall` is the wall clock in microseconds."""
        if not outcomes:
            return
        self._count(outcomes)
        if any(one.rows or one.dead for one in outcomes):
            self._heard = wall
        rows = self.spark.rows + sum(one.rows for one in outcomes)
        latest = max(self.spark.largest, *(one.latest for one in outcomes))
        self.spark = replace(self.spark, rows=rows, largest=latest)
        if self.stream.by_partition:
            self._take_partitions(outcomes, wall)
        else:
            self._take_values(largest(one.seen for one in outcomes), wall)
            self.admission.arrivals += (max(one.place for one in outcomes) + 1) * TASK_NUMBERS
        self.known_watermark = self.admission.watermark
        batches = [read_ipc(pa.py_buffer(one.punctuations)) for one in outcomes if one.punctuations]
        self.admission.keep_punctuations(pa.concat_batches(batches) if batches else None)

    def _take_partitions(self, outcomes: Sequence[TaskOutcome], wall: int) -> None:
        clock = self.admission.clock
        partitions = with_named(self.spark.partitions, outcomes[0].partitions, clock, wall)
        for one in outcomes:
            for name, clocks in one.clocks.items():
                partitions[name] = partitions[name].begun(clock).after(clocks, {}, wall)
            for name, reached in one.reached.items():
                partitions[name] = partitions[name].after({}, reached, wall)
        self._refuse_many(sum(len(one.lanes) for one in partitions.values()))
        self.spark = replace(self.spark, partitions=partitions)
        self._advance()

    def _take_values(self, seen: Mapping[str, int], wall: int) -> None:
        clocks = largest([self.spark.clocks, seen])
        self._refuse_many(len(clocks))
        heard = {**self.spark.heard, **dict.fromkeys(seen, wall)}
        silent = tuple(value for value in self.spark.silent if value not in seen)
        self.spark = replace(self.spark, clocks=clocks, heard=heard, silent=silent)
        self._advance()

    def _refuse_many(self, values: int) -> None:
        if values > _MOST_CLOCK_VALUES:
            message = (
                f"the clock column of stream {self.stream.name} has more than {_MOST_CLOCK_VALUES:,} values"
            )
            raise RunError(message, hint="choose a column with few values")

    def _count(self, outcomes: Sequence[TaskOutcome]) -> None:
        counts = self._counts
        dead, late = sum(one.dead for one in outcomes), sum(one.late for one in outcomes)
        reasons = [one.reason for one in outcomes if one.reason]
        last = reasons[-1] if reasons else counts.last_reason
        self._counts = LineCounts(counts.dead + dead, counts.late + late, last)

    def _advance(self) -> None:
        self.admission.clock = self._clock_of(self.spark)

    def _clock_of(self, spark: SparkState) -> int:
        """The least over those that are not left out; of all that are, the largest. It never falls."""
        before = self.admission.clock
        if self.stream.by_partition:
            return stream_clock(spark.partitions, before)
        return max(before, min(spark.active.values(), default=max(spark.clocks.values(), default=NEVER)))

    def _without_silent(self, wall: int) -> SparkState:
        """The state once those are left out that are idle at this wall clock."""
        patience, spark = self.stream.patience, self.spark
        if patience is None:
            return spark
        if self.stream.by_partition:
            left = {name: one.left_out(wall, patience) for name, one in spark.partitions.items()}
            return replace(spark, partitions=left)
        if self.stream.clock_column is None:
            return spark
        silent = sorted(value for value, heard in spark.heard.items() if wall - heard >= patience)
        return replace(spark, silent=tuple(silent))

    def leave_out_silent(self, wall: int) -> None:
        """Leave out the partitions or clock values that are idle now."""
        self.spark = self._without_silent(wall)
        self._advance()

    def would_rise(self, wall: int) -> bool:
        """Whether leaving out who is idle now would move the clock."""
        return self._clock_of(self._without_silent(wall)) > self.admission.clock

    def state(self) -> StreamState:
        admission = self.admission.state()
        self.last_state = StreamState({}, admission, self._counts, self.latest, self._heard, spark=self.spark)
        return self.last_state

    def status(
        self,
        state: StreamState,
        watermark: int,
        holds_back: tuple[str, ...],
        look: bool = True,
        stuck_for: float | None = None,
    ) -> StreamStatus:
        """Its status, as of the entry that has this state and watermark."""
        known = super().status(state, watermark, holds_back, look=False)
        spark = state.spark or SparkState()
        silent = [name for name, one in spark.partitions.items() if one.is_silent or not one.lanes]
        return replace(known, arrivals=spark.rows, silent=tuple(silent))


class SourceBranch(Struct, frozen=True):
    """A stream that Spark reads, and the entry with which it began: one of the same name may have gone."""

    stream: str
    born: int = 0


class PipelineShape(Struct, frozen=True):
    """What the plan of a pipeline depends on, beside its buckets: stages and branches."""

    depth: int = 0
    branches: tuple[SourceBranch, ...] = ()
