"""The results of several tasks whose records are told in the order of time, as one file in that order.

    task 0   q1 at 3, q1 at 9, q2 at 4                  q1 at 3, q1 at 5, q1 at 9, q2 at 4
    task 1   q1 at 5                        ────>

Law: the records are those of all files; those of a query that has times ascend, and those of others are in
the order in which they were.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.rows.column_arrays import buffer_of
from seine.runtime.output.task_report import ANY_TIME, QueryRanges, WrittenResults

_NAME = "in-time"
_PIECES_AT_ONCE = 1 << 16


def in_time(folder: str, results: Sequence[WrittenResults]) -> list[WrittenResults]:
    """The results of a micro-batch; if some are not in order, these and what is between them are one file of
    the same folder.
    """
    timed = [place for place, one in enumerate(results) if one.ranges.packed_times]
    if not timed:
        return [*results]
    joined = results[timed[0] : timed[-1] + 1]
    pieces = _AllPieces(joined)
    is_timed = pieces.times != ANY_TIME
    order = np.lexsort((pieces.times, np.where(is_timed, pieces.queries, 0), is_timed))
    if (order[1:] > order[:-1]).all():
        return [*results]
    texts = pa.concat_arrays([_texts(os.path.join(folder, one.file), one.ranges.sizes) for one in joined])
    with open(os.path.join(folder, _NAME), "wb") as file:
        for start in range(0, len(order), _PIECES_AT_ONCE):
            chosen = texts.take(pa.array(order[start : start + _PIECES_AT_ONCE]))
            length = int(np.frombuffer(buffer_of(chosen, 1), np.int64)[len(chosen)])
            file.write(buffer_of(chosen, 2)[:length])
    ranges = QueryRanges.of(pieces.queries[order], pieces.sizes[order], pieces.times[order])
    counts, importance = Counter[str](), Counter[str]()
    for one in joined:
        counts.update(one.counts)
        importance.update(one.importance)
    cut = tuple(sorted({query for one in joined for query in one.cut}))
    merged = WrittenResults(_NAME, {name: counts[name] for name in pieces.names}, {**importance}, cut, ranges)
    return [*results[: timed[0]], merged, *results[timed[-1] + 1 :]]


class _AllPieces:
    """The pieces of several files, end to end; `queries` are numbers of `names`."""

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


def _texts(path: str, sizes: AnyArray) -> pa.Array:
    """The pieces of a file."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    with pa.memory_map(path) as file:
        content = file.read_buffer()
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(sizes), [None, pa.py_buffer(offsets), content]
    )
