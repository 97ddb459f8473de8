"""A cache of plan templates: the plan of a query is assembled from a known skeleton and known conditions.

Law: the plan equals the one that `parse_select` makes of the whole text. A condition is parsed alone, in the
scope of its WHERE; the result is the same because AND binds more loosely than all that a condition may hold
(conditions with OR outside of parentheses are not taken), and because nothing else reads a WHERE. A condition
is known by all that a name in it may mean; a WHERE that is at several places of a plan, as outer joins have
it, is filled in at each over the columns there. Texts that are not plain, wrong or large are left to
`parse_select`, and so are all errors.

Conditions whose tables are named by rank, so that those that differ in aliases have one text.

Law: a condition means in a scope what its text by rank means where tables have these names. Only names before
points are renamed, and only if all of them are aliases; texts that quote names are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import count
from typing import Any, TypeGuard

from sqlglot import exp

from seine.algebra.expressions import (
    Call,
    Column,
    Expression,
    conjunction,
    conjuncts,
    intern_expression,
    shift_columns,
    substitute,
)
from seine.algebra.expressions import walk as walk_expression
from seine.algebra.plan import Lookup, PartnerLookup, Plan, Scan, Select, walk, with_changed_inputs
from seine.algebra.types import BOOLEAN
from seine.errors import SeineError
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.block_plan import MAX_EXPRESSION_NODES
from seine.frontends.sql.condition_templates import ConditionTemplates, CutQuery, cut_conditions
from seine.frontends.sql.group_by import refuse_ungrouped_windows
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.scope import Context, FromBlock, FromItem, NamedExpression, Table
from seine.frontends.sql.syntax_tree import SkeletonTrees
from seine.frontends.text.lexer import ScriptText, Token, fold

_MAX_CACHED = 1 << 16  # entries of each cache
_MAX_CONDITION_NODES = 100  # so that none is nested too deeply either
_MAX_CONDITIONS = 500  # of one query
_MAX_NODES = MAX_EXPRESSION_NODES // 2  # of a query: what may be too large is not assembled
_MAX_SKELETONS = 1 << 13  # whose templates are kept
_FEW_SKELETONS = 32  # while there are no more, most conditions are new, and a template does not pay at once
_SLOT = "where "

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
    """A place of a WHERE in the plan of a template, over the rows there: its scope, in which tables have
    their aliases, and the same with tables by rank, which slots of other aliases share.
    """

    number: int  # of the WHERE in the text
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
    """A plan with a call `where k` in place of the conditions of the k-th WHERE, over the columns in its
    scope: these are the keys of `slots`. `above` has the nodes, by identity, with a slot in or beneath them.
    """

    plan: Plan
    slots: Mapping[Expression, _WhereSlot]
    above: frozenset[int]
    size: int  # nodes of all expressions

    def filled(self, conditions: Sequence[Sequence[str]]) -> Plan | None:
        """The plan with the conditions of each WHERE in place of its slots; None if these are unusual."""
        given: dict[Expression, list[Expression]] = {}
        size = self.size
        for place, slot in self.slots.items():
            bound = [slot.bind(text) for text in conditions[slot.number]]
            if None in bound:
                return None
            given[place] = [part for parts in bound for part in parts or ()]
            size += sum([part.size for part in given[place]])
        return self._filled(self.plan, given) if size <= _MAX_NODES else None

    def _filled(self, plan: Plan, given: Mapping[Expression, Sequence[Expression]]) -> Plan:
        if id(plan) not in self.above:
            return plan
        filled = with_changed_inputs(plan, lambda below: self._filled(below, given))
        if not isinstance(filled, Select | PartnerLookup):
            return filled
        parts = [one for part in conjuncts(filled.predicate) for one in given.get(part, (part,))]
        predicate = conjunction(parts)
        assert predicate is not None
        return replace(filled, predicate=predicate)


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
        template = self._template_of(query)
        return None if template is None else template.filled(query.conditions)

    def _template_of(self, query: CutQuery) -> _PlanTemplate | None:
        """The template of a skeleton; None if there is none, or for the first few that are met once."""
        text = query.skeleton
        if text not in self._by_skeleton:
            if len(self._seen_once) < _FEW_SKELETONS and text not in self._seen_once:
                self._seen_once[text] = None
                return None
            _evict_if_full(self._by_skeleton, _MAX_SKELETONS)
            self._by_skeleton[text] = self._template(text, len(query.conditions))
        return self._by_skeleton[text]

    def _template(self, text: str, wheres: int) -> _PlanTemplate | None:
        scopes: dict[str, FromBlock] = {}

        def where(node: exp.Expr, block: FromBlock) -> Expression:
            name = f"{_SLOT}{node.name}"
            if not node.name.isdigit() or name in scopes or _is_of_output(node):
                raise _NoTemplate
            visible = sorted(block.visible, key=lambda item: item.alias)  # whatever the order of FROM
            columns = _columns(visible)
            scopes[name] = _local(visible, columns)
            return Call(name, columns, BOOLEAN)

        try:
            plan = parse_select(ScriptText(text, ""), 0, len(text), self.tables, where, self._trees.tree)
            if len(scopes) < wheres:
                raise _NoTemplate  # one is bound otherwise
            slots: dict[Expression, _WhereSlot] = {
                place: self._slot(scopes[place.name], place) for place in _slots_of(plan)
            }
        except (SeineError, _NoTemplate):
            return None
        return _PlanTemplate(plan, slots, frozenset(_above(plan)), sum(part.size for part in _written(plan)))

    def _slot(self, scope: FromBlock, place: Call) -> _WhereSlot:
        ranks = {item.alias: rank_name(rank) for rank, item in enumerate(scope.visible)}
        ranked = FromBlock(visible=[replace(item, alias=ranks[item.alias]) for item in scope.visible])
        number = int(place.name.removeprefix(_SLOT))
        return _WhereSlot(number, self._placed(scope, place.args), self._placed(ranked, place.args), ranks)

    def _placed(self, scope: FromBlock, columns: tuple[Expression, ...]) -> _PlacedScope:
        key = tuple([item.key() for item in scope.visible])
        if key not in self._scopes:
            _evict_if_full(self._scopes)
            self._scopes[key] = _Scope(scope, self._templates)
        if (key, columns) not in self._placed_scopes:
            _evict_if_full(self._placed_scopes, _MAX_SKELETONS)
            self._placed_scopes[key, columns] = _PlacedScope(self._scopes[key], columns)
        return self._placed_scopes[key, columns]


def _is_of_output(where: exp.Expr) -> bool:
    """Whether a WHERE is in an output or an argument, after whose text a column may be named."""
    node: exp.Expr | None = where
    while node is not None:
        if node.arg_key == "expressions":
            return True
        node = node.parent
    return False


def _columns(visible: Sequence[FromItem]) -> tuple[Column, ...]:
    """The columns in a scope; that of a computed one is unusual, and that of names which differ in case."""
    columns = tuple([column.value for item in visible for column in item.columns])
    plain = tuple([value for value in columns if isinstance(value, Column)])
    if len(plain) < len(columns) or len({item.alias.lower() for item in visible}) < len(visible):
        raise _NoTemplate
    return plain


def _local(visible: Sequence[FromItem], columns: Sequence[Column]) -> FromBlock:
    """A block with these names over a row of just these columns."""
    places = {column.index: place for place, column in reversed([*enumerate(columns)])}
    row = map(Column, count(), [column.type for column in columns])
    return FromBlock(
        visible=[
            replace(
                item,
                columns=[NamedExpression(one.name, next(row)) for one in item.columns],
                merged={*item.merged},
                joined={name: _moved(value, places) for name, value in item.joined.items()},
            )
            for item in visible
        ]
    )


def _moved(value: Expression, places: Mapping[int, int]) -> Expression:
    if not value.columns <= places.keys():
        raise _NoTemplate
    return shift_columns(value, places.__getitem__)


def _bind_condition(text: str, scope: FromBlock, templates: ConditionTemplates) -> BoundConjuncts:
    """The conjuncts of a condition, bound by itself."""
    try:
        condition = templates.condition(text)
        if condition is None:
            return None
        context = Context(condition.source, 0, {})
        predicate = ExpressionBinder(context, scope, "WHERE").condition(condition.tree, "WHERE")
        refuse_ungrouped_windows([predicate], condition.tree, context)
    except (SeineError, RecursionError):
        return None
    return tuple(conjuncts(predicate)) if predicate.size <= _MAX_CONDITION_NODES else None


def _is_slot(expression: Expression) -> TypeGuard[Call]:
    return isinstance(expression, Call) and expression.name.startswith(_SLOT)


def _slots_in(plan: Plan) -> list[Call]:
    """The slots among the conditions of a node, where they are filled in."""
    predicate = plan.predicate if isinstance(plan, Select | PartnerLookup) else None
    return [part for part in conjuncts(predicate) if _is_slot(part)]


def _slots_of(plan: Plan) -> list[Call]:
    """The slots of a plan; all that it has of them must be conditions that are filled in."""
    slots = [part for node in walk(plan) for part in _slots_in(node)]
    parts = [part for whole in _written(plan) for part in walk_expression(whole)]
    if sum(map(_is_slot, parts)) > len(slots):
        raise _NoTemplate
    return slots


def _above(plan: Plan) -> set[int]:
    """The nodes, by identity, with a slot in or beneath them."""
    above = set().union(*map(_above, plan.inputs))
    return above | {id(plan)} if above or _slots_in(plan) else above


def _written(value: object) -> Iterator[Expression]:
    """All expressions in the fields of what a plan is made of, whatever has them."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _written(one)
    elif is_dataclass(value) and not isinstance(value, Scan | Lookup):
        for one in fields(value):
            yield from _written(getattr(value, one.name))


def _evict_if_full(known: dict[Any, Any], most: int = _MAX_CACHED) -> None:
    if len(known) >= most:
        known.clear()


_NAMES_BEHIND = r"(?:\s*\.\s*[A-Za-z_]\w*)+"  # points, which are no aliases
_QUALIFIER = re.compile(rf"'(?:[^']|'')*'|(?<!\w)([A-Za-z_]\w*){_NAMES_BEHIND}|{_NAMES_BEHIND}", re.ASCII)


def rank_name(rank: int) -> str:
    """The name of the table with this rank among the aliases of a scope in their order."""
    return f"t{rank}"


def by_rank(text: str, ranks: Mapping[str, str]) -> str | None:
    """A condition with tables named by `ranks`, which has the new name of each alias; None if it cannot be
    told what is an alias in it.

    >>> by_rank("b.x = a.x + 1 AND b.y <> 'a.y'", {"a": "t0", "b": "t1"})
    "t1.x = t0.x + 1 AND t1.y <> 'a.y'"
    >>> by_rank("from_json(a.j, 'b STRUCT<c: INT>').b.c = 1", {"a": "t0", "b": "t1"})
    "from_json(t0.j, 'b STRUCT<c: INT>').b.c = 1"
    >>> by_rank("A.w.b > 5", {"a": "t0", "w": "t1", "A": "t2"})
    't0.w.b > 5'
    >>> by_rank("w.start > 5", {"a": "t0"}) is None
    True
    """
    if '"' in text or "`" in text:
        return None
    parts, kept = [], 0
    for match in _QUALIFIER.finditer(text):
        if match[1] is not None:
            alias = fold(match[1], quoted=False)
            if alias not in ranks:
                return None
            parts += [text[kept : match.start(1)], ranks[alias]]
            kept = match.end(1)
    return "".join([*parts, text[kept:]]) if parts else text
