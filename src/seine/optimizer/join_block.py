"""A block of joins taken apart: its items, its conditions, and the columns it gives."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from seine.algebra.expressions import Expression, columns_of, conjuncts, shift_columns, substitute
from seine.algebra.plan import Join, Lookup, Plan, Project, Select
from seine.optimizer.traverse import identity, stays_small


@dataclass(frozen=True)
class JoinBlock:
    """Items joined in any order. Expressions address the concatenation of the items in this order."""

    items: tuple[Plan, ...]
    conditions: tuple[Expression, ...]
    outputs: tuple[Expression, ...]

    @cached_property
    def offsets(self) -> list[int]:
        """The position of each item's first column, and the total width at the end."""
        offsets = [0]
        for item in self.items:
            offsets.append(offsets[-1] + len(item.schema))
        return offsets

    def items_of(self, expression: Expression) -> frozenset[int]:
        """The numbers of the items whose columns an expression reads."""
        return frozenset(bisect_right(self.offsets, index) - 1 for index in columns_of(expression))

    @cached_property
    def reads(self) -> list[frozenset[int]]:
        """For each condition, the numbers of the items that it reads."""
        return [self.items_of(condition) for condition in self.conditions]


def flatten(plan: Plan) -> JoinBlock:
    """Take apart the joins at the top of a plan, with the selections and projections between them."""
    match plan:
        case Join(left, right, predicate):
            return concatenate(flatten(left), flatten(right), conjuncts(predicate))
        case Select(input, predicate) if _is_join(input):
            block = flatten(input)
            conditions = [substitute(part, block.outputs) for part in conjuncts(predicate)]
            return JoinBlock(block.items, block.conditions + tuple(conditions), block.outputs)
        case Project(input, expressions, _) if _is_join(input):
            block = flatten(input)
            if stays_small(expressions, block.outputs):
                outputs = tuple(substitute(e, block.outputs) for e in expressions)
                return JoinBlock(block.items, block.conditions, outputs)
    return JoinBlock((plan,), (), tuple(identity(plan)))


def _is_join(plan: Plan) -> bool:
    """Whether a plan is a join, or a relation, beneath selections and projections."""
    while isinstance(plan, Select | Project):
        plan = plan.input
    return isinstance(plan, Join | Lookup)


def concatenate(left: JoinBlock, right: JoinBlock, conditions: list[Expression]) -> JoinBlock:
    """The items of both, with conditions over what they give."""
    width = left.offsets[-1]

    def move(expression: Expression) -> Expression:
        return shift_columns(expression, lambda index: index + width)

    outputs = left.outputs + tuple(map(move, right.outputs))
    both = left.conditions + tuple(map(move, right.conditions))
    own = tuple(substitute(condition, outputs) for condition in conditions)
    return JoinBlock(left.items + right.items, both + own, outputs)
