"""The condition of an outer, semi or anti lookup in the terms of its node: constants are columns of the rows.

    t LEFT JOIN c ON t.k = c.id AND c.rank > 3      rows (tag, k, 3), keys k = id, and k = id AND rank > 3

So queries that differ in constants share the node.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Parameter,
    conjuncts,
    rewrite,
    shift_columns,
    split_shape,
)
from seine.algebra.plan import PartnerLookup


@dataclass(frozen=True)
class LookupTerms:
    """A condition over a tagged row, constants behind it, and a tuple; and its equalities as keys."""

    constants: tuple[Literal, ...]
    predicate: Expression
    row_key: tuple[Expression, ...]
    relation_key: tuple[Expression, ...]


def lookup_terms(plan: PartnerLookup) -> LookupTerms:
    """The terms in which a node asks for partners."""
    width = len(plan.input.schema)
    shape, constants = split_shape(plan.predicate)
    total = 1 + width + len(constants)
    moved = shift_columns(shape, lambda index: 1 + index if index < width else total + index - width)

    def change(node: Expression) -> Expression:
        return Column(1 + width + node.index, node.type) if isinstance(node, Parameter) else node

    predicate = rewrite(moved, change)
    pairs = [pair for part in conjuncts(predicate) if (pair := _key(part, total)) is not None]
    keys = [shift_columns(tuple_, lambda index: index - total) for _, tuple_ in pairs]
    return LookupTerms(constants, predicate, tuple(row for row, _ in pairs), tuple(keys))


def _key(part: Expression, total: int) -> tuple[Expression, Expression] | None:
    """The two sides of an equality of the row and the tuple, whose columns are from `total` on."""
    if not isinstance(part, Call) or part.name != "eq" or part.args[0].type != part.args[1].type:
        return None
    for row, tuple_ in (part.args, part.args[::-1]):
        if row.columns and max(row.columns) < total and tuple_.columns and min(tuple_.columns) >= total:
            return row, tuple_
    return None
