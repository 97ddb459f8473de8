"""The plan of a FROM block: one selection over a left-deep chain of joins; and how large a plan may become.

Every conjunct of ON and WHERE is kept above the joins; pushing it down is the optimiser's task.

Arrays of texts live within expressions; where a row has one, it is JSON, as of COLLECT_LIST.

A few lines of text can denote an exponentially large query: each sub-query may use the one before it
twice. A query that becomes too large or too deep is refused while it grows, before it is walked as a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

from sqlglot import exp

from seine.algebra.expressions import Call, Column, Expression, conjunction, conjuncts
from seine.algebra.functions import TypeMismatch, resolve_call
from seine.algebra.plan import Aggregate, Join, Lookup, Plan, Project, Scan, Select, walk
from seine.algebra.types import JSON, TEXTS
from seine.frontends.sql.scope import Context, FromBlock, InnerTable, NamedExpression

MAX_EXPRESSION_NODES = 100_000  # in all expressions of one query
MAX_TABLES = 4_000  # streams and relations of one query, counted at each use
MAX_PLAN_NODES = 8 * MAX_TABLES
MAX_TOKENS = 2 * MAX_EXPRESSION_NODES  # of the text of one query; parsing a longer one would take seconds
MAX_EXPRESSION_DEPTH = 120  # levels of nested calls

Node = TypeVar("Node")


@dataclass(frozen=True)
class Projection:
    """A bound SELECT without aggregates and DISTINCT: an outer FROM can inline its block."""

    block: FromBlock
    outputs: list[NamedExpression]
    node: exp.Expr
    context: Context

    def plan(self) -> Plan:
        """The plan of the SELECT by itself."""
        values = tuple(recorded(output.value) for output in self.outputs)
        names = tuple(output.name for output in self.outputs)
        return Project(block_plan(self.block, self.node, self.context), values, names)


def block_plan(block: FromBlock, node: exp.Expr, context: Context) -> Plan:
    """The joins and the selection of a block that is not inlined in an outer block."""
    if not any(isinstance(part, Scan) for item in block.items for part in walk(item)):
        hint = "relations alone never change" if block.items else "declare a RELATION of such rows"
        raise context.error(node, "a SELECT needs a stream in FROM", hint)
    return joined_plan(block, node, context)


def joined_plan(block: FromBlock, node: exp.Expr, context: Context) -> Plan:
    """The joins and the selection of a block, which may be of relations alone."""
    if not block.items:
        hint = "join it by a comma or CROSS JOIN"
        raise context.error(node, "a row without FROM is no side of an outer join", hint)
    joined: Plan = reduce(Join, block.items)
    conditions = [*block.conjuncts, *validity(block, node, context)]
    predicate = conjunction([part for condition in conditions for part in conjuncts(condition)])
    return joined if predicate is None else Select(joined, predicate)


def validity(block: FromBlock, node: exp.Expr, context: Context) -> list[Expression]:
    """The conditions that a tuple of a VALID relation is active at the time of every stream tuple."""
    try:
        return [*_validity(block)]
    except TypeMismatch as refusal:
        message = f"VALID does not fit the streams' time: {refusal.message}"
        raise context.error(node, message, refusal.hint) from None


def _validity(block: FromBlock) -> Iterator[Expression]:
    """The conditions on tables of different items; those within an item are asked in it."""
    starts = [sum(len(item.schema) for item in block.items[:i]) for i in range(len(block.items))]
    direct = [
        InnerTable(item, start, number)
        for number, (item, start) in enumerate(zip(block.items, starts, strict=True))
        if isinstance(item, Scan | Lookup)
    ]
    placed = [*direct, *block.inner]
    for one in placed:
        if isinstance(one.table, Lookup) and one.table.relation.valid is not None:
            for other in placed:
                if isinstance(other.table, Scan) and other.item != one.item:
                    yield from _active(one.table, one.start, one.table.relation.valid, other, other in direct)


def _active(
    relation: Lookup, start: int, valid: tuple[int, int], stream: InnerTable, is_there: bool
) -> Iterator[Expression]:
    """(begin IS NULL OR begin <= ts), (end IS NULL OR ts < end); or ts IS NULL, if a tuple may be missing."""
    begin, end = (Column(start + index, relation.schema[index].type) for index in valid)
    assert isinstance(stream.table, Scan)
    at = stream.table.stream.time
    time = Column(stream.start + at, stream.table.schema[at].type)
    missing = [] if is_there else [resolve_call("is_null", [time])]
    yield resolve_call("or", [resolve_call("is_null", [begin]), resolve_call("le", [begin, time]), *missing])
    yield resolve_call("or", [resolve_call("is_null", [end]), resolve_call("lt", [time, end]), *missing])


def recorded(value: Expression) -> Expression:
    """A value as a row has it.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> str(recorded(resolve_call("split", [literal("a,b"), literal(",")])).type)
    'JSON'
    """
    return Call("array_record", (value,), JSON) if value.type == TEXTS else value


def recorded_outputs(outputs: Sequence[NamedExpression]) -> list[NamedExpression]:
    """Outputs as a row has them."""
    return [NamedExpression(output.name, recorded(output.value)) for output in outputs]


def refuse_large(query: Projection | Plan, beside: int, context: Context, node: exp.Expr) -> None:
    """Refuse a query, or a sub-query that is joined with `beside` others, that exceeds any limit."""
    plans = query.block.items if isinstance(query, Projection) else [query]
    nodes = _within(plans, lambda plan: plan.inputs, MAX_PLAN_NODES, MAX_PLAN_NODES)
    if nodes is None or beside + sum(not plan.inputs for plan in nodes) > MAX_TABLES:
        message = f"this query reads more than {MAX_TABLES} streams and relations"
        raise context.error(node, message, "split it; a WITH entry counts each time it is used")
    roots = [root for plan in nodes for root in _expressions(plan)]
    if isinstance(query, Projection):
        roots += [*query.block.conjuncts, *(output.value for output in query.outputs)]
    if _within(roots, _operands, MAX_EXPRESSION_NODES, MAX_EXPRESSION_DEPTH) is None:
        message = f"the expressions of this query are too large, or nested deeper than {MAX_EXPRESSION_DEPTH}"
        raise context.error(node, message, "split it; a column of a sub-query counts each time it is used")


def _within(
    roots: Iterable[Node], parts: Callable[[Node], Sequence[Node]], most: int, deepest: int
) -> list[Node] | None:
    """All nodes of some trees; None if they are too many or too deep."""
    nodes: list[Node] = []
    level = list(roots)
    for _ in range(deepest):
        nodes += level
        level = [part for one in level for part in parts(one)]
        if not level:
            return nodes
        if len(nodes) + len(level) > most:
            return None
    return None


def _operands(expression: Expression) -> Sequence[Expression]:
    return expression.args if isinstance(expression, Call) else ()


def _expressions(plan: Plan) -> Sequence[Expression]:
    match plan:
        case Select(_, predicate):
            return (predicate,)
        case Project(_, expressions):
            return expressions
        case Join(_, _, predicate):
            return () if predicate is None else (predicate,)
        case Aggregate(_, keys, calls):
            return (*keys, *(arg for call in calls for arg in call.args))
    return ()
