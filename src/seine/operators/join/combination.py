"""The residual predicate and the projection of a join: which pairs match, and their output columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call, Expression, columns_of, conjunction, shift_columns
from seine.algebra.types import BOOLEAN, Type
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate, truth
from seine.operators.match.any_of import AnyOf
from seine.rows import hashing


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
