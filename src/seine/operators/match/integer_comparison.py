"""Comparisons of sums with constants, over whole numbers of 64 bits.

`weighted(x, y, ?0, ?1) <= ?2` is asked of many pairs of a row and a table row. Where all values and sums
surely fit 64 bits, numbers beneath the values are multiplied, added and compared as they are; else the
caller evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Call, Expression, Parameter
from seine.algebra.linear_names import WEIGHTED
from seine.algebra.types import Kind
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.kernels.decimals import magnitude
from seine.evaluate.linear_sums import is_whole
from seine.evaluate.ordinals import OWN, codes_of, has_own_codes
from seine.operators.match.comparison import has_parameter

_COMPARE: dict[str, Callable[[IntArray, IntArray], IntArray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_SURE = 2**62  # sums and constants below this are exact, and of every type


class ScaledTerm(NamedTuple):
    """An expression, and by what it is multiplied with each row of the table; None if by nothing."""

    expression: Expression
    factors: IntArray | None


class WholeComparison:
    """A comparison of a sum with a constant, the factors and the constant by row of a table.

    Law: where `holds` gives an answer, it is that of evaluating; NULL is not true.
    """

    def __init__(self, op: str, terms: list[ScaledTerm], constants: IntArray) -> None:
        self._compare = _COMPARE[op]
        self._terms = terms
        self._sizes = [0 if term.factors is None else magnitude(term.factors) for term in terms]
        self._constants = constants

    @staticmethod
    def of(part: Expression, table: Sequence[pa.Array]) -> WholeComparison | None:
        """The comparison that a conjunct with parameters is, if it is one of these."""
        match part:
            case Call(op, (left, Parameter(index))) if op in _COMPARE and not table[index].null_count:
                pass
            case _:
                return None
        if isinstance(left, Call) and left.name == WEIGHTED:
            terms, constants = _terms(left, table), _wholes(table[index], left.type.scale)
            return None if terms is None or constants is None else WholeComparison(op, terms, constants)
        if has_parameter(left) or not has_own_codes(left.type) or left.type.arrow() != table[index].type:
            return None
        return WholeComparison(op, [ScaledTerm(left, None)], codes_of(table[index]))

    def holds(self, columns: DataColumns, rows: IntArray, picks: IntArray) -> IntArray | None:
        """Whether it holds for each row with the constants of a table row; None if that is not certain."""
        total, valid, largest = np.zeros(len(rows), np.int64), None, 0
        for (expression, factors), size in zip(self._terms, self._sizes, strict=True):
            codes, known = columns.codes(expression, OWN, rows)
            if known is not None:
                valid = known if valid is None else valid & known
            if factors is None:
                total = codes
                continue
            largest += size * magnitude(codes)
            if largest >= _SURE:
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
        if factors is None or magnitude(factors) * shift >= _SURE:
            return None
        terms.append(ScaledTerm(expression, factors * shift))
    return terms


def _wholes(constants: pa.Array, scale: int) -> IntArray | None:
    """The numbers beneath constants, if there are and all are small; `scale` is that of a DECIMAL."""
    if constants.null_count:
        return None
    if pa.types.is_decimal(constants.type):
        numbers = [int(value.scaleb(scale)) for value in constants.to_pylist()]
    elif pa.types.is_integer(constants.type):
        numbers = constants.to_pylist()
    else:
        return None
    if max(map(abs, numbers), default=0) >= _SURE:
        return None
    return np.array(numbers, np.int64)
