"""What a task reports to the sink: the results that it wrote, and what its operators hold.

The work of the tasks of one micro-batch: how long each stage took, and how many rows nodes sent on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from seine.algebra.arrays import AnyArray
from seine.operators.limited.join_memory import MemoryAccount
from seine.operators.state.work_budget import NodeWork
from seine.rows.delta import NEVER
from seine.runtime.output.task_pieces import TaskPiece
from seine.typed_json import msgpack_decoder

ANY_TIME = NEVER  # of records that may stand anywhere


class QueryRanges(Struct, frozen=True, array_like=True):
    """Consecutive pieces of a file, of records of one query each: its place among those counted, bytes.

    Of queries whose records are told in the order of time, each piece has a time; others have `ANY_TIME`.
    There are no times if no query has.
    """

    packed_queries: bytes
    packed_sizes: bytes
    packed_times: bytes = b""

    @staticmethod
    def of(queries: npt.ArrayLike, sizes: npt.ArrayLike, times: npt.ArrayLike = ()) -> QueryRanges:
        packed = (np.asarray(sizes, np.int64).tobytes(), np.asarray(times, np.int64).tobytes())
        return QueryRanges(np.asarray(queries, np.int32).tobytes(), *packed)

    @property
    def queries(self) -> AnyArray:
        return np.frombuffer(self.packed_queries, np.int32)

    @property
    def sizes(self) -> AnyArray:
        return np.frombuffer(self.packed_sizes, np.int64)

    @property
    def by_query(self) -> QueryRanges:
        """Pieces that touch and are of one query, taken as one.

        >>> merged = QueryRanges.of([4, 4, 2], [10, 20, 5], [1, 2, 1]).by_query
        >>> merged.queries.tolist(), merged.sizes.tolist()
        ([4, 2], [30, 5])
        """
        queries, ends = self.queries, np.cumsum(self.sizes)
        last = np.append(queries[1:] != queries[:-1], True)[: len(queries)]
        return QueryRanges.of(queries[last], np.diff(ends[last], prepend=0))

    @property
    def times(self) -> AnyArray:
        return np.frombuffer(self.packed_times, np.int64)


class WrittenResults(Struct, frozen=True):
    """Pieces with the records of a task, and how many of each query.

    `importance` is the sum over the records of a query, where they have one; the queries in `cut` reached
    their limit in this task, and further records were left out. `ranges` say whose records the pieces have,
    from the beginning of the first to the end of the last.
    """

    pieces: tuple[TaskPiece, ...]
    counts: dict[str, int]
    importance: dict[str, float]
    cut: tuple[str, ...]
    ranges: QueryRanges


class StageReport(Struct, frozen=True):
    """What a stage holds in a bucket, by node: rows for joins, also by port where that is known, groups, and
    punctuations.

    `notices` are what its operators noticed; `memory` is what joins within a memory have come to so far.
    `candidates` and `work` are what nodes have formed and done in this micro-batch.
    """

    state_rows: dict[int, int] = {}
    port_rows: dict[int, list[int]] = {}
    notices: list[str] = []
    memory: dict[int, MemoryAccount] = {}
    group_rows: dict[int, int] = {}
    punctuation_rows: dict[int, int] = {}
    candidates: dict[int, int] = {}
    work: dict[int, NodeWork] = {}
    state_bytes: dict[int, int] = {}


class SourceReport(Struct, frozen=True):
    """What a task let in of a stream that Spark reads: what admission goes on with, and the dead letters.

    `seen` has the largest timestamp of each clock value; `punctuations`, as Arrow, are those that it let in;
    of a topic, `clocks` has by partition to where each clock value came, and `reached` how far lines were
    ahead; `partitions` are all that there are, and `latest` is the largest timestamp that was let in.
    `letters` are pieces with `dead` dead letters, the last with this `reason`.
    """

    stream: str
    place: int  # of the task among those of the micro-batch
    rows: int
    seen: dict[str, int]
    punctuations: bytes = b""
    dead: int = 0
    late: int = 0
    reason: str = ""
    letters: tuple[TaskPiece, ...] = ()
    clocks: dict[str, dict[str, int]] = {}
    reached: dict[str, dict[str, int]] = {}
    partitions: tuple[str, ...] = ()
    latest: int = NEVER


class TaskReport(Struct, frozen=True):
    """One task of an entry: a stage in a bucket, or at stage 0 a slice of the input.

    `seconds` is how long it took, by the wall clock; `emitted` are the rows that each node sent on.
    """

    entry: int
    stage: int
    bucket: int
    results: WrittenResults | None = None
    state: StageReport = StageReport()
    source: SourceReport | None = None
    seconds: float = 0.0
    emitted: dict[int, int] = {}

    @property
    def pieces(self) -> tuple[TaskPiece, ...]:
        """What the task wrote."""
        results = () if self.results is None else self.results.pieces
        return results if self.source is None else (*results, *self.source.letters)

    def packed(self) -> bytes:
        """As MessagePack; `unpacked` is the inverse."""
        return msgspec.msgpack.encode(self)

    @staticmethod
    def unpacked(blob: bytes) -> TaskReport:
        return _DECODER.decode(blob)


_DECODER = msgpack_decoder(TaskReport)


@dataclass(frozen=True)
class BatchWork:
    """`stages` has the seconds of the longest task of each stage, stage 0 reads; `sent` is by node."""

    stages: Mapping[int, float] = field(default_factory=dict)
    sent: Mapping[int, int] = field(default_factory=dict)


def batch_work(reports: Iterable[TaskReport]) -> BatchWork:
    """What the tasks of a micro-batch have reported.

    >>> batch_work([TaskReport(1, 0, 0, seconds=0.5, emitted={7: 2}), TaskReport(1, 0, 1, emitted={7: 3})])
    BatchWork(stages={0: 0.5}, sent={7: 5})
    """
    stages: dict[int, float] = {}
    sent: Counter[int] = Counter()
    for report in reports:
        stages[report.stage] = max(report.seconds, stages.get(report.stage, 0.0))
        sent.update(report.emitted)
    return BatchWork(stages, dict(sent))
