"""A fast path for linear comparisons: weighted sums compared with constants, in 64-bit integer arithmetic.

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
from seine.algebra.expressions import Call, Expression, Parameter
from seine.algebra.linear_names import WEIGHTED
from seine.algebra.types import Kind
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.kernels.decimals import magnitude
from seine.evaluate.linear_sums import is_whole
from seine.evaluate.ordinals import VALUE_CODES, codes_of, has_own_codes
from seine.operators.match.comparison import has_parameter

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
