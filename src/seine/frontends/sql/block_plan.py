"""The plan of a FROM block: one selection over a left-deep chain of joins.

Every conjunct of ON and WHERE is kept above the joins; pushing it down is the optimiser's task.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from seine.algebra.expressions import Column, Expression, conjunction, conjuncts
from seine.algebra.functions import TypeMismatch, resolve_call
from seine.algebra.plan import Join, Lookup, Plan, Project, Scan, Select, walk
from seine.frontends.sql.context import Context
from seine.frontends.sql.scope import FromBlock, NamedExpression


@dataclass(frozen=True)
class Projection:
    """A bound SELECT without aggregates and DISTINCT: an outer FROM can inline its block."""

    block: FromBlock
    outputs: list[NamedExpression]
    node: exp.Expr
    context: Context

    def plan(self) -> Plan:
        """The plan of the SELECT by itself."""
        values = tuple(output.value for output in self.outputs)
        names = tuple(output.name for output in self.outputs)
        return Project(block_plan(self.block, self.node, self.context), values, names)


def block_plan(block: FromBlock, node: exp.Expr, context: Context) -> Plan:
    """The joins and the selection of a block that is not inlined in an outer block."""
    if not any(isinstance(part, Scan) for item in block.items for part in walk(item)):
        raise context.error(node, "a SELECT needs a stream in FROM", "relations alone never change")
    joined: Plan = reduce(Join, block.items)
    try:
        conditions = [*block.conjuncts, *_validity(block)]
    except TypeMismatch as refusal:
        message = f"VALID does not fit the streams' time: {refusal.message}"
        raise context.error(node, message, refusal.hint) from None
    predicate = conjunction([part for condition in conditions for part in conjuncts(condition)])
    return joined if predicate is None else Select(joined, predicate)


def _validity(block: FromBlock) -> list[Expression]:
    """The conditions that a tuple of a VALID relation is active at the time of every stream tuple."""
    starts = [sum(len(item.schema) for item in block.items[:i]) for i in range(len(block.items))]
    placed = list(zip(block.items, starts, strict=True))
    times = [
        Column(start + item.stream.time, item.schema[item.stream.time].type)
        for item, start in placed
        if isinstance(item, Scan)
    ]
    return [
        condition
        for item, start in placed
        if isinstance(item, Lookup) and item.relation.valid is not None
        for time in times
        for condition in _active(item, start, item.relation.valid, time)
    ]


def _active(item: Lookup, start: int, valid: tuple[int, int], time: Column) -> list[Expression]:
    """(begin IS NULL OR begin <= ts), (end IS NULL OR ts < end)."""
    begin, end = (Column(start + index, item.schema[index].type) for index in valid)
    return [
        resolve_call("or", [resolve_call("is_null", [begin]), resolve_call("le", [begin, time])]),
        resolve_call("or", [resolve_call("is_null", [end]), resolve_call("lt", [time, end])]),
    ]
