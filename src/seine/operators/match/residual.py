"""Residual predicates: conjuncts with parameters that no index decides, evaluated on candidate pairs.

A fast path for linear comparisons: weighted sums compared with constants, in 64-bit integer arithmetic.

`weighted(x, y, ?0, ?1) <= ?2` is evaluated for many pairs of a row and a parameter row. Where all values and
sums are certain to fit 64 bits, the integers that represent the values are multiplied, added and compared
directly; otherwise the caller evaluates the expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Call, Expression, Parameter, walk
from seine.algebra.linear import WEIGHTED
from seine.algebra.types import Kind
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import truth
from seine.evaluate.kernels.decimals import magnitude
from seine.evaluate.kernels.ordinals import VALUE_CODES, codes_of, has_own_codes
from seine.evaluate.linear_sums import is_whole
from seine.operators.match.boxes import has_parameter

_ROWS_FOR_SCALARS = 64  # mean rows a selection from which its constants are better given as scalars

Pairs = tuple[IntArray, IntArray]  # positions of rows, positions of selections


class Residual:
    """Conjuncts over a row and a parameter row, each evaluated on the pairs that those before it left."""

    def __init__(self, parts: Sequence[Expression], table: Sequence[pa.Array]) -> None:
        self._table = table
        self._parts = [
            (
                part,
                {e.index for e in walk(part) if isinstance(e, Parameter)},
                LinearComparison.of(part, table),
            )
            for part in dict.fromkeys(parts)
        ]

    def __bool__(self) -> bool:
        return bool(self._parts)

    def where(self, columns: DataColumns, rows: IntArray, picks: IntArray) -> Pairs:
        """Of candidate pairs (row, selection) those for which all conjuncts hold."""
        for part, used, whole in self._parts:
            if not len(rows):
                break
            truths = None if whole is None else whole.holds(columns, rows, picks)
            if truths is None:
                truths = self._truth(part, used, columns, rows, picks)
            good = np.flatnonzero(truths)
            rows, picks = rows[good], picks[good]
        return rows, picks

    def _truth(
        self, part: Expression, used: set[int], columns: DataColumns, rows: IntArray, picks: IntArray
    ) -> BoolArray:
        """Whether a conjunct holds for each pair: by pair, or selection by selection where these are few."""
        order = np.argsort(picks, kind="stable")
        starts = np.flatnonzero(np.diff(picks[order], prepend=-1))
        if used and len(starts) * _ROWS_FOR_SCALARS > len(rows):
            return self._by_pair(part, used, columns, rows, picks)
        verdicts = np.empty(len(rows), bool)
        for mine in np.split(order, starts[1:]) if used else [order]:
            verdicts[mine] = self._by_selection(part, used, columns, rows[mine], int(picks[mine[0]]))
        return verdicts

    def _by_pair(
        self, part: Expression, used: set[int], columns: DataColumns, rows: IntArray, picks: IntArray
    ) -> BoolArray:
        """One evaluation with a column of constants for each parameter."""
        of = pa.array(picks)
        constants = [c.take(of) if i in used else None for i, c in enumerate(self._table)]
        return truth(part, columns.picked(part, rows), len(rows), constants)

    def _by_selection(
        self, part: Expression, used: set[int], columns: DataColumns, rows: IntArray, pick: int
    ) -> BoolArray:
        """One evaluation for the rows of one selection, with scalar constants."""
        constants = [c[pick] if i in used else None for i, c in enumerate(self._table)]
        return truth(part, columns.picked(part, rows), len(rows), constants)


_COMPARE: dict[str, Callable[[IntArray, IntArray], BoolArray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_MOST_EXACT = 2**62  # sums and constants below this are exact, and representable in every type


class ScaledTerm(NamedTuple):
    """An expression, and its factor in each parameter row; None if it has no factor."""

    expression: Expression
    factors: IntArray | None


class LinearComparison:
    """A comparison of a weighted sum with a constant; factors and constant are per parameter row.

    Law: where `holds` gives a mask, it is that of evaluating the expression; NULL is not true.
    """

    def __init__(self, op: str, terms: list[ScaledTerm], constants: IntArray) -> None:
        self._compare = _COMPARE[op]
        self._terms = terms
        self._sizes = [0 if term.factors is None else magnitude(term.factors) for term in terms]
        self._constants = constants

    @staticmethod
    def of(part: Expression, table: Sequence[pa.Array]) -> LinearComparison | None:
        """A conjunct with parameters as such a comparison; None if it has another form."""
        match part:
            case Call(op, (left, Parameter(index))) if op in _COMPARE and not table[index].null_count:
                pass
            case _:
                return None
        if isinstance(left, Call) and left.name == WEIGHTED:
            terms, constants = _terms(left, table), _wholes(table[index], left.type.scale)
            return None if terms is None or constants is None else LinearComparison(op, terms, constants)
        if has_parameter(left) or not has_own_codes(left.type) or left.type.arrow() != table[index].type:
            return None
        return LinearComparison(op, [ScaledTerm(left, None)], codes_of(table[index]))

    def holds(self, columns: DataColumns, rows: IntArray, picks: IntArray) -> BoolArray | None:
        """Whether it holds for each pair of a row and a parameter row; None if sums may not fit 64 bits."""
        total, valid, largest = np.zeros(len(rows), np.int64), None, 0
        for (expression, factors), size in zip(self._terms, self._sizes, strict=True):
            codes, known = columns.codes(expression, VALUE_CODES, rows)
            if known is not None:
                valid = known if valid is None else valid & known
            if factors is None:
                total = codes
                continue
            largest += size * magnitude(codes)
            if largest >= _MOST_EXACT:
                return None
            total += codes * factors.take(picks)
        truths = self._compare(total, self._constants.take(picks))
        return truths if valid is None else truths & valid


def _terms(sum_: Call, table: Sequence[pa.Array]) -> list[ScaledTerm] | None:
    half = len(sum_.args) // 2
    terms = []
    for expression, weight in zip(sum_.args[:half], sum_.args[half:], strict=True):
        if not isinstance(weight, Parameter) or has_parameter(expression) or not is_whole(expression.type):
            return None
        factors = _wholes(table[weight.index], 0)
        shift = 10 ** (sum_.type.scale - expression.type.scale) if sum_.type.kind is Kind.DECIMAL else 1
        if factors is None or magnitude(factors) * shift >= _MOST_EXACT:
            return None
        terms.append(ScaledTerm(expression, factors * shift))
    return terms


def _wholes(constants: pa.Array, scale: int) -> IntArray | None:
    """The integers that represent constants; None if a constant has none or is too large."""
    if constants.null_count:
        return None
    if pa.types.is_decimal(constants.type):
        numbers = [int(value.scaleb(scale)) for value in constants.to_pylist()]
    elif pa.types.is_integer(constants.type):
        numbers = constants.to_pylist()
    else:
        return None
    if max(map(abs, numbers), default=0) >= _MOST_EXACT:
        return None
    return np.array(numbers, np.int64)
