"""A plan taken apart for judging: the items of a block of joins, its conditions, and what it gives.

A chain of joins is walked, not recursed into, and its columns are put side by side once: a query of a
thousand streams is taken apart in a thousand steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seine.algebra.expressions import Column, Expression, conjuncts, shift_columns, substitute
from seine.algebra.plan import Join, Plan, Project, Select
from seine.optimizer.stated import stated


@dataclass(frozen=True)
class Block:
    """Items side by side. `starts` has the first column of each; expressions address all of them.

    Equalities are said plainly, as they are where the query is built.
    """

    items: tuple[Plan, ...]
    starts: tuple[int, ...]
    conditions: tuple[Expression, ...]
    outputs: tuple[Expression, ...]


def block_of(plan: Plan) -> Block:
    """The block at the top of a plan; its items are scans, look-ups, and whatever ends a block."""
    return _Taken().block(plan)


class _Taken:
    def __init__(self) -> None:
        self.items: list[Plan] = []
        self.starts: list[int] = []
        self.conditions: list[Expression] = []
        self.width = 0

    def block(self, plan: Plan) -> Block:
        outputs = self.take(plan)
        return Block(tuple(self.items), tuple(self.starts), stated(self.conditions), tuple(outputs))

    def take(self, plan: Plan) -> Sequence[Expression]:
        """Add what is beneath a plan; the result has its columns."""
        match plan:
            case Select(input, predicate):
                outputs = self.take(input)
                self._add(predicate, outputs)
                return outputs
            case Project(input, expressions, _):
                inner = self.take(input)
                return [_moved(expression, inner) for expression in expressions]
            case Join():
                return self._take_joins(plan)
        return self._take_item(plan)

    def _take_joins(self, plan: Join) -> Sequence[Expression]:
        predicates: list[Expression] = []
        rights: list[Plan] = []
        left: Plan = plan
        while isinstance(left, Join):
            rights.append(left.right)
            if left.predicate is not None:
                predicates.append(left.predicate)
            left = left.left
        outputs = list(self.take(left))
        for right in reversed(rights):
            outputs += self.take(right)
        for predicate in predicates:
            self._add(predicate, outputs)
        return outputs

    def _take_item(self, plan: Plan) -> Sequence[Expression]:
        start = self.width
        self.items.append(plan)
        self.starts.append(start)
        self.width += len(plan.schema)
        return [Column(start + index, field.type) for index, field in enumerate(plan.schema)]

    def _add(self, predicate: Expression, outputs: Sequence[Expression]) -> None:
        self.conditions += [_moved(part, outputs) for part in conjuncts(predicate)]


def _moved(expression: Expression, outputs: Sequence[Expression]) -> Expression:
    """The expression over the columns of the items."""
    if all(isinstance(outputs[index], Column) for index in expression.columns):
        return shift_columns(expression, lambda index: _index(outputs[index]))
    return substitute(expression, list(outputs))


def _index(column: Expression) -> int:
    assert isinstance(column, Column)
    return column.index
