"""Sargable conjuncts of a shape, which an index can decide: `x <op> c`, and `x IN (c, ...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, rewrite, walk
from seine.algebra.types import Kind

_MIRROR = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class Comparison(NamedTuple):
    """`expression <op> constant` for every selection; `in` has several constants, the others one."""

    op: str
    expression: Expression
    constants: list[pa.Array]  # each has one value for each selection


def comparison_of(part: Expression, table: Sequence[pa.Array], count: int) -> Comparison | None:
    """A conjunct as a Comparison, or None if it has another form; `table[i]` are the constants of ?i."""
    if not isinstance(part, Call) or not (part.name in _MIRROR or part.name == "in"):
        return None
    (left, *right), op = part.args, part.name
    if op != "in" and isinstance(left, Parameter | Literal):
        left, right, op = right[0], [left], _MIRROR[op]
    if op == "in":  # a NULL in the list never makes it true
        right = [one for one in right if not (isinstance(one, Literal) and one.value is None)]
    known = all(_is_constant(one) and one.type == left.type for one in right)
    if not known or not any(isinstance(e, Column) for e in walk(left)) or has_parameter(left):
        return None
    if left.type.kind is Kind.NULL:
        return None
    return Comparison(op, left, [_constants(one, table, count) for one in right])


def with_shared_constants(part: Expression, table: Sequence[pa.Array]) -> Expression:
    """A conjunct in which parameters inside of operands are constants, where all selections have the same.

    So `MOD(x, ?0) = ?1` is a comparison of MOD(x, 1000) where ?0 is 1000 in every row of the table.
    """
    if not isinstance(part, Call) or part.name not in _MIRROR:
        return part
    return Call(part.name, tuple(_with_shared(arg, table) for arg in part.args), part.type)


def _with_shared(operand: Expression, table: Sequence[pa.Array]) -> Expression:
    if isinstance(operand, Parameter) or not has_parameter(operand):
        return operand

    def shared(one: Expression) -> Expression:
        if not isinstance(one, Parameter) or not (one.type.is_integer or one.type.is_text):
            return one
        values = table[one.index]
        if not len(values) or values.null_count or not pc.all(pc.equal(values, values[0])).as_py():
            return one
        return Literal(values[0].as_py(), one.type)

    return rewrite(operand, shared)


def _is_constant(expression: Expression) -> bool:
    literal = isinstance(expression, Literal) and expression.value is not None
    return literal or isinstance(expression, Parameter)


def _constants(one: Expression, table: Sequence[pa.Array], count: int) -> pa.Array:
    if isinstance(one, Parameter):
        assert table[one.index].type == one.type.arrow(), f"the constants of {one} are of another type"
        return table[one.index]
    assert isinstance(one, Literal)
    return pa.repeat(pa.scalar(one.value, one.type.arrow()), count)


def has_parameter(expression: Expression) -> bool:
    """Whether an expression has a parameter, so that its value depends on the selection."""
    return any(isinstance(e, Parameter) for e in walk(expression))
