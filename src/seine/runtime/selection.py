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
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Parameter,
    conjuncts,
    split_shape,
    walk,
)
from seine.algebra.types import BOOLEAN, Kind
from seine.operators.evaluate import evaluate, truth
from seine.operators.hashing import hash_columns

_MIRROR = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_ORDERED = {Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN}
_FEW = 4  # below this many, evaluating each predicate is cheaper than matching

Pairs = tuple[np.ndarray, np.ndarray]  # positions of rows, positions of selections


def _has_parameter(expression: Expression) -> bool:
    return any(isinstance(e, Parameter) for e in walk(expression))


class Comparison:
    """One conjunct `expression <op> ?i` with its constants, one for each selection."""

    def __init__(self, call: Call, constants: Sequence[Sequence[Literal]]) -> None:
        left, right = call.args
        self.op = call.name
        if isinstance(left, Parameter):
            left, right, self.op = right, left, _MIRROR[call.name]
        assert isinstance(right, Parameter)
        self.expression = left
        self.constants = pa.array([row[right.index].value for row in constants], type=right.type.arrow())

    @property
    def is_range(self) -> bool:
        return self.op != "eq" and self.expression.type.kind in _ORDERED

    def verify(self, values: pa.Array, rows: np.ndarray, picks: np.ndarray) -> np.ndarray:
        left, right = values.take(pa.array(rows)), self.constants.take(pa.array(picks))
        type_ = self.expression.type
        test = Call(self.op, (Column(0, type_), Column(1, type_)), BOOLEAN)
        return truth(test, [left, right], len(rows))


def comparison_of(part: Expression, constants: Sequence[Sequence[Literal]]) -> Comparison | None:
    """The conjunct as a Comparison, if it has that form."""
    if not (isinstance(part, Call) and part.name in _MIRROR):
        return None
    left, right = part.args
    plain = (isinstance(right, Parameter) and not _has_parameter(left)) or (
        isinstance(left, Parameter) and not _has_parameter(right)
    )
    return Comparison(part, constants) if plain and left.type == right.type else None


class SelectionGroup:
    """The selections of one shape; `match` says which rows satisfy which of them."""

    def __init__(self, predicates: Sequence[Expression]) -> None:
        self.predicates = list(predicates)
        shape, _ = split_shape(predicates[0])
        constants = [split_shape(p)[1] for p in predicates]
        self.common: list[Expression] = []
        self.comparisons: list[Comparison] = []
        self.indexed = len(predicates) >= _FEW
        for part in conjuncts(shape):
            if not _has_parameter(part):
                self.common.append(part)
            elif comparison := comparison_of(part, constants):
                self.comparisons.append(comparison)
            else:
                self.indexed = False

    def match(self, columns: Sequence[pa.Array], num_rows: int) -> Pairs:
        """Pairs (row, selection), ordered by selection and then by row."""
        return self._by_index(columns, num_rows) if self.indexed else self._one_by_one(columns, num_rows)

    def _one_by_one(self, columns: Sequence[pa.Array], num_rows: int) -> Pairs:
        hits = [np.flatnonzero(truth(p, columns, num_rows)) for p in self.predicates]
        return np.concatenate(hits), np.repeat(np.arange(len(hits)), [len(h) for h in hits])

    def _by_index(self, columns: Sequence[pa.Array], num_rows: int) -> Pairs:
        alive = np.ones(num_rows, bool)
        for part in self.common:
            alive &= truth(part, columns, num_rows)
        values = [evaluate(c.expression, columns, num_rows) for c in self.comparisons]
        for array in values:
            if array.null_count:
                alive &= array.is_valid().to_numpy(zero_copy_only=False)
        kept = np.flatnonzero(alive)
        values = [v.take(pa.array(kept)) for v in values] if len(kept) < num_rows else values
        rows, picks, exact = self._candidates(values, len(kept))
        for comparison, array in zip(self.comparisons, values, strict=True):
            if comparison not in exact and len(rows):
                good = comparison.verify(array, rows, picks)
                rows, picks = rows[good], picks[good]
        return kept[rows], picks

    def _candidates(self, values: list[pa.Array], num_rows: int) -> tuple[np.ndarray, np.ndarray, set[Comparison]]:
        equal = [(c, v) for c, v in zip(self.comparisons, values, strict=True) if c.op == "eq"]
        table_hash = hash_columns([c.constants for c, _ in equal], len(self.predicates))
        row_hash = hash_columns([v for _, v in equal], num_rows)
        groups, table_group = np.unique(table_hash, return_inverse=True)
        row_group = np.searchsorted(groups, row_hash)
        row_group = np.where(groups[np.minimum(row_group, len(groups) - 1)] == row_hash, row_group, len(groups))
        best: tuple[np.ndarray, np.ndarray, np.ndarray, set[Comparison]] | None = None
        for bounds in self._intervals(values):
            found = _search(row_group, table_group, bounds)
            if best is None or (found[2] - found[1]).sum() < (best[2] - best[1]).sum():
                best = (*found, {c for c, _ in bounds})
        assert best is not None
        order, low, high, exact = best
        counts = np.maximum(high - low, 0)
        picks = np.repeat(np.arange(len(counts)), counts)
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return order[np.repeat(low, counts) + offsets], picks, exact

    def _intervals(self, values: list[pa.Array]) -> list[list[tuple[Comparison, np.ndarray]]]:
        """The range conjuncts by expression; one empty interval if there are none."""
        by_expression: dict[Expression, list[tuple[Comparison, np.ndarray]]] = defaultdict(list)
        for comparison, array in zip(self.comparisons, values, strict=True):
            if comparison.is_range:
                by_expression[comparison.expression].append((comparison, _numbers(array)))
        return list(by_expression.values()) or [[]]


def _numbers(array: pa.Array) -> np.ndarray:
    """Values in an order-preserving NumPy form."""
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(array.type):
        array = array.view(pa.int64())
    return array.to_numpy(zero_copy_only=False)


def _search(
    row_group: np.ndarray, table_group: np.ndarray, bounds: list[tuple[Comparison, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows sorted by (group, value), and for each selection the slice [low, high) that may match."""
    if not bounds:
        order = np.argsort(row_group, kind="stable")
        ordered = row_group[order]
        return order, np.searchsorted(ordered, table_group, "left"), np.searchsorted(ordered, table_group, "right")
    row_values = bounds[0][1]
    distinct, ranks = np.unique(row_values, return_inverse=True)
    width = len(distinct) + 1
    codes = row_group * width + ranks
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.zeros(len(table_group), np.int64)
    last = np.full(len(table_group), len(distinct), np.int64)
    for comparison, _ in bounds:
        constants = _numbers(comparison.constants)
        if comparison.op in ("gt", "ge"):
            side = "right" if comparison.op == "gt" else "left"
            first = np.maximum(first, np.searchsorted(distinct, constants, side))
        else:
            side = "left" if comparison.op == "lt" else "right"
            last = np.minimum(last, np.searchsorted(distinct, constants, side))
    low = np.searchsorted(ordered, table_group * width + first, "left")
    high = np.searchsorted(ordered, table_group * width + np.maximum(first, last), "left")
    return order, low, high
