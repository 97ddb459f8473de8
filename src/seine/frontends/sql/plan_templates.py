"""A cache of plan templates: the plan of a query is assembled from a known skeleton and known conditions.

Law: the plan equals the one that `parse_select` makes of the whole text. A condition is parsed alone, in the
scope of its WHERE; the result is the same because AND binds more loosely than all that a condition may hold
(conditions with OR outside of parentheses are not taken), and because nothing else reads a WHERE. Texts that
are not plain, wrong or large are left to `parse_select`, and so are all errors.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from sqlglot import exp

from seine.algebra.expressions import (
    Call,
    Column,
    Expression,
    conjunction,
    conjuncts,
    intern_expression,
    substitute,
)
from seine.algebra.over_plan import Over
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Join,
    PartnerLookup,
    Plan,
    Project,
    Select,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.rank_plan import Rank
from seine.algebra.types import BOOLEAN
from seine.errors import SeineError
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.condition_templates import ConditionTemplates
from seine.frontends.sql.context import Context, Table
from seine.frontends.sql.cut_conditions import cut_conditions
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.ranked_tables import by_rank, rank_name
from seine.frontends.sql.scope import FromBlock, FromItem, NamedExpression
from seine.frontends.sql.skeleton_trees import SkeletonTrees
from seine.frontends.text.lexer import Token
from seine.frontends.text.source_text import ScriptText

_MAX_CACHED = 1 << 16  # entries of each cache
_MAX_CONDITION_NODES = 100  # so that none is nested too deeply either
_MAX_CONDITIONS = 500  # of one query
_MAX_SKELETONS = 1 << 13  # whose templates are kept
_FEW_SKELETONS = 32  # while there are no more, most conditions are new, and a template does not pay at once

BoundConjuncts = tuple[Expression, ...] | None  # conjuncts; None: left to `parse_select`


@dataclass(frozen=True)
class _Scope:
    """The scope of a WHERE, over a row of just the columns in scope; `known` caches conditions by text."""

    block: FromBlock
    templates: ConditionTemplates
    known: dict[str, BoundConjuncts] = field(default_factory=dict)

    def bind(self, text: str) -> BoundConjuncts:
        if text not in self.known:
            _evict_if_full(self.known)
            self.known[text] = _bind_condition(text, self.block, self.templates)
        return self.known[text]


@dataclass(frozen=True)
class _PlacedScope:
    """A scope whose columns are expressions over other rows; `known` caches conditions by text."""

    scope: _Scope
    columns: tuple[Expression, ...]
    known: dict[str, BoundConjuncts] = field(default_factory=dict)

    def bind(self, text: str) -> BoundConjuncts:
        if text not in self.known:
            _evict_if_full(self.known)
            parts = self.scope.bind(text)
            self.known[text] = parts and tuple(
                [intern_expression(substitute(part, self.columns)) for part in parts]
            )
        return self.known[text]


@dataclass(frozen=True)
class _WhereSlot:
    """A WHERE of a template, over the rows of the template's plan: its scope, in which tables have their
    aliases, and the same with tables by rank, which slots of other aliases share.
    """

    aliased: _PlacedScope
    ranked: _PlacedScope
    ranks: Mapping[str, str]
    known: dict[str, BoundConjuncts] = field(default_factory=dict)

    def bind(self, text: str) -> BoundConjuncts:
        if text not in self.known:
            _evict_if_full(self.known)
            ranked = by_rank(text, self.ranks)
            self.known[text] = self.aliased.bind(text) if ranked is None else self.ranked.bind(ranked)
        return self.known[text]


@dataclass(frozen=True)
class _PlanTemplate:
    """A plan with a call `where k` in place of the conditions of the k-th WHERE, its k-th slot."""

    plan: Plan
    slots: tuple[_WhereSlot, ...]


class _NoTemplate(Exception):
    """A plan cannot be filled in: a computed column is in the scope of a WHERE, and its expression may affect
    how conditions are bound; or a WHERE is more than what is filled in, as that of EXISTS among outputs.
    """


class PlanTemplates:
    """The plan templates of a script, by skeleton; valid while its streams and relations stay the same."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.tables = tables
        self._by_skeleton: dict[str, _PlanTemplate | None] = {}
        self._seen_once: dict[str, None] = {}
        self._scopes: dict[Hashable, _Scope] = {}
        self._placed_scopes: dict[Hashable, _PlacedScope] = {}
        self._templates = ConditionTemplates()
        self._trees = SkeletonTrees()

    def plan(self, source: ScriptText, tokens: Sequence[Token], start: int, end: int) -> Plan | None:
        """The plan of the query between two offsets; None if it cannot be assembled from templates."""
        query = cut_conditions(source.text, tokens, start, end)
        if query is None or sum(map(len, query.conditions)) > _MAX_CONDITIONS:
            return None
        template = self._template_of(query.skeleton)
        if template is None:
            return None
        given: dict[str, list[Expression]] = {}
        for number, (slot, texts) in enumerate(zip(template.slots, query.conditions, strict=True)):
            bound = [slot.bind(text) for text in texts]
            if None in bound:
                return None
            given[_slot_name(number)] = [part for parts in bound for part in parts or ()]
        return _filled(template.plan, given)

    def _template_of(self, text: str) -> _PlanTemplate | None:
        """The template of a skeleton; None if there is none, or for the first few that are met once."""
        if text not in self._by_skeleton:
            if len(self._seen_once) < _FEW_SKELETONS and text not in self._seen_once:
                self._seen_once[text] = None
                return None
            _evict_if_full(self._by_skeleton, _MAX_SKELETONS)
            self._by_skeleton[text] = self._template(text)
        return self._by_skeleton[text]

    def _template(self, text: str) -> _PlanTemplate | None:
        blocks: dict[str, list[FromItem]] = {}

        def where(node: exp.Expr, block: FromBlock) -> Expression:
            if not node.name.isdigit():
                raise _NoTemplate
            name = _slot_name(int(node.name))
            blocks[name] = sorted(block.visible, key=lambda item: item.alias)  # whatever the order of FROM
            return Call(name, _columns(blocks[name]), BOOLEAN)

        try:
            plan = parse_select(ScriptText(text, ""), 0, len(text), self.tables, where, self._trees.tree)
        except (SeineError, _NoTemplate):
            return None
        columns = {part.name: part.args for part in _slots_of(plan)}
        names = map(_slot_name, range(len(blocks)))
        return _PlanTemplate(plan, tuple(self._slot(blocks[name], columns[name]) for name in names))

    def _slot(self, visible: Sequence[FromItem], columns: tuple[Expression, ...]) -> _WhereSlot:
        ranked = [replace(item, alias=rank_name(rank)) for rank, item in enumerate(visible)]
        ranks = {item.alias: rank_name(rank) for rank, item in enumerate(visible)}
        return _WhereSlot(self._placed(visible, columns), self._placed(ranked, columns), ranks)

    def _placed(self, visible: Sequence[FromItem], columns: tuple[Expression, ...]) -> _PlacedScope:
        key = tuple(
            (item.alias, tuple((c.name, c.value.type) for c in item.columns), frozenset(item.merged))
            for item in visible
        )
        if key not in self._scopes:
            _evict_if_full(self._scopes)
            self._scopes[key] = _Scope(_local(visible), self._templates)
        if (key, columns) not in self._placed_scopes:
            _evict_if_full(self._placed_scopes, _MAX_SKELETONS)
            self._placed_scopes[key, columns] = _PlacedScope(self._scopes[key], columns)
        return self._placed_scopes[key, columns]


def _columns(visible: Sequence[FromItem]) -> tuple[Expression, ...]:
    columns = tuple(column.value for item in visible for column in item.columns)
    if not all(isinstance(value, Column) for value in columns):
        raise _NoTemplate
    return columns


def _slot_name(number: int) -> str:
    return f"where {number}"


def _local(visible: Sequence[FromItem]) -> FromBlock:
    """A block with these names over a row of just these columns."""
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
    """The conjuncts of a condition, bound by itself."""
    try:
        condition = templates.condition(text)
        if condition is None:
            return None
        binder = ExpressionBinder(Context(condition.source, 0, {}), scope, "WHERE")
        predicate = binder.condition(condition.tree, "WHERE")
    except (SeineError, RecursionError):
        return None
    return tuple(conjuncts(predicate)) if predicate.size <= _MAX_CONDITION_NODES else None


def _slots_of(plan: Plan) -> list[Call]:
    parts = [part for node in walk(plan) if isinstance(node, Select) for part in conjuncts(node.predicate)]
    return [part for part in parts if isinstance(part, Call) and part.name.startswith("where ")]


def _filled(plan: Plan, given: Mapping[str, list[Expression]]) -> Plan:
    """The plan of a template with conditions in place of its slots."""
    match plan:
        case Select(input, predicate):
            parts: list[Expression] = []
            for part in conjuncts(predicate):
                conditions = given.get(part.name) if isinstance(part, Call) else None
                parts += [part] if conditions is None else conditions
            whole = conjunction(parts)
            assert whole is not None
            return Select(_filled(input, given), whole)
        case Project(input, expressions, names):
            return Project(_filled(input, given), expressions, names)
        case Aggregate(input, keys, calls, names):
            return Aggregate(_filled(input, given), keys, calls, names)
        case Rank() | Over():
            return replace(plan, input=_filled(plan.input, given))
        case Distinct(input):
            return Distinct(_filled(input, given))
        case Join(left, right, on):
            return Join(_filled(left, given), _filled(right, given), on)
        case PartnerLookup(input):
            return replace(plan, input=_filled(input, given))
        case SetOperation(left, right):
            return replace(plan, left=_filled(left, given), right=_filled(right, given))
        case UnionAll(branches):
            return UnionAll(tuple(_filled(branch, given) for branch in branches))
    return plan


def _evict_if_full(known: dict[Any, Any], most: int = _MAX_CACHED) -> None:
    if len(known) >= most:
        known.clear()
