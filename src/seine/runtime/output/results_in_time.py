"""The results of several tasks whose records are told in the order of time, as one piece in that order.

    task 0   q1 at 3, q1 at 9, q2 at 4                  q1 at 3, q1 at 5, q1 at 9, q2 at 4
    task 1   q1 at 5                        ────>

Law: the records are those of all pieces; those of a query that has times ascend, and those of others are in
the order in which they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.rows.column_arrays import buffer_of
from seine.runtime.output.task_pieces import TaskPiece, put_piece, text_of
from seine.runtime.output.task_report import ANY_TIME, QueryRanges, WrittenResults
from seine.storage.store import Store

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
