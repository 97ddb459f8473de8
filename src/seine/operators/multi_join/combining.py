"""The delta rule of a multi-way join: the combinations that have at least one row of this step.

    delta(R ⋈ S ⋈ T) = dR ⋈ (S + dS) ⋈ (T + dT)  +  R ⋈ dS ⋈ (T + dT)  +  R ⋈ S ⋈ dT

Law: fresh() = {one row of each port | groups agree, max(_s) < min(_e), a row is new}, each once. The new rows
of a port probe the held rows of the ports before it and all rows of those behind it, one index nested-loop
join after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.evaluate.data_columns import DataColumns
from seine.operators.match.any_of import AnyOf
from seine.operators.multi_join.multi_join_shape import Extent, GroupCodes, Shape
from seine.operators.state.sorted_run import END, KEY, START, SortedRun
from seine.operators.state.work_budget import spend_candidates
from seine.rows.grouping import ranges
from seine.rows.hashing import mix


class Partial(NamedTuple):
    """Combinations of rows of a set of ports: the rows by port, and the lifetime that they share."""

    rows: dict[int, IntArray]
    start: IntArray
    end: IntArray


class CombinationSearch:
    """The new combinations of one step."""

    def __init__(self, shape: Shape, extents: Sequence[Extent], codes: GroupCodes, lasting: Indexes) -> None:
        """`lasting` are indexes over relations, which are the same in every step."""
        self._shape, self._extents, self._codes = shape, extents, codes
        self._lasting = lasting
        self._indexes: Indexes = {}

    def fresh(self) -> Iterator[Partial]:
        """The new combinations, in chunks of bounded size."""
        for seed, extent in enumerate(self._extents):
            others = [port for port in range(self._shape.width) if port != seed]
            if extent.rows > extent.held and all(self._reachable(seed, port) for port in others):
                rows = np.arange(extent.held, extent.rows)
                whole = Partial({seed: rows}, extent.numbers(START)[rows], extent.numbers(END)[rows])
                yield from self._extended(whole, seed, self._order(seed))

    def _reachable(self, seed: int, port: int) -> bool:
        """Whether a port has rows that new rows of the seed may be joined with."""
        extent = self._extents[port]
        return bool(extent.held if port < seed else extent.rows)

    def _order(self, seed: int) -> list[int]:
        """The probe order: greedily the port that shares most groups with those before; then the smallest."""
        known, rest, order = set(self._shape.groups[seed]), set(range(self._shape.width)) - {seed}, []
        while rest:
            best = min(
                rest,
                key=lambda port: (-len(known & {*self._shape.groups[port]}), self._extents[port].rows, port),
            )
            order.append(best)
            rest.remove(best)
            known.update(self._shape.groups[best])
        return order

    def _extended(self, partial: Partial, seed: int, order: list[int]) -> Iterator[Partial]:
        """Combinations joined with the ports of a probe order, in chunks."""
        if not len(partial.start):
            return
        if not order:
            yield partial
            return
        port, *rest = order
        owners = self._owners(partial.rows, port)
        values = [self._codes.of_rows(owner, group)[partial.rows[owner]] for group, owner in owners.items()]
        extent = self._extents[port]
        for places, rows in self._index(port, tuple(owners)).matches(values, len(partial.start)):
            start = np.maximum(partial.start[places], extent.numbers(START)[rows])
            end = np.minimum(partial.end[places], extent.numbers(END)[rows])
            good = start < end
            if port < seed:
                good &= rows < extent.held
            met = {joined: given[places] for joined, given in partial.rows.items()}
            longer = Partial({**met, port: rows}, start, end)
            yield from self._extended(
                longer if good.all() else _where(longer, np.flatnonzero(good)), seed, rest
            )

    def _owners(self, known: dict[int, IntArray], port: int) -> dict[int, int]:
        """For each group of a port that a joined port has too, that port."""
        owners = {
            group: owner
            for group in self._shape.groups[port]
            for owner in known
            if group in self._shape.groups[owner]
        }
        return dict(sorted(owners.items()))

    def _index(self, port: int, groups: tuple[int, ...]) -> KeyIndex:
        known = self._lasting if self._shape.is_lasting(port) else self._indexes
        if (port, groups) not in known:
            columns = [self._codes.of_rows(port, group) for group in groups]
            known[port, groups] = KeyIndex(columns, self._extents[port].rows)
        return known[port, groups]


class CombinedColumns(DataColumns):
    """The columns of combinations, the rows of all ports side by side, each gathered once."""

    def __init__(self, shape: Shape, extents: Sequence[Extent], partial: Partial) -> None:
        super().__init__(pa.RecordBatch.from_arrays([], []))
        self.num_rows = len(partial.start)
        self._shape, self._extents = shape, extents
        self._rows = {port: pa.array(rows) for port, rows in partial.rows.items()}
        self._columns: dict[int, pa.Array] = {}

    def __getitem__(self, index: int) -> pa.Array:
        if index not in self._columns:
            port = int(np.searchsorted(self._shape.offsets, index, "right")) - 1
            name, type_ = f"c{index - self._shape.offsets[port]}", self._shape.node.types[index].arrow()
            column = self._extents[port].column(name, type_)
            self._columns[index] = pc.take(column, self._rows[port], boundscheck=False)
        return self._columns[index]


def combined(shape: Shape, extents: Sequence[Extent], partial: Partial, filters: AnyOf) -> pa.RecordBatch:
    """Output rows: the combinations that satisfy any of the filters."""
    columns = CombinedColumns(shape, extents, partial)
    mask = filters.holds(columns, columns.num_rows)
    if mask is not None:
        partial = _where(partial, np.flatnonzero(mask))
        columns = CombinedColumns(shape, extents, partial)
    named = [(START, pa.array(partial.start)), (END, pa.array(partial.end))]
    named += [(f"c{index}", columns[index]) for index in shape.node.out]
    return pa.RecordBatch.from_arrays([a for _, a in named], names=[n for n, _ in named])


def _where(partial: Partial, places: IntArray) -> Partial:
    rows = {port: given[places] for port, given in partial.rows.items()}
    return Partial(rows, partial.start[places], partial.end[places])


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: a multiplier that spreads bits
_ROW = "row"
_BUILD_RATIO = 8  # if the probe side is so many times smaller, the index is built over it instead


class KeyIndex:
    """Rows by columns of codes, indexed when first probed; without columns every row matches every other.

    >>> index = KeyIndex([np.array([7, 8, 7]), np.array([1, 1, 2])], 3)
    >>> [(a.tolist(), b.tolist()) for a, b in index.matches([np.array([7, 9]), np.array([2, 1])], 2)]
    [([0], [2])]
    """

    def __init__(self, columns: Sequence[IntArray], rows: int) -> None:
        self._columns = columns
        self.rows = rows

    def matches(self, columns: Sequence[IntArray], count: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs (probing row, indexed row) that agree in all columns, in chunks."""
        if not (self.rows and count):
            return
        if not columns:
            for probing, indexed in ranges(np.zeros(count, np.int64), np.full(count, self.rows)):
                spend_candidates(len(probing))
                yield probing, indexed
            return
        if count * _BUILD_RATIO < self.rows and "_run" not in self.__dict__:  # not worth indexing all rows
            for indexed, probing in KeyIndex(columns, count).matches(self._columns, self.rows):
                yield probing, indexed
            return
        for probing, places in self._run.equal_keys(_hashes(columns)):
            indexed = self._numbers.take(places)
            if len(columns) > 1:
                same = np.flatnonzero(
                    np.logical_and.reduce(
                        [
                            probed[probing] == stored[indexed]
                            for probed, stored in zip(columns, self._columns, strict=True)
                        ]
                    )
                )
                probing, indexed = probing.take(same), indexed.take(same)
            yield probing, indexed

    def has(self, columns: Sequence[IntArray], count: int) -> BoolArray:
        """Which of the probing rows have a match: a semi-join.

        >>> index = KeyIndex([np.array([7, 8, 7])], 3)
        >>> index.has([np.array([9, 7])], 2).tolist()
        [False, True]
        """
        if len(columns) != 1 or not (self.rows and count):
            matched = np.zeros(count, bool)
            for probing, _ in self.matches(columns, count):
                matched[probing] = True
            return matched
        (values,) = columns
        if count * _BUILD_RATIO < self.rows and "_sorted" not in self.__dict__:  # not worth sorting all rows
            order = np.argsort(values)
            return _among(np.sort(self._columns[0][_among(values[order], self._columns[0])]), values)
        return _among(self._sorted, values)

    @cached_property
    def _sorted(self) -> IntArray:
        """The sorted codes of the only column."""
        return np.sort(self._columns[0])

    @cached_property
    def _run(self) -> SortedRun:
        keys = pa.array(_hashes(self._columns))
        return SortedRun.of(
            pa.RecordBatch.from_arrays([keys, pa.array(np.arange(self.rows))], [KEY, _ROW]), KEY
        )

    @cached_property
    def _numbers(self) -> IntArray:
        numbers: IntArray = self._run.batch[_ROW].to_numpy()
        return numbers


Indexes: TypeAlias = dict[tuple[int, tuple[int, ...]], KeyIndex]  # by port and groups


def _among(ordered: IntArray, values: IntArray) -> BoolArray:
    """Which values are among sorted codes."""
    if not len(ordered):
        return np.zeros(len(values), bool)
    places = np.searchsorted(ordered, values)
    among: BoolArray = ordered.take(places, mode="clip") == values
    return among


def _hashes(columns: Sequence[IntArray]) -> IntArray:
    """A hash of each row."""
    total = mix(columns[0].view(np.uint64))
    for column in columns[1:]:
        total = mix(total * _GOLDEN + column.view(np.uint64))
    return total.view(np.int64)


def distinct(columns: Sequence[IntArray], count: int) -> tuple[IntArray, IntArray]:
    """A distinct: one row of each kind, and for every row the number of its kind.

    Rows are sorted by hash, and neighbours are compared: where the hashes of two kinds collide, a kind may
    have several numbers.

    >>> firsts, kinds = distinct([np.array([5, 4, 5]), np.array([1, 1, 1])], 3)
    >>> len(firsts), bool(kinds[0] == kinds[2]), bool(kinds[0] == kinds[1])
    (2, True, False)
    """
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not columns:
        return np.zeros(1, np.int64), np.zeros(count, np.int64)
    order = np.argsort(_hashes(columns))
    new = np.zeros(count, bool)
    new[0] = True
    for column in columns:
        ordered = column.take(order)
        new[1:] |= ordered[1:] != ordered[:-1]
    kinds = np.empty(count, np.int64)
    kinds[order] = np.cumsum(new) - 1
    return order[new], kinds
