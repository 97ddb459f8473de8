"""Projection: picked rows of a batch as a batch of computed columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Column, Expression, Parameter, walk
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate
from seine.rows.delta import carried_names, data_names


class Picked:
    """Some rows of a batch, gathered column by column when asked for."""

    def __init__(self, columns: DataColumns, rows: IntArray) -> None:
        self._columns = columns
        self._rows = pa.array(rows)

    def __getitem__(self, index: int) -> pa.Array:
        return pc.take(self._columns[index], self._rows, boundscheck=False)


def computed(
    batch: pa.RecordBatch,
    columns: DataColumns,
    rows: IntArray,
    expressions: Sequence[Expression],
    parameters: Sequence[pa.Array | None],
    tags: pa.Array | None = None,
    given: Sequence[pa.Array | None] = (),
) -> pa.RecordBatch:
    """Picked rows as a batch of computed columns, in front of them their tags if there are any.

    `given` has the values of expressions that are known already.
    """
    names = carried_names(batch)
    copied = dict.fromkeys(f"c{e.index}" for e in expressions if isinstance(e, Column))
    taken, picked = batch.select([*names, *copied]), Picked(columns, rows)
    everything = _are_all(rows, batch.num_rows)
    if not everything:
        taken = taken.take(pa.array(rows))  # all at once, for that costs little more than one
    known = given or [None] * len(expressions)
    values = [
        value
        if value is not None
        else taken[f"c{e.index}"]
        if isinstance(e, Column)
        else columns.values(e)  # which others may have asked for
        if everything and not parameters_in([e])
        else evaluate(e, picked, len(rows), parameters)
        for e, value in zip(expressions, known, strict=True)
    ]
    if tags is not None:
        values.insert(0, tags)
    system = taken.columns[: len(names)]
    return pa.RecordBatch.from_arrays(system + values, names + data_names(len(values)))


def _are_all(rows: IntArray, size: int) -> bool:
    """Whether every row is picked once, in order.

    >>> _are_all(np.array([0, 1, 2]), 3), _are_all(np.array([1, 0, 2]), 3)
    (True, False)
    """
    return len(rows) == size and bool((rows == np.arange(size)).all())


def parameters_in(expressions: Iterable[Expression]) -> set[int]:
    """The parameters that expressions read."""
    return {e.index for one in expressions for e in walk(one) if isinstance(e, Parameter)}
