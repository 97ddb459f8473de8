"""The residual predicate and the projection of a join: which pairs match, and their output columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call, Expression, columns_of, conjunction, shift_columns
from seine.algebra.types import BOOLEAN, Type
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate, truth
from seine.operators.match.any_of import AnyOf
from seine.operators.state.sorted_run import END, KEY, START, SortedRun
from seine.rows import hashing
from seine.rows.delta import concat_batches, identity_names
from seine.rows.grouping import Pairs

if TYPE_CHECKING:
    from seine.operators.join.join import JoinNode


class GatheredRows:
    """Some rows of a batch, gathered column by column when asked for."""

    def __init__(self, batch: pa.RecordBatch, rows: AnyArray) -> None:
        self._batch = batch
        self._rows = pa.array(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> pa.Array:
        return pc.take(self._batch[name], self._rows, boundscheck=False)

    def data(self, index: int, type_: Type) -> pa.Array:
        """A data column; rows from before anybody asked for it have NULL there."""
        place = self._batch.schema.get_field_index(f"c{index}")
        if place < 0:
            return pa.nulls(len(self._rows), type_.arrow())
        return pc.take(self._batch.column(place), self._rows, boundscheck=False)


class PairColumns(DataColumns):
    """The columns of pairs, the left row followed by the right, each gathered once."""

    def __init__(self, left: GatheredRows, right: GatheredRows, width: int, types: Sequence[Type]) -> None:
        super().__init__(pa.RecordBatch.from_arrays([], []))
        self.num_rows = len(left)
        self._left, self._right, self._width, self._types = left, right, width, types
        self._columns: dict[int, pa.Array] = {}

    def __getitem__(self, index: int) -> pa.Array:
        if index not in self._columns:
            side, place = (self._left, index) if index < self._width else (self._right, index - self._width)
            self._columns[index] = side.data(place, self._types[index])
        return self._columns[index]


class PairProjection:
    """Pairs of a left and a right row: equal keys, then any of the filters, then `out`.

    Equality of keys is tested by value only where equal hashes don't prove it.
    """

    def __init__(
        self,
        left: Sequence[Type],
        right: Sequence[Type],
        keys: tuple[Sequence[Expression], Sequence[Expression]],
        filters: AnyOf,
        tested: Iterable[int],
        out: Sequence[int],
    ) -> None:
        """`tested` are the positions that the filters read."""
        self._width = len(left)
        self._types = (*left, *right)
        self._out = tuple(out)
        self._filters = filters
        self._tested = frozenset(tested)
        exact = hashing.hash_is_exact(k.type for k in keys[0])
        self._same_key = None if exact else conjunction(_equality(*keys, self._width))
        read = columns_of(self._same_key) if self._same_key else frozenset[int]()
        self._everything = tuple(sorted({*self._out, *self._tested, *read}))

    def needed(self, side: int) -> list[int]:
        """The data columns of a side that pairs need, ascending."""
        first = self._width if side else 0
        return [i - first for i in self._everything if (i >= self._width) == bool(side)]

    def columns(self, left: GatheredRows, right: GatheredRows) -> PairColumns:
        return PairColumns(left, right, self._width, self._types)

    def holds(self, columns: DataColumns, count: int) -> AnyArray | None:
        """Which pairs are wanted; None if all are."""
        mask = self._filters.holds(columns, count)
        if self._same_key is None:
            return mask
        same = truth(self._same_key, columns, count)
        return same if mask is None else mask & same

    def output(self, columns: PairColumns, untested: bool = False) -> list[tuple[str, pa.Array]]:
        """The data columns of the pairs, with their names; if `untested`, those that conditions read too."""
        return [(f"c{i}", columns[i]) for i in (self._everything if untested else self._out)]


def key_columns(batch: pa.RecordBatch, key: Iterable[Expression]) -> list[pa.Array]:
    """The values of key expressions over the data columns of a batch."""
    columns = DataColumns(batch)
    return [evaluate(expression, columns, batch.num_rows) for expression in key]


def _equality(left: Sequence[Expression], right: Sequence[Expression], width: int) -> list[Expression]:
    moved = [shift_columns(expression, lambda i: i + width) for expression in right]
    return [Call("eq", (a, b), BOOLEAN) for a, b in zip(left, moved, strict=True)]


LEFT, RIGHT = 0, 1
SIDES = (LEFT, RIGHT)


class JoinPairs:
    """What append-only and retracting joins share. A side that probes may be the left or the right."""

    def __init__(self, node: JoinNode, filters: AnyOf, compared: Sequence[Iterable[int]] = ((), ())) -> None:
        """`compared` are the columns of each side that are looked at for other reasons than its pairs."""
        left, right = node.ports[:2]
        self.ports = (left, right)
        self.by = KEY if left.key else START
        self._compared = [frozenset(columns) for columns in compared]
        self._combination = PairProjection(
            left.types, right.types, (left.key, right.key), filters, node.tested, node.out
        )
        self._output_names = {f"c{i}" for i in node.out}

    def carried(self, side: int) -> list[str]:
        """The columns that a row of a side needs from arrival on."""
        identity = identity_names(self.ports[side].identities)
        columns = sorted(self._compared[side].union(self._combination.needed(side)))
        return [KEY, START, END, *identity, *(f"c{i}" for i in columns)]

    @staticmethod
    def arrivals(batches: Sequence[pa.RecordBatch], names: list[str]) -> pa.RecordBatch | None:
        """The rows that came by a port, with these columns; None if there are none.

        A row with a NULL in its key is not sent.
        """
        batches = [batch.select(names) for batch in batches if batch.num_rows]
        return concat_batches(batches) if batches else None

    def matches(self, side: int, probe: SortedRun, run: SortedRun) -> Iterator[Pairs]:
        """The pairs of a side's rows with a run of the other side that satisfy all conditions."""
        for pairs in run.matches(probe):
            if pairs.size:
                yield self.wanted(side, probe, run, pairs)

    def wanted(self, side: int, probe: SortedRun, run: SortedRun, pairs: Pairs) -> Pairs:
        """Of pairs with equal hashes those that satisfy all conditions."""
        columns = self._combination.columns(*self._oriented(side, probe, run, pairs))
        mask = self._combination.holds(columns, pairs.size)
        return pairs if mask is None or mask.all() else pairs.where(mask)

    def satisfying(self, joined: pa.RecordBatch) -> pa.RecordBatch:
        """Of rows that were joined untested those that satisfy all conditions."""
        mask = self._combination.holds(DataColumns(joined), joined.num_rows)
        if mask is not None and not mask.all():
            joined = joined.take(pa.array(np.flatnonzero(mask)))
        return joined.select(
            [name for name in joined.schema.names if name[0] == "_" or name in self._output_names]
        )

    def joined(
        self,
        side: int,
        probe: SortedRun,
        run: SortedRun,
        pairs: Pairs,
        early: AnyArray | None = None,
        untested: bool = False,
    ) -> pa.RecordBatch:
        """The rows that pairs become; of `minus` if `early`; `untested` if conditions are checked later."""
        left, right = self._oriented(side, probe, run, pairs)
        named = [("_s", pa.array(pairs.start)), ("_e", pa.array(pairs.end))]
        if early is not None:
            named.append(("_d", pa.array(early)))
        named += self._identity(left, right)
        named += self._combination.output(self._combination.columns(left, right), untested)
        return pa.RecordBatch.from_arrays([a for _, a in named], names=[n for n, _ in named])

    def _identity(self, left: GatheredRows, right: GatheredRows) -> list[tuple[str, pa.Array]]:
        ours = [left.column(name) for name in identity_names(self.ports[LEFT].identities)]
        theirs = [right.column(name) for name in identity_names(self.ports[RIGHT].identities)]
        return list(zip(identity_names(len(ours) + len(theirs)), ours + theirs, strict=True))

    @staticmethod
    def _oriented(
        side: int, probe: SortedRun, run: SortedRun, pairs: Pairs
    ) -> tuple[GatheredRows, GatheredRows]:
        ours, theirs = GatheredRows(probe.batch, pairs.probe), GatheredRows(run.batch, pairs.run)
        return (ours, theirs) if side == LEFT else (theirs, ours)
