"""What a task reports to the sink: the results that it wrote, what its operators hold, and how long it took.

The results of several tasks whose records are told in the order of time are one piece in that order:

    task 0   q1 at 3, q1 at 9, q2 at 4                  q1 at 3, q1 at 5, q1 at 9, q2 at 4
    task 1   q1 at 5                        ────>

Law: the records of that piece are those of all pieces; those of a query that has times ascend, and those of
others are in the order in which they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from seine.algebra.arrays import AnyArray, IntArray
from seine.operators.limited.join_memory import MemoryAccount
from seine.operators.state.work_budget import NodeWork
from seine.rows.column_arrays import buffer_of
from seine.rows.delta import NEVER
from seine.runtime.output.task_pieces import TaskPiece, put_piece, text_of
from seine.storage.store import Store
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


_PIECES_AT_ONCE = 1 << 16


def in_time(store: Store, entry: int, results: Sequence[WrittenResults]) -> list[WrittenResults]:
    """The results of an entry; if some are not in order, these and what is between them are one piece."""
    timed = [place for place, one in enumerate(results) if one.ranges.packed_times]
    if not timed:
        return [*results]
    joined = results[timed[0] : timed[-1] + 1]
    pieces = _AllPieces(joined)
    is_timed = pieces.times != ANY_TIME
    order = np.lexsort((pieces.times, np.where(is_timed, pieces.queries, 0), is_timed))
    if (order[1:] > order[:-1]).all():
        return [*results]
    texts = pa.concat_arrays([_texts(text_of(store, one.pieces), one.ranges.sizes) for one in joined])
    piece = TaskPiece(put_piece(store, entry, _in_order(texts, order)), int(pieces.sizes.sum()))
    ranges = QueryRanges.of(pieces.queries[order], pieces.sizes[order], pieces.times[order])
    counts, importance = Counter[str](), Counter[str]()
    for one in joined:
        counts.update(one.counts)
        importance.update(one.importance)
    cut = tuple(sorted({query for one in joined for query in one.cut}))
    merged = WrittenResults(
        (piece,), {name: counts[name] for name in pieces.names}, {**importance}, cut, ranges
    )
    return [*results[: timed[0]], merged, *results[timed[-1] + 1 :]]


class _AllPieces:
    """The ranges of several results, end to end; `queries` are numbers of `names`."""

    def __init__(self, results: Sequence[WrittenResults]) -> None:
        self.names = list(dict.fromkeys(name for one in results for name in one.counts))
        numbers = {name: number for number, name in enumerate(self.names)}
        known = [
            np.fromiter(map(numbers.__getitem__, one.counts), np.int64, len(one.counts)) for one in results
        ]
        parts = [number[one.ranges.queries] for number, one in zip(known, results, strict=True)]
        self.queries: IntArray = _together(parts)
        self.sizes: IntArray = _together([one.ranges.sizes for one in results])
        self.times: IntArray = _together([_times(one.ranges) for one in results])


def _times(ranges: QueryRanges) -> AnyArray:
    return ranges.times if ranges.packed_times else np.full(len(ranges.sizes), ANY_TIME)


def _together(parts: Sequence[AnyArray]) -> AnyArray:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _texts(text: memoryview, sizes: AnyArray) -> pa.Array:
    """The parts of a text that have these sizes."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    )


def _in_order(texts: pa.Array, order: IntArray) -> Iterator[memoryview]:
    """Texts in an order, many at once."""
    for start in range(0, len(order), _PIECES_AT_ONCE):
        chosen = texts.take(pa.array(order[start : start + _PIECES_AT_ONCE]))
        length = int(np.frombuffer(buffer_of(chosen, 1), np.int64)[len(chosen)])
        yield buffer_of(chosen, 2)[:length]
