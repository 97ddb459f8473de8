"""Joins that ask whether a row has a partner, as plans: semi, anti and outer joins.

    L SEMI JOIN R ON p    the rows of L that are in a pair of L and R with p
    L ANTI JOIN R ON p    the rows of L that are in none
    L LEFT JOIN R ON p    the pairs, and the rows of L that are in none, with NULLs in place of R's columns

Law: rows of L with equal values meet the same rows of R, since p sees values alone. So which rows have a
partner is an operation on two bags, L and what the pairs have of it, and the pairs are those of a plain join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from seine.algebra.expressions import Column, Expression, Literal, conjunction, conjuncts, shift_columns
from seine.algebra.functions import literal, resolve_call
from seine.algebra.plan import (
    Lookup,
    LookupKind,
    PartnerLookup,
    Plan,
    Project,
    Scan,
    SetKind,
    SetOperation,
    UnionAll,
    walk,
)
from seine.frontends.sql.block_plan import block_plan, joined_plan, validity
from seine.frontends.sql.scope import OUTER, Context, FromBlock, FromItem, NamedExpression, is_pair


@dataclass(frozen=True)
class PartnerJoin:
    """Two blocks and the conditions on their pairs, over the left row followed by the right row.

    With several `alternatives` a pair is one that satisfies any of them.
    """

    left: FromBlock
    right: FromBlock
    alternatives: Sequence[Sequence[Expression]]
    node: exp.Expr
    context: Context

    def with_partner(self, kind: SetKind) -> None:
        """Leave of the left block the rows that have a partner (SEMI), or those that have none (ANTI)."""
        correlated = self._correlated()
        plan = self._looked_up(LookupKind(kind.value)) or self._with_partner(kind)
        self.left.become(plan, self.left.tables(0))
        self.left.conjuncts += correlated

    def outer(self, keeps_left: bool, keeps_right: bool) -> None:
        """Make the left block the outer join, of which one side or both keep rows without a partner."""
        width, correlated = self.left.width, self._correlated()
        looked_up = self._outer_lookup(keeps_left, keeps_right)
        if looked_up is not None:
            self._become(looked_up, correlated)
            return
        pairs = self._pairs(self.alternatives[0])
        branches: list[Plan] = [pairs]
        if keeps_left:
            branches.append(_padded(self._with_partner(SetKind.ANTI), pairs, range(width)))
        if keeps_right:
            mirrored = self._mirrored()._with_partner(SetKind.ANTI)
            branches.append(_padded(mirrored, pairs, range(width, len(pairs.schema))))
        self._become(UnionAll(tuple(branches)), correlated)

    def _become(self, plan: Plan, correlated: list[Expression]) -> None:
        """Make the left block an outer join, with what is seen of the right behind it."""
        width = self.left.width
        tables = [*self.left.tables(0), *self.right.tables(width)]
        visible = [shifted_item(item, width) for item in self.right.visible]
        self.left.become(plan, tables)
        self.left.conjuncts += correlated
        self.left.visible += visible

    def _outer_lookup(self, keeps_left: bool, keeps_right: bool) -> Plan | None:
        """The outer join, if the side that may be missing is one relation."""
        if keeps_left and keeps_right:
            return None
        if keeps_left:
            return self._looked_up(LookupKind.LEFT)
        plan = self._mirrored()._looked_up(LookupKind.LEFT)
        if plan is None:
            return None
        columns, first = _columns(plan), self.right.width
        names = [field.name for field in plan.schema]
        return Project(plan, (*columns[first:], *columns[:first]), (*names[first:], *names[:first]))

    def _looked_up(self, kind: LookupKind) -> PartnerLookup | None:
        """The join, if its right side is one relation: a lookup, whose rows keep their lives."""
        if len(self.right.items) != 1 or not isinstance(self.right.items[0], Lookup):
            return None
        self._refuse_relations()
        width = self.left.width
        refuse_outer([part for one in self.alternatives for part in one], self.node, self.context)
        right_parts = [_shifted(part, width) for part in uncorrelated(self.right).conjuncts]
        ways = [conjunction([*parts]) for parts in self.alternatives]
        either = [one for one in ways if one is not None]
        joined = [resolve_call("or", either)] if len(either) > 1 else either
        joined = joined if len(either) == len(ways) else []  # a way without conditions is always open
        predicate = conjunction([*right_parts, *joined, *self._validity()]) or literal(True)
        left = block_plan(uncorrelated(self.left), self.node, self.context)
        return PartnerLookup(left, self.right.items[0], predicate, kind)

    def _correlated(self) -> list[Expression]:
        """The conditions of the left with columns of the query around: they stay above."""
        parts = [part for condition in self.left.conjuncts for part in conjuncts(condition)]
        return [part for part in parts if is_correlated(part)]

    def _with_partner(self, kind: SetKind) -> SetOperation:
        self._refuse_relations()
        left = block_plan(uncorrelated(self.left), self.node, self.context)
        columns, names = _columns(left), tuple(field.name for field in left.schema)
        pairs = [Project(self._pairs(one), columns, names) for one in self.alternatives]
        reads = {
            index
            for conditions in self.alternatives
            for condition in (*conditions, *self._validity())
            for index in condition.columns
            if index < self.left.width
        }
        met: Plan = pairs[0] if len(pairs) == 1 else UnionAll(tuple(pairs))
        return SetOperation(left, met, kind, tuple(sorted(reads)))

    def _refuse_relations(self) -> None:
        if not any(isinstance(part, Scan) for item in self.left.items for part in walk(item)):
            hint = "keep the rows of a stream; a relation's tuples are looked up"
            raise self.context.error(self.node, "an outer join keeps the rows of streams", hint)

    def _pairs(self, conditions: Sequence[Expression]) -> Plan:
        """The join of both blocks, its row the left one followed by the right one."""
        refuse_outer(conditions, self.node, self.context)
        both = self._both()
        both.conjuncts += conditions
        return joined_plan(both, self.node, self.context)

    def _validity(self) -> list[Expression]:
        """What VALID relations ask of pairs."""
        return validity(self._both(), self.node, self.context)

    def _both(self) -> FromBlock:
        both = uncorrelated(self.left)
        both.merge(uncorrelated(self.right), [])
        return both

    def _mirrored(self) -> PartnerJoin:
        width, other = self.left.width, self.right.width

        def swapped(index: int) -> int:
            return index + other if index < width else index - width

        alternatives = [[shift_columns(part, swapped) for part in one] for one in self.alternatives]
        return PartnerJoin(self.right, self.left, alternatives, self.node, self.context)


def combined(left: FromBlock, right: FromBlock) -> FromBlock:
    """What is visible where conditions on pairs of two blocks are written."""
    visible = [*left.visible, *(shifted_item(item, left.width) for item in right.visible)]
    return FromBlock(visible=visible)


def shifted_item(item: FromItem, by: int) -> FromItem:
    """A FROM item whose columns are so much further right."""
    columns = [NamedExpression(c.name, _shifted(c.value, by)) for c in item.columns]
    joined = {name: _shifted(value, by) for name, value in item.joined.items()}
    return FromItem(item.alias, columns, item.merged, joined)


def with_plain_columns(block: FromBlock, node: exp.Expr, context: Context) -> None:
    """Make what a block computes columns of its row, so that all of them are NULL where there is no row."""
    computed = [c.value for item in block.visible for c in item.columns if not _is_plain(c.value)]
    if not computed:
        return
    refuse_outer([*computed, *block.conjuncts], node, context)
    tables, width = block.tables(0), block.width
    plan = joined_plan(block, node, context)
    values = [*dict.fromkeys(computed)]
    names = [*(field.name for field in plan.schema), *(f"c{i}" for i in range(len(values)))]
    block.become(Project(plan, (*_columns(plan), *values), tuple(names)), tables)
    for item in block.visible:
        item.columns[:] = [
            c if _is_plain(c.value) else NamedExpression(c.name, _made(values, c.value, width))
            for c in item.columns
        ]


def from_sub_query(expression: Expression, width: int) -> Expression:
    """An expression of a sub-query over pairs of its row and the row around it, which has this width."""
    return shift_columns(expression, lambda index: index - OUTER if index >= OUTER else index + width)


def refuse_outer(expressions: Iterable[Expression], node: exp.Expr, context: Context) -> None:
    """Refuse expressions with columns of the query around a sub-query."""
    if any(map(is_correlated, expressions)):
        hint = "compare them in the WHERE of the sub-query itself"
        raise context.error(node, "columns of the query around are not supported here", hint)


def is_correlated(expression: Expression) -> bool:
    """Whether an expression reads columns of the query around a sub-query."""
    return any(index >= OUTER for index in expression.columns)


def uncorrelated(block: FromBlock) -> FromBlock:
    """A block with those of its conditions that read its own row alone."""
    parts = [part for condition in block.conjuncts for part in conjuncts(condition)]
    return FromBlock(
        [*block.items], [*block.owners], [p for p in parts if not is_correlated(p)], inner=[*block.inner]
    )


def _made(values: Sequence[Expression], value: Expression, width: int) -> Column:
    return Column(width + values.index(value), value.type)


def _is_plain(value: Expression) -> bool:
    parts = value.args if is_pair(value) else (value,)  # type: ignore[attr-defined]
    return all(isinstance(part, Column) for part in parts)


def _padded(rows: Plan, pairs: Plan, kept: range) -> Project:
    """Rows of one side as rows of pairs, with NULLs in the columns of the other."""
    values = tuple(
        Column(index - kept.start, field.type) if index in kept else Literal(None, field.type)
        for index, field in enumerate(pairs.schema)
    )
    return Project(rows, values, tuple(field.name for field in pairs.schema))


def _columns(plan: Plan) -> tuple[Column, ...]:
    return tuple(Column(index, field.type) for index, field in enumerate(plan.schema))


def _shifted(expression: Expression, by: int) -> Expression:
    move: Callable[[int], int] = lambda index: index + by  # noqa: E731
    return shift_columns(expression, move)
