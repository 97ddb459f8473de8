"""All selections of one shape over one input, by one sorted parameter table.

Selections that differ only in constants are rows of a table. For each conjunct of the
form `expression <op> constant` the expression is computed once for all of them:
equalities are matched by hash, one interval by binary search among the sorted rows of the
batch, and what remains is verified on the candidate pairs. Cost grows with the
batch, the table's logarithm and the candidates, not with rows times selections.

Cites: ARGUS 5.1 (the weakest constant does the work, the others refine it), MMQJP R_T
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, columns_of, conjuncts, split_shape
from seine.operators.comparison import Comparison, comparison_of, has_parameter, ordinals
from seine.operators.data_columns import DataColumns
from seine.operators.evaluate import evaluate, truth
from seine.operators.hashing import hash_columns, is_exact

_FEW = 4  # below this many, evaluating each predicate is cheaper than matching
_BLOCK = 1 << 21  # candidate pairs that are verified at a time, to bound memory

Pairs = tuple[np.ndarray, np.ndarray]  # positions of rows, positions of selections
Bounds = list[tuple[Comparison, pa.Array]]  # comparisons of one expression, with its values


class Slices(NamedTuple):
    """Candidates: of selection i the rows order[low[i]:high[i]], which satisfy all of `exact`."""

    order: np.ndarray
    low: np.ndarray
    high: np.ndarray
    exact: list[Comparison]


class SelectionGroup:
    """The selections of one shape; `match` says which rows satisfy which of them."""

    def __init__(
        self,
        shape: Expression | None,
        table: Sequence[pa.Array],
        count: int,
        checks: Sequence[Expression] = (),
    ) -> None:
        """Selection i is the shape with the constants `table[p][i]` for Parameter p; no shape is always true.

        The checks are further conjuncts, asked only of the pairs that satisfy all else.
        """
        self.shape, self.count, self._table, self._checks = shape, count, list(table), list(checks)
        self.common: list[Expression] = []
        self.comparisons: list[Comparison] = []
        self.others: list[Expression] = []
        for part in conjuncts(shape):
            if not has_parameter(part):
                self.common.append(part)
            elif comparison := comparison_of(part, self._table):
                self.comparisons.append(comparison)
            else:
                self.others.append(part)
        self.indexed = count >= _FEW and bool(self.comparisons)
        self._equal = [i for i, c in enumerate(self.comparisons) if c.op == "eq"]
        equal = [self.comparisons[i] for i in self._equal]
        table_hash = hash_columns([c.constants for c in equal], count)
        self._hashes, self._group = np.unique(table_hash, return_inverse=True)
        self._exact = equal if is_exact([c.expression.type for c in equal]) else []

    @staticmethod
    def of(predicates: Sequence[Expression]) -> SelectionGroup:
        """The group of predicates that all have one shape."""
        shape, sample = split_shape(predicates[0])
        constants = [split_shape(p)[1] for p in predicates]
        table = [
            pa.array([row[i].value for row in constants], one.type.arrow()) for i, one in enumerate(sample)
        ]
        return SelectionGroup(shape, table, len(predicates))

    def match(self, columns: DataColumns, num_rows: int) -> Pairs:
        """Pairs (row, selection), ordered by selection and then by row."""
        if not self.count or not num_rows:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if self.indexed:
            return self._checked(columns, *self._by_index(columns, num_rows))
        return self._checked(columns, *self._one_by_one(columns, num_rows))

    def _checked(self, columns: DataColumns, rows: np.ndarray, picks: np.ndarray) -> Pairs:
        for part in self._checks:
            good = self._truth(part, columns, rows, picks)
            rows, picks = rows[good], picks[good]
        return rows, picks

    def _one_by_one(self, columns: DataColumns, num_rows: int) -> Pairs:
        every = np.arange(num_rows)
        if self.shape is None:
            return np.tile(every, self.count), np.repeat(np.arange(self.count), num_rows)
        hits = [
            np.flatnonzero(truth(self.shape, columns, num_rows, [constants[i] for constants in self._table]))
            for i in range(self.count)
        ]
        return np.concatenate(hits), np.repeat(np.arange(len(hits)), [len(h) for h in hits])

    def _by_index(self, columns: DataColumns, num_rows: int) -> Pairs:
        alive = np.ones(num_rows, bool)
        for part in self.common:
            alive &= truth(part, columns, num_rows)
        values = [evaluate(c.expression, columns, num_rows) for c in self.comparisons]
        for array in values:
            if array.null_count:
                alive &= array.is_valid().to_numpy(zero_copy_only=False)
        kept = np.flatnonzero(alive)
        if len(kept) < num_rows:
            values = [v.take(pa.array(kept)) for v in values]
        slices = self._slices(values, len(kept))
        found = [self._verified(columns, values, kept, slices, block) for block in _blocks(slices)]
        codes = np.sort(np.concatenate([picks * num_rows + rows for rows, picks in found]))
        return codes % max(num_rows, 1), codes // max(num_rows, 1)

    def _verified(
        self,
        columns: DataColumns,
        values: list[pa.Array],
        kept: np.ndarray,
        slices: Slices,
        pairs: Pairs,
    ) -> Pairs:
        """The pairs that also satisfy what the index did not decide; rows as in the batch."""
        rows, picks = pairs
        for comparison, array in zip(self.comparisons, values, strict=True):
            if comparison not in slices.exact:
                good = comparison.verify(array, rows, picks)
                rows, picks = rows[good], picks[good]
        rows = kept[rows]
        for part in self.others:
            good = self._truth(part, columns, rows, picks)
            rows, picks = rows[good], picks[good]
        return rows, picks

    def _truth(
        self, part: Expression, columns: DataColumns, rows: np.ndarray, picks: np.ndarray
    ) -> np.ndarray:
        """Is a conjunct with parameters true for each pair?"""
        used, at, of = columns_of(part), pa.array(rows), pa.array(picks)
        picked = {i: columns[i].take(at) for i in used}
        return truth(part, picked, len(rows), [constants.take(of) for constants in self._table])

    def _slices(self, values: list[pa.Array], num_rows: int) -> Slices:
        """The candidates by the equalities and the interval that leaves the fewest."""
        row_hash = hash_columns([values[i] for i in self._equal], num_rows)
        place = np.minimum(np.searchsorted(self._hashes, row_hash), len(self._hashes) - 1)
        group = np.where(self._hashes[place] == row_hash, place, len(self._hashes))
        found = [_search(group, self._group, bounds) for bounds in self._intervals(values)]
        best = min(found, key=lambda slices: int((slices.high - slices.low).sum()))
        return best._replace(exact=best.exact + self._exact)

    def _intervals(self, values: list[pa.Array]) -> list[Bounds]:
        """The range conjuncts by expression; one empty interval if there are none."""
        by_expression: dict[Expression, Bounds] = defaultdict(list)
        for comparison, array in zip(self.comparisons, values, strict=True):
            if comparison.op != "eq":
                by_expression[comparison.expression].append((comparison, array))
        return list(by_expression.values()) or [[]]


def _search(group: np.ndarray, table_group: np.ndarray, bounds: Bounds) -> Slices:
    """Rows sorted by (group, value), and for each selection the slice that is within its bounds."""
    width, codes = 1, group
    first, last = np.zeros(len(table_group), np.int64), np.ones(len(table_group), np.int64)
    for comparison, values in bounds:
        numbers, constants = ordinals(values, comparison.constants)
        distinct, ranks = np.unique(numbers, return_inverse=True)
        if codes is group:  # all bounds are of the same values
            width = len(distinct) + 1
            codes, last = group * width + ranks, last * len(distinct)
        if comparison.op in ("gt", "ge"):
            side = np.searchsorted(distinct, constants, "right" if comparison.op == "gt" else "left")
            first = np.maximum(first, side)
        else:
            side = np.searchsorted(distinct, constants, "left" if comparison.op == "lt" else "right")
            last = np.minimum(last, side)
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    low = np.searchsorted(ordered, table_group * width + first)
    high = np.searchsorted(ordered, table_group * width + np.maximum(first, last))
    return Slices(order, low, high, [comparison for comparison, _ in bounds])


def _blocks(slices: Slices) -> Iterator[Pairs]:
    """The candidate pairs, a bounded number (but all of one selection) at a time; at least one block."""
    counts = slices.high - slices.low
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _BLOCK, "right")))
        part = counts[start:stop]
        offsets = np.arange(part.sum()) - np.repeat(np.cumsum(part) - part, part)
        rows = slices.order[np.repeat(slices.low[start:stop], part) + offsets]
        yield rows, np.repeat(np.arange(start, stop), part)
        start = stop
