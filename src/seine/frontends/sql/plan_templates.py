"""Queries put together from phrases that are known: a skeleton, and conditions for each of its WHEREs.

Law: the plan is the one that `parse_select` makes of the whole text. A condition is parsed alone, in the
scope of its WHERE; that is the same because AND binds less than all that a condition may hold (what
binds even less, OR and its like, is not taken), and because what a WHERE says is read by nothing else.
What is new in an unexpected way, wrong or large is left to `parse_select`, and so are all refusals.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from sqlglot import exp

from seine.algebra.expressions import Call, Column, Expression, conjunction, conjuncts, same, substitute
from seine.algebra.plan import Aggregate, Distinct, Except, Join, Plan, Project, Select, UnionAll, walk
from seine.algebra.types import BOOLEAN
from seine.errors import SeineError
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.condition_templates import ConditionTemplates
from seine.frontends.sql.context import Context, Table
from seine.frontends.sql.cut_conditions import cut_conditions
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.scope import FromBlock, FromItem, NamedExpression
from seine.frontends.text.lexer import Token
from seine.frontends.text.source_text import ScriptText

_MAX_CACHED = 1 << 16  # skeletons, or conditions of a scope
_MAX_CONDITION_NODES = 100  # parts of a condition; so none is nested too deeply either
_MAX_CONDITIONS = 500  # of one query

BoundConjuncts = tuple[Expression, ...] | None  # conjuncts; None if a condition has to be read with its query


@dataclass(frozen=True)
class _Scope:
    """The columns that a WHERE may name, and what conditions mean over a row of just these."""

    block: FromBlock
    templates: ConditionTemplates
    known: dict[str, BoundConjuncts] = field(default_factory=dict)

    def meaning(self, text: str) -> BoundConjuncts:
        if text not in self.known:
            _evict_if_full(self.known)
            self.known[text] = _bind_condition(text, self.block, self.templates)
        return self.known[text]


@dataclass(frozen=True)
class _WhereSlot:
    """A WHERE of a skeleton: what it sees, and where the columns of that are in the rows of its plan."""

    scope: _Scope
    columns: tuple[Expression, ...]
    known: dict[str, BoundConjuncts] = field(default_factory=dict)

    def meaning(self, text: str) -> BoundConjuncts:
        if text not in self.known:
            _evict_if_full(self.known)
            meant = self.scope.meaning(text)
            self.known[text] = meant and tuple([same(substitute(part, self.columns)) for part in meant])
        return self.known[text]


@dataclass(frozen=True)
class _PlanTemplate:
    """A plan with a call `where k` in place of the conditions of the k-th WHERE."""

    plan: Plan
    holes: tuple[_WhereSlot, ...]


class _ComputedColumnVisible(Exception):
    """A WHERE sees what is computed, which may decide what its conditions mean."""


class PlanTemplates:
    """What was learned from the queries of a script; good for as long as its tables stay the same."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.tables = tables
        self._skeletons: dict[str, _PlanTemplate | None] = {}
        self._met: dict[str, None] = {}
        self._scopes: dict[Hashable, _Scope] = {}
        self._templates = ConditionTemplates()

    def plan(self, source: ScriptText, tokens: Sequence[Token], start: int, end: int) -> Plan | None:
        """The plan of the query between two offsets; None if it cannot be put together."""
        parts = cut_conditions(source.text, tokens, start, end)
        if parts is None or sum(map(len, parts.conditions)) > _MAX_CONDITIONS:
            return None
        skeleton = self._skeleton(parts.skeleton)
        if skeleton is None:
            return None
        given: dict[str, list[Expression]] = {}
        for number, (hole, texts) in enumerate(zip(skeleton.holes, parts.conditions, strict=True)):
            meanings = [hole.meaning(text) for text in texts]
            if None in meanings:
                return None
            given[_slot_name(number)] = [part for meant in meanings for part in meant or ()]
        return _filled(skeleton.plan, given)

    def _skeleton(self, text: str) -> _PlanTemplate | None:
        """A skeleton is taken apart when it is met again: most scripts have few queries."""
        if text not in self._skeletons:
            if text not in self._met:
                _evict_if_full(self._met)
                self._met[text] = None
                return None
            _evict_if_full(self._skeletons)
            self._skeletons[text] = self._taken_apart(text)
        return self._skeletons[text]

    def _taken_apart(self, text: str) -> _PlanTemplate | None:
        scopes: dict[str, _Scope] = {}

        def where(node: exp.Expr, block: FromBlock) -> Expression:
            name = _slot_name(int(node.name))
            scopes[name], columns = self._scope(block)
            return Call(name, columns, BOOLEAN)

        try:
            plan = parse_select(ScriptText(text, ""), 0, len(text), self.tables, where)
        except (SeineError, _ComputedColumnVisible):
            return None
        columns = {part.name: part.args for part in _slots_of(plan)}
        names = map(_slot_name, range(len(scopes)))
        return _PlanTemplate(plan, tuple(_WhereSlot(scopes[name], columns[name]) for name in names))

    def _scope(self, block: FromBlock) -> tuple[_Scope, tuple[Expression, ...]]:
        """What a WHERE sees, whatever the order of FROM; and the values of its columns."""
        visible = sorted(block.visible, key=lambda item: item.alias)
        columns = tuple(column.value for item in visible for column in item.columns)
        if not all(isinstance(value, Column) for value in columns):
            raise _ComputedColumnVisible
        key = tuple(
            (item.alias, tuple((c.name, c.value.type) for c in item.columns), frozenset(item.merged))
            for item in visible
        )
        if key not in self._scopes:
            _evict_if_full(self._scopes)
            self._scopes[key] = _Scope(_local(visible), self._templates)
        return self._scopes[key], columns


def _slot_name(number: int) -> str:
    return f"where {number}"


def _local(visible: Sequence[FromItem]) -> FromBlock:
    """The same names over a row that has nothing else."""
    places = count()
    return FromBlock(
        visible=[
            FromItem(
                item.alias,
                [NamedExpression(c.name, Column(next(places), c.value.type)) for c in item.columns],
                item.merged,
            )
            for item in visible
        ]
    )


def _bind_condition(text: str, scope: FromBlock, templates: ConditionTemplates) -> BoundConjuncts:
    """What a condition means by itself."""
    try:
        condition = templates.condition(text)
        if condition is None:
            return None
        translator = ExpressionBinder(Context(condition.source, 0, {}), scope, "WHERE")
        meant = translator.condition(condition.tree, "WHERE")
    except (SeineError, RecursionError):
        return None
    return tuple(conjuncts(meant)) if meant.size <= _MAX_CONDITION_NODES else None


def _slots_of(plan: Plan) -> list[Call]:
    parts = [part for node in walk(plan) if isinstance(node, Select) for part in conjuncts(node.predicate)]
    return [part for part in parts if isinstance(part, Call) and part.name.startswith("where ")]


def _filled(plan: Plan, given: Mapping[str, list[Expression]]) -> Plan:
    """A skeleton's plan with conditions in place of its holes."""
    match plan:
        case Select(input, predicate):
            parts: list[Expression] = []
            for part in conjuncts(predicate):
                own = given.get(part.name) if isinstance(part, Call) else None
                parts += [part] if own is None else own
            whole = conjunction(parts)
            assert whole is not None
            return Select(_filled(input, given), whole)
        case Project(input, expressions, names):
            return Project(_filled(input, given), expressions, names)
        case Aggregate(input, keys, calls, names):
            return Aggregate(_filled(input, given), keys, calls, names)
        case Distinct(input):
            return Distinct(_filled(input, given))
        case Join(left, right, on):
            return Join(_filled(left, given), _filled(right, given), on)
        case Except(left, right):
            return Except(_filled(left, given), _filled(right, given))
        case UnionAll(branches):
            return UnionAll(tuple(_filled(branch, given) for branch in branches))
    return plan


def _evict_if_full(known: dict[Any, Any]) -> None:
    if len(known) >= _MAX_CACHED:
        known.clear()
