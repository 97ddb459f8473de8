"""Bottom-up rewriting of plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import is_

from seine.algebra.document_plan import with_document_inputs
from seine.algebra.expressions import Column, Expression, walk
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Join,
    PartnerLookup,
    Plan,
    Project,
    Scan,
    Select,
    SetOperation,
    UnionAll,
)
from seine.algebra.plan import walk as walk_plan
from seine.algebra.rank_plan import Over, Rank


def with_inputs(plan: Plan, inputs: tuple[Plan, ...]) -> Plan:
    """An operator with its inputs replaced."""
    if all(map(is_, inputs, plan.inputs)):
        return plan
    match plan:
        case PartnerLookup() | Select() | Project() | Aggregate() | Distinct() | Rank() | Over():
            return replace(plan, input=inputs[0])
        case Join() | SetOperation():
            return replace(plan, left=inputs[0], right=inputs[1])
        case UnionAll():
            return UnionAll(inputs)
    documents = with_document_inputs(plan, inputs)
    if documents is not None:
        return documents
    raise TypeError(f"{type(plan).__name__} has no inputs")


def rebuild(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Rebuild bottom-up, passing every operator through `change`."""
    inputs = plan.inputs
    if not inputs:
        return change(plan)
    return change(with_inputs(plan, tuple([rebuild(child, change) for child in inputs])))


def identity(plan: Plan) -> list[Expression]:
    """The columns of a plan as expressions over its own output."""
    return [Column(index, field.type) for index, field in enumerate(plan.schema)]


def is_punctuated(plan: Plan) -> bool:
    """Whether a plan reads a stream with punctuations."""
    return any(scan.stream.schemes for scan in walk_plan(plan) if isinstance(scan, Scan))


LARGEST_SUBSTITUTION = 2_000


def stays_small(
    outer: Sequence[Expression], inner: Sequence[Expression], largest: int = LARGEST_SUBSTITUTION
) -> bool:
    """Whether writing `inner` in place of the columns of `outer` gives at most `largest` nodes.

    Sub-queries that each use a column twice would otherwise double the text at every level.
    """
    sizes = [expression.size for expression in inner]
    if sum(expression.size for expression in outer) * max(sizes, default=1) <= largest:
        return True
    nodes = (node for expression in outer for node in walk(expression))
    total = sum(sizes[node.index] if isinstance(node, Column) else 1 for node in nodes)
    return total <= largest
