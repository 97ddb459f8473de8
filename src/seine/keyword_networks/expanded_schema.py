"""The expanded schema of a keyword query: every stream cut by the exact set of keywords that a tuple holds.

Cites: SKWS 2, SKWS 3.2, SKWS 3.3

The streaming schema of a keyword search: streams, and the join conditions between them.

Cites: SKWS 3.1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray


class ExpandedSchema:
    """The nodes S{K}: the tuples of stream S that hold exactly the keywords K of the query.

    There are |SR| * 2^|K| nodes. A keyword set is a bitmap whose lowest bit is k1. A node is its number in a
    total order, the paper's *nid*: here by stream, then bitmap, or, if `selective`, nodes with more keywords
    first. The order decides what is joined first and changes no answer. `may_hold` has for each stream the
    keywords that its tuples can hold at all; by default all of them.

    >>> pair = ExpandedSchema(StreamingSchema(("s", "t"), ((0, 1),)), keywords=2)
    >>> [pair.name(node) for node in range(pair.nodes)]
    ['s{}', 's{1}', 's{2}', 's{1,2}', 't{}', 't{1}', 't{2}', 't{1,2}']
    >>> rare = ExpandedSchema(StreamingSchema(("s", "t"), ((0, 1),)), keywords=2, selective=True)
    >>> [rare.name(node) for node in range(rare.nodes)]
    ['s{1,2}', 't{1,2}', 's{1}', 's{2}', 't{1}', 't{2}', 's{}', 't{}']
    """

    def __init__(
        self,
        schema: StreamingSchema,
        keywords: int,
        selective: bool = False,
        may_hold: Sequence[int] | None = None,
    ) -> None:
        self.schema, self.keywords = schema, keywords
        self.all_keywords = (1 << keywords) - 1
        streams = np.repeat(np.arange(len(schema.streams)), 1 << keywords)
        sets = np.tile(np.arange(1 << keywords), len(schema.streams))
        order = np.lexsort((sets, streams, -_sizes(sets, keywords))) if selective else np.arange(len(sets))
        self.stream_of: IntArray = streams[order]
        self.keywords_of: IntArray = sets[order]
        self.node_of: IntArray = np.argsort(order).reshape(len(schema.streams), 1 << keywords)
        held = np.full(len(schema.streams), self.all_keywords) if may_hold is None else np.array(may_hold)
        self.possible: BoolArray = self.keywords_of & ~held[self.stream_of] == 0
        self.first_half, self.half_condition, self.half_partner = _half_edges(schema)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.stream_of)

    def is_root(self) -> BoolArray:
        """Which nodes hold k1: every result has one of them, and growth begins there."""
        return np.asarray((self.keywords_of & 1 > 0) & self.possible)

    def name(self, node: int, words: Sequence[str] | None = None) -> str:
        """A node in the paper's notation, with numbers or with the words of the query."""
        bits = [k for k in range(self.keywords) if self.keywords_of[node] >> k & 1]
        listed = ",".join(words[k] if words else str(k + 1) for k in bits)
        return f"{self.schema.streams[self.stream_of[node]]}{{{listed}}}"


def rarest_first(frequencies: Sequence[float]) -> list[int]:
    """The order of a query's keywords in which the rarest is k1, where every operator tree begins.

    >>> rarest_first([0.2, 0.01, 0.1])
    [1, 2, 0]
    """
    return sorted(range(len(frequencies)), key=lambda keyword: (frequencies[keyword], keyword))


def _sizes(sets: IntArray, keywords: int) -> IntArray:
    return sum((sets >> k & 1 for k in range(keywords)), np.zeros(len(sets), np.int64))


def _half_edges(schema: StreamingSchema) -> tuple[IntArray, IntArray, IntArray]:
    """By stream: where its half edges begin; of each half edge the condition and the stream beyond it.

    A condition of a stream with itself is one half edge: it is tried in both directions by whoever joins.
    """
    halves = sorted(
        {(a, number, b) for number, ends in enumerate(schema.conditions) for a, b in (ends, ends[::-1])}
    )
    table = np.array(halves, np.int64).reshape(-1, 3)
    first = np.searchsorted(table[:, 0], np.arange(len(schema.streams) + 1))
    return first, table[:, 1], table[:, 2]


@dataclass(frozen=True)
class StreamingSchema:
    """A graph of streams: a condition is a pair of stream numbers, an edge of the graph.

    Any graph will do: cycles, several conditions between two streams, a condition of a stream with itself.
    Every condition is many-to-many: `CREATE JOIN movie.did = director.did` says nothing of keys.

        streams ("s", "t", "u", "v")                  S   U
        conditions ((0, 1), (2, 1), (3, 1))            \\ /
                                                        T --- V
    """

    streams: tuple[str, ...]
    conditions: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        outside = [one for one in self.conditions if not all(0 <= end < len(self.streams) for end in one)]
        if outside:
            raise ValueError(f"the condition {outside[0]} names a stream that is not there")
