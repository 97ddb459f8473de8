"""The schema graph of a search as its nodes have it: tables and join conditions, by number.

A condition stands from one epoch to another, and counts for trees whose last tuple arrived in between. One
that was dropped is remembered while tuples that arrived before may come late: those of streams with deletions
come when their instant is complete.

    epoch           1       2       3       4
    CREATE JOIN e   |-------------->          since 1, until 3
    tuple of s              x - - - - - > x   arrives in 2, comes in 4: its trees have e

The columns of a searched tuple, whatever table it is of: what a `WatchNode` emits and a search holds.

    c0 table   the number of its table        c4 terms    the terms that it contains, by number, ascending
    c1 number  its arrival number there       c5 places   where it can be joined: a hash for each side
    c2 epoch   the epoch of its arrival       c6 sides    which side of which edge each place is of
    c3 text    {"stream": .., "row": {..}}    c7 keys     values of keys that hashes do not decide, as text

A *place* is an end of a join condition together with a value there: the tuples at (movie.did, 7) and those at
(director.did, 7) are joined. The two places of one edge and value differ by a constant, so that a hop from
a tuple is one probe for `opposite(its place)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.types import BIGINT, JSON, NUMBERS, Type
from seine.rows.column_arrays import as_lists
from seine.rows.delta import FOREVER
from seine.rows.hashing import hash_columns, mix


@dataclass(frozen=True)
class WatchedTable:
    """A stream or relation that is searched; its number tells its tuples from others."""

    number: int
    name: str
    names: tuple[str, ...]
    types: tuple[Type, ...]
    window: int | None = None
    retractable: bool = False
    arrival: int | None = None  # the place of the column that has the epoch
    valid: tuple[int, int] | None = None  # of a relation: the places of begin and end


@dataclass(frozen=True)
class WatchedEdge:
    """A join condition between two tables, compared in a common type.

    It stands in the epochs from `since` on and before `until`. Of one that was dropped, `latest` is the
    largest time of a tuple that had arrived. It has a larger number than its tables.
    """

    number: int
    left: str
    left_column: int
    right: str
    right_column: int
    type: Type
    since: int = 0
    until: int | None = None
    latest: int = 0

    @property
    def stands(self) -> bool:
        return self.until is None


@dataclass(frozen=True)
class WatchedSchema:
    """The tables and edges that there are; `gone` are streams that remembered edges lead to."""

    members: tuple[WatchedTable, ...] = ()
    edges: tuple[WatchedEdge, ...] = ()
    relations: tuple[WatchedTable, ...] = ()
    gone: tuple[WatchedTable, ...] = ()

    @property
    def may_change(self) -> bool:
        """Whether tables and edges may come and go: in a live network, where tuples have epochs."""
        return any(member.arrival is not None for member in self.members)

    @property
    def tables(self) -> tuple[WatchedTable, ...]:
        """Streams, then relations."""
        return (*self.members, *self.relations)

    @property
    def streams(self) -> tuple[WatchedTable, ...]:
        """The streams whose tuples may be held."""
        return (*self.members, *self.gone)

    @property
    def lasting(self) -> tuple[WatchedTable, ...]:
        """The streams without a window."""
        return tuple(table for table in self.streams if table.window is None)

    def within(self, takes: Callable[[WatchedTable, bool], bool]) -> WatchedSchema:
        """The part whose tables are taken; `takes` is told which ones are streams without a window."""
        lasting = self.lasting

        def taken(tables: Sequence[WatchedTable]) -> tuple[WatchedTable, ...]:
            return tuple(table for table in tables if takes(table, table in lasting))

        members, relations, gone = taken(self.members), taken(self.relations), taken(self.gone)
        names = {table.name for table in (*members, *relations, *gone)}
        edges = tuple(edge for edge in self.edges if {edge.left, edge.right} <= names)
        return WatchedSchema(members, edges, relations, gone)

    @property
    def edge_spans(self) -> EdgeSpans | None:
        """When edges stood; None where a tuple is searched as it arrives, so that all edges stand then."""
        return EdgeSpans(self.edges) if any(table.retractable for table in self.streams) else None


class EdgeSpans:
    """The epochs in which edges stood, as arrays."""

    def __init__(self, edges: Sequence[WatchedEdge]) -> None:
        ordered = sorted(edges, key=lambda edge: edge.number)
        self._numbers = np.array([edge.number for edge in ordered], np.int64)
        self._since = np.array([edge.since for edge in ordered], np.int64)
        self._until = np.array([FOREVER if e.until is None else e.until for e in ordered], np.int64)

    def cover(self, edges: IntArray, epochs: IntArray) -> BoolArray:
        """Whether all edges of each row stood in its epoch; `edges` has a row of numbers for each epoch."""
        at = np.searchsorted(self._numbers, edges)
        inside = (self._since[at] <= epochs[:, None]) & (epochs[:, None] < self._until[at])
        covered: BoolArray = np.logical_and.reduce(inside, axis=1)
        return covered


TABLE, NUMBER, EPOCH, TEXT, TERMS, PLACES, SIDES, KEYS = (f"c{i}" for i in range(8))
TUPLE_NAMES = (TABLE, NUMBER, EPOCH, TEXT, TERMS, PLACES, SIDES, KEYS)
TUPLE_TYPES = (BIGINT, BIGINT, BIGINT, JSON, NUMBERS, NUMBERS, NUMBERS, JSON)  # c7 is a list of texts
KEY_TEXTS = pa.list_(pa.string())

_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_OTHER_SIDE = np.int64(0x5851F42D4C957F2D)  # spread over all bits, like the hashes that it is added to


def side_code(edge: int, right: bool) -> int:
    """The number of a side of an edge."""
    return 2 * edge + right


def place_hashes(keys: pa.Array, edge: int, right: bool) -> IntArray:
    """The places of tuples at a side of an edge; `keys` are of the edge's common type."""
    hashes = hash_columns([keys], len(keys)).view(np.uint64)
    places: IntArray = mix(hashes * _GOLDEN_GAMMA + mix(np.array([edge], np.uint64))).view(np.int64)
    return opposite(places) if right else places


def opposite(places: IntArray) -> IntArray:
    """The places of partners.

    >>> keys = pa.array([7, 8])
    >>> (opposite(place_hashes(keys, 3, False)) == place_hashes(keys, 3, True)).all()
    np.True_
    """
    partners: IntArray = places ^ _OTHER_SIDE
    return partners


def spread(numbers: IntArray) -> IntArray:
    """Numbers as key hashes, one to one."""
    hashes: IntArray = mix(np.asarray(numbers, np.int64).view(np.uint64)).view(np.int64)
    return hashes


def list_values(lists: pa.Array) -> tuple[IntArray, AnyArray]:
    """The lengths of lists of numbers, and all their values one after another."""
    lists = as_lists(lists)
    lengths: IntArray = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths, lists.flatten().to_numpy(zero_copy_only=False)


def lists_of(lengths: IntArray, values: AnyArray | pa.Array, type_: pa.DataType) -> pa.Array:
    """The inverse of `list_values`, of lists of a type."""
    assert isinstance(type_, pa.ListType)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    column = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.ListArray.from_arrays(pa.array(offsets), column.cast(type_.value_type))
