"""A conjunct `expression <op> constant` of many selections at once: one column of their parameter table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Column, Expression, Parameter, walk
from seine.algebra.types import BOOLEAN
from seine.operators.evaluate import truth

_MIRROR = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class Comparison:
    """`expression <op> constants[i]` for selection i; both sides have the same type."""

    def __init__(self, op: str, expression: Expression, constants: pa.Array) -> None:
        self.op = op
        self.expression = expression
        self.constants = constants

    def verify(self, values: pa.Array, rows: np.ndarray, picks: np.ndarray) -> np.ndarray:
        """Which of the pairs (row, selection) satisfy the conjunct."""
        left, right = values.take(pa.array(rows)), self.constants.take(pa.array(picks))
        type_ = self.expression.type
        test = Call(self.op, (Column(0, type_), Column(1, type_)), BOOLEAN)
        return truth(test, [left, right], len(rows))


def comparison_of(part: Expression, table: list[pa.Array]) -> Comparison | None:
    """The conjunct of a shape as a Comparison, if it has that form; `table[i]` are the constants of ?i."""
    if not (isinstance(part, Call) and part.name in _MIRROR):
        return None
    (left, right), op = part.args, part.name
    if isinstance(left, Parameter):
        left, right, op = right, left, _MIRROR[op]
    if not isinstance(right, Parameter) or has_parameter(left) or left.type != right.type:
        return None
    return Comparison(op, left, table[right.index])


def has_parameter(expression: Expression) -> bool:
    return any(isinstance(e, Parameter) for e in walk(expression))


def ordinals(values: pa.Array, constants: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that are ordered like the values and constants, which have no NULL.

    >>> [numbers.tolist() for numbers in ordinals(pa.array(["b", "a"]), pa.array(["ab", "b"]))]
    [[2, 0], [1, 2]]
    """
    type_ = values.type
    if not (pa.types.is_string(type_) or pa.types.is_decimal(type_)):
        return _numbers(values), _numbers(constants)
    encoded = pa.concat_arrays([values, constants]).dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    both = ranks[encoded.indices.to_numpy()]
    return both[: len(values)], both[len(values) :]


def _numbers(array: pa.Array) -> np.ndarray:
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        array = array.view(pa.int64())
    return array.to_numpy(zero_copy_only=False)
