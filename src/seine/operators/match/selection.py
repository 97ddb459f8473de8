"""A join of rows with a parameter table: which rows satisfy which of very many selections of one shape.

Selections that differ only in constants are rows of a parameter table, so

    SELECT * FROM transfers WHERE bank = 'A' AND amount > 5
    SELECT * FROM transfers WHERE bank = 'B' AND amount > 9

are the shape `bank = ?0 AND amount > ?1` with the rows ('A', 5) and ('B', 9). For each conjunct that compares
an expression with a constant the expression is computed once for all selections; a predicate index finds the
candidate pairs; residual conjuncts are verified on these.

    rows ─> coarse filter ─> box index ─> residual ─> pairs (row, selection)

Cites: ARGUS 5.1 (the weakest constant does the work, the others refine it), MMQJP R_T

Which rows of a delta satisfy which selections.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Column, Expression, Parameter, split_shape, walk
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate
from seine.operators.match.box_index import BoxIndex, CoarseFilter
from seine.operators.match.boxes import coders_for, make_boxes, split_conjuncts
from seine.operators.match.code_lookup import CodeGroups
from seine.operators.match.residual import Pairs, Residual
from seine.operators.state.working_nodes import ArrivedDelta
from seine.rows.delta import carried_names, data_names


class SelectionGroup:
    """The selections of one shape, compiled for any number of batches."""

    def __init__(
        self,
        shape: Expression | None,
        table: Sequence[pa.Array],
        count: int,
        checks: Sequence[Expression] = (),
    ) -> None:
        """Selection i is the shape with the constants `table[p][i]` for Parameter p; None is always true.

        `checks` are further conjuncts, evaluated last, on the pairs that satisfy everything else.
        """
        parts = split_conjuncts(shape, table, count)
        boxes = make_boxes(parts.comparisons, coders_for(parts.comparisons), count)
        self.count = count
        self._owners = boxes.owners
        groups = CodeGroups(list(boxes.equal.values()), len(boxes))
        self._coarse = CoarseFilter(boxes, groups, parts.common)
        self._residual = Residual([*parts.others, *checks], table)
        self._index = BoxIndex(boxes, groups)

    @staticmethod
    def of(predicates: Sequence[Expression]) -> SelectionGroup:
        """The group of predicates, which must all have one shape."""
        shape, sample = split_shape(predicates[0])
        constants = [split_shape(p)[1] for p in predicates]
        table = [
            pa.array([row[i].value for row in constants], one.type.arrow()) for i, one in enumerate(sample)
        ]
        return SelectionGroup(shape, table, len(predicates))

    def match(self, columns: DataColumns, num_rows: int) -> Pairs:
        """Pairs (row, selection), ordered by selection and then by row."""
        if not len(self._owners) or not num_rows:
            return _NONE
        left = self._coarse.survivors(columns, num_rows)
        matches = []
        for rows, boxes in self._index.pairs(left.codes, left.size):
            pairs = (rows if left.rows is None else left.rows[rows]), self._owners[boxes]
            matches.append(self._residual.where(columns, *pairs))
        return _ordered(matches, num_rows)


_NONE = np.zeros(0, np.int64), np.zeros(0, np.int64)


def _ordered(chunks: list[Pairs], num_rows: int) -> Pairs:
    """All pairs, by selection and then by row."""
    if not chunks:
        return _NONE
    if len(chunks) == 1:
        rows, picks = chunks[0]
    else:
        rows, picks = (np.concatenate(side) for side in zip(*chunks, strict=True))
    bits = num_rows.bit_length()
    codes = picks << bits | rows
    if (codes[1:] > codes[:-1]).all():
        return rows, picks
    codes.sort()
    return codes & ((1 << bits) - 1), codes >> bits


def matched(selection: SelectionGroup, arrived: ArrivedDelta) -> tuple[Pairs, Pairs | None]:
    """The pairs of rows that begin with what they satisfy, and those of rows that end early, if any may."""
    plus = selection.match(arrived.plus, arrived.delta.plus.num_rows)
    if arrived.delta.minus is None or arrived.minus is None:
        return plus, None
    return plus, selection.match(arrived.minus, arrived.delta.minus.num_rows)


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
