"""Rule: prune columns that no operator above reads (projection push-down)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from seine.algebra.expressions import Column, Expression, columns_of, shift_columns
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Join,
    Lookup,
    PartnerLookup,
    Plan,
    Project,
    Select,
    SetOperation,
    UnionAll,
)
from seine.algebra.rank_plan import ROW_NUMBER, Over, Rank
from seine.optimizer.traverse import with_inputs

PositionMap = dict[int, int]  # position before -> position after


def prune_columns(plan: Plan) -> Plan:
    """Restrict the inputs of joins, aggregates and unions to the columns that are read above.

    A selection stays directly on its stream, over all columns, where other queries can share it.

    before: Project(Join(Scan(a), Scan(b), a.k = b.k), [a.x])
    after:  Project(Join(Project(Scan(a), [k, x]), Project(Scan(b), [k]), a.k = b.k), [a.x])
    """
    everything = range(len(plan.schema))
    return _narrow(plan, everything)


def _narrow(plan: Plan, needed: Iterable[int]) -> Plan:
    """The plan with exactly the needed columns, in their order of position."""
    wanted = sorted(set(needed))
    pruned, mapping = _prune(plan, wanted)
    if [mapping[index] for index in wanted] == list(range(len(pruned.schema))):
        return pruned
    fields = [plan.schema[index] for index in wanted]
    columns = tuple(Column(mapping[i], f.type) for i, f in zip(wanted, fields, strict=True))
    return Project(pruned, columns, tuple(field.name for field in fields))


def _prune(plan: Plan, needed: list[int]) -> tuple[Plan, PositionMap]:
    """A plan with at least the needed columns, and their new positions."""
    match plan:
        case Select(input, predicate):
            below, mapping = _prune(input, sorted(set(needed) | columns_of(predicate)))
            return Select(below, _move(predicate, mapping)), mapping
        case Project():
            return _prune_project(plan, needed)
        case Join():
            return _prune_join(plan, needed)
        case Aggregate():
            return _prune_aggregate(plan, needed)
        case Rank():
            return _prune_rank(plan, needed)
        case Over():  # all columns break ties
            below = _narrow(plan.input, range(len(plan.input.schema)))
            return with_inputs(plan, (below,)), _positions(range(len(plan.schema)))
        case UnionAll(branches):
            return UnionAll(tuple(_narrow(branch, needed) for branch in branches)), _positions(needed)
        case PartnerLookup():
            return _prune_lookup(plan, needed)
        case SetOperation(_, _, kind) if kind.is_of_pairs:
            return _prune_pairs(plan, needed)
        case Distinct() | SetOperation():
            whole = range(len(plan.schema))
            return with_inputs(plan, tuple(_narrow(child, whole) for child in plan.inputs)), _positions(whole)
    return plan, _positions(range(len(plan.schema)))


def _prune_project(plan: Project, needed: list[int]) -> tuple[Plan, PositionMap]:
    kept = [plan.expressions[index] for index in needed]
    below, mapping = _prune(plan.input, sorted(_read(kept)))
    expressions = tuple(_move(expression, mapping) for expression in kept)
    return Project(below, expressions, tuple(plan.names[index] for index in needed)), _positions(needed)


def _prune_join(plan: Join, needed: list[int]) -> tuple[Plan, PositionMap]:
    width = len(plan.left.schema)
    read = set(needed) | (columns_of(plan.predicate) if plan.predicate is not None else set())
    left_read = {index for index in read if index < width}
    right_read = {index - width for index in read if index >= width}
    # A lookup picks its output by itself; its relation is stored whole.
    if isinstance(plan.right, Lookup):
        right_read = set(range(len(plan.right.schema)))
    kept = sorted(left_read) + [width + index for index in sorted(right_read)]
    mapping = _positions(kept)
    predicate = None if plan.predicate is None else _move(plan.predicate, mapping)
    return Join(_narrow(plan.left, left_read), _narrow(plan.right, right_read), predicate), mapping


def _prune_lookup(plan: PartnerLookup, needed: list[int]) -> tuple[Plan, PositionMap]:
    """Columns that decide which tuples a row meets stay too; the relation is whole."""
    width = len(plan.input.schema)
    kept = sorted(index for index in {*needed, *columns_of(plan.predicate)} if index < width)
    behind = range(width, width + len(plan.relation.schema))
    mapping = _positions([*kept, *behind])
    below = _narrow(plan.input, kept)
    return replace(plan, input=below, predicate=_move(plan.predicate, mapping)), mapping


def _prune_pairs(plan: SetOperation, needed: list[int]) -> tuple[Plan, PositionMap]:
    """Of a semi or anti join the columns that decide which rows it meets stay too."""
    kept = sorted({*needed, *plan.reads})
    mapping = _positions(kept)
    left, right = (_narrow(side, kept) for side in plan.inputs)
    closes = None if plan.closes is None else mapping[plan.closes]
    reads = tuple(mapping[index] for index in plan.reads)
    return SetOperation(left, right, plan.kind, reads, closes), mapping


def _prune_aggregate(plan: Aggregate, needed: list[int]) -> tuple[Plan, PositionMap]:
    keys = len(plan.keys)
    kept = [number for number in range(len(plan.calls)) if keys + number in needed]
    if not keys and not kept:
        kept = [0] if plan.calls else []
    calls = [plan.calls[number] for number in kept]
    read = _read([*plan.keys, *(arg for call in calls for arg in call.args)])
    mapping = _positions(sorted(read))
    columns = [*range(keys), *(keys + number for number in kept)]
    pruned = Aggregate(
        _narrow(plan.input, read),
        tuple(_move(key, mapping) for key in plan.keys),
        tuple(replace(call, args=tuple(_move(a, mapping) for a in call.args)) for call in calls),
        tuple(plan.names[index] for index in columns),
    )
    return pruned, _positions(columns)


def _prune_rank(plan: Rank, needed: list[int]) -> tuple[Plan, PositionMap]:
    """All columns break ties of ROW_NUMBER, so they stay."""
    width = len(plan.input.schema)
    is_read = width in needed
    kept = {*range(width)} if plan.function == ROW_NUMBER else {index for index in needed if index < width}
    kept |= {*plan.partition, *(one.column for one in plan.order)}
    mapping = _positions(sorted(kept))
    pruned = replace(
        plan,
        input=_narrow(plan.input, kept),
        partition=tuple(mapping[index] for index in plan.partition),
        order=tuple(one.moved(mapping[one.column]) for one in plan.order),
        name=plan.name if is_read else None,
    )
    return pruned, mapping | ({width: len(kept)} if is_read else {})


def _positions(kept: Iterable[int]) -> PositionMap:
    return {before: after for after, before in enumerate(kept)}


def _read(expressions: Iterable[Expression]) -> set[int]:
    return set().union(*map(columns_of, expressions))


def _move(expression: Expression, mapping: PositionMap) -> Expression:
    return shift_columns(expression, mapping.__getitem__)
