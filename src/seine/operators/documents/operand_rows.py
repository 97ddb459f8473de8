"""The columns of rows between the nodes that join documents.

    operand   what a witness node gives, and a document join takes: a document (or a partial combination) with
              its witnesses, (pattern, hash of a string value), as two lists of equal length
    pair      what a document join gives, and a complete node takes: two operands and the classes of queries
              that may want them
    result    what a complete node gives: a binding with its output document; `tag` says for which form

`arrival` is the epoch of the earliest document, for births of queries; `latest` that of the last, in which a
combination comes to be.

Pairs of documents as rows, a bounded number of bytes at once: texts may be large, and pairs are many.

    documents   a1 10 MB, a2 1 KB        pairs   (a1, b1) (a1, b2) | (a2, b1) (a2, b2)       | a new batch
                b1 30 MB, b2 20 MB

What each batch holds is put down to the classes that want it before it is gathered: if a node emits too
much, the queries of the heaviest classes fail, and nobody else.

For which tags, and so for whom, a shared node of documents emits bytes.

tag 25 (q4)    900,000,000 bytes          over the budget: q4 fails, the others go on
tag 31 (q5)         12,000 bytes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.types import BIGINT, JSON, NUMBERS, STRING, Type
from seine.graph.parameter_table import ParameterTable
from seine.operators.state.sorted_run import take_rows

# an operand
CONTENT, IDENTITY, ARRIVAL, LATEST, PATTERNS, VALUES = range(6)
OPERAND: tuple[Type, ...] = (STRING, BIGINT, BIGINT, BIGINT, NUMBERS, NUMBERS)

# a pair
(
    PAIR_APART,
    PAIR_ARRIVAL,
    PAIR_LATEST,
    PAIR_LEFT_TIME,
    PAIR_RIGHT_TIME,
    PAIR_CLASSES,
    PAIR_LEFT,
    PAIR_RIGHT,
    PAIR_LEFT_IDENTITY,
    PAIR_RIGHT_IDENTITY,
) = range(10)
PAIR: tuple[Type, ...] = (BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, NUMBERS, STRING, STRING, BIGINT, BIGINT)

# a result
TAG, APART, RESULT_ARRIVAL, RESULT_LATEST, LEFT_TIME, RIGHT_TIME, BINDINGS, DOCUMENT = range(8)


def result_types(time: Type) -> tuple[Type, ...]:
    """The types of a result, with times of this type."""
    return (BIGINT, BIGINT, BIGINT, BIGINT, time, time, JSON, STRING)


def column(position: int) -> str:
    """The name of a column.

    >>> column(CONTENT)
    'c0'
    """
    return f"c{position}"


MOST_BYTES_AT_ONCE = 64_000_000  # of the texts of pairs in one batch, unless it is one pair


class ListedClasses(NamedTuple):
    """The classes of pairs: those of pair i are at [offsets[i], offsets[i + 1]), places among `tags`."""

    tags: IntArray
    places: IntArray
    offsets: IntArray

    def lists(self, begin: int, end: int) -> pa.ListArray:
        """The tags of some pairs."""
        inner = self.offsets[begin : end + 1]
        values = self.tags[self.places[inner[0] : inner[-1]]]
        return pa.ListArray.from_arrays(pa.array((inner - inner[0]).astype(np.int32)), pa.array(values))

    def bytes_by_tag(self, begin: int, end: int, sizes: IntArray) -> dict[int, int]:
        """How many bytes some pairs, which have these sizes, have for each class."""
        inner = self.offsets[begin : end + 1]
        total = np.bincount(self.places[inner[0] : inner[-1]], weights=np.repeat(sizes, np.diff(inner)))
        wanted = np.flatnonzero(total)
        return dict(zip(self.tags[wanted].tolist(), total[wanted].tolist(), strict=True))


def bounded_pairs(
    documents: tuple[pa.RecordBatch, pa.RecordBatch],
    places: tuple[IntArray, IntArray],
    classes: ListedClasses,
    account: TagBytes,
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch, pa.ListArray]]:
    """The two documents of each pair, which are at some places, and the tags of its classes, in batches."""
    texts = [_text_sizes(batch)[at] for batch, at in zip(documents, places, strict=True)]
    sizes = texts[0] + texts[1]
    for begin, end in bounded_slices(sizes):
        account.add(classes.bytes_by_tag(begin, end, sizes[begin:end]))
        mine, theirs = (take_rows(batch, at[begin:end]) for batch, at in zip(documents, places, strict=True))
        yield mine, theirs, classes.lists(begin, end)


def bounded_slices(sizes: IntArray) -> Iterator[tuple[int, int]]:
    """Slices that have a bounded number of bytes each, or are one row.

    >>> [*bounded_slices(np.array([10, 90_000_000, 20, 64_000_000]))]
    [(0, 1), (1, 2), (2, 3), (3, 4)]
    """
    ends, begin = np.cumsum(sizes), 0
    while begin < len(sizes):
        room = MOST_BYTES_AT_ONCE + (int(ends[begin - 1]) if begin else 0)
        end = max(int(np.searchsorted(ends, room, "right")), begin + 1)
        yield begin, end
        begin = end


def _text_sizes(batch: pa.RecordBatch) -> IntArray:
    sizes: IntArray = pc.binary_length(batch[column(CONTENT)]).to_numpy(zero_copy_only=False).astype(np.int64)
    return sizes


class TagBytes:
    """The bytes of each tag in one task; the tags are constants of one column of a table."""

    def __init__(self, table: ParameterTable, column: int) -> None:
        self._table, self._column = table, column
        self._sizes: Counter[int] = Counter()

    def add(self, sizes: Mapping[int, int]) -> None:
        """The node is about to emit so much for each of some tags; what serves several counts for each."""
        self._sizes.update(sizes)

    def heaviest(self) -> tuple[str, ...]:
        """The queries of the tags that have at least half as much as the one that has most."""
        most = max(self._sizes.values())
        return owners_of(
            self._table, self._column, {tag for tag, size in self._sizes.items() if 2 * size >= most}
        )


def owners_of(table: ParameterTable, column: int, tags: set[int]) -> tuple[str, ...]:
    """The queries with a row that has one of some tags in a column, by name."""
    rows = (number for number, row in table.rows.items() if row[column] in tags)
    return tuple(sorted({query for number in rows for query in table.claims[number]}))
