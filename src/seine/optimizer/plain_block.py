"""A fast path of the optimiser: the block of a select-project-join query, made without rewriting plans.

Most queries are of this kind, and most of what the rules do to one is to take it apart and put it together
again. Law: the block is the one that `optimizer.block.block_of` finds in the plan that the rules make.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate

from seine.algebra.expressions import (
    Expression,
    Renumbering,
    conjunction,
    renumbering,
    shift_columns,
)
from seine.algebra.plan import Join, Lookup, Plan, Project, Scan, Select
from seine.optimizer.block import Block, stated_conditions, take_apart
from seine.optimizer.equalities import explicit_equalities
from seine.optimizer.estimates import Estimates
from seine.optimizer.join_orders import order as order_by_cost
from seine.optimizer.known_empty import contradict
from seine.optimizer.rules.order_joins import choose_order
from seine.optimizer.traverse import LARGEST_SUBSTITUTION, identity

Starts = tuple[int, ...]  # where the columns of each item begin, and where the last ones end
Young = Callable[[Scan], tuple[Scan, tuple[Expression, ...]]]  # a scan as it runs, and conditions of its own


def plain_block(plan: Plan, young: Young, *, estimates: Estimates | None = None) -> Block | None:
    """The optimised block; None if the plan is not plain. `young` says what a scan really reads: the same
    columns first, and which tuples of it count.

    plain:  Project(Select(Join(Join(Scan | Lookup, Scan | Lookup), ...), predicate), expressions)
    """
    if not _is_plain(plan):
        return None
    block = take_apart(plan, largest=None)
    items, starts, outputs, conditions = (
        block.items,
        block.offsets,
        block.outputs,
        explicit_equalities(block.conditions),
    )
    if sum(expression.size for expression in (*conditions, *outputs)) > LARGEST_SUBSTITUTION:
        return None  # some rules leave large expressions where they are
    if contradict(conditions):
        return None  # there is less to be made of it
    local, common = _pushed(items, starts, conditions)
    scans = [young(item) if isinstance(item, Scan) else (item, ()) for item in items]
    order = tuple(_order(items, scans, local, common, starts, estimates))
    layout = (starts, order, tuple(len(scan.schema) for scan, _ in scans))
    placed = Block(
        tuple(scans[item][0] for item in order),
        tuple(_placed(scans, local, common, layout)),
        tuple(_moved(output, layout) for output in outputs),
    )
    return replace(placed, conditions=stated_conditions(placed))


def _is_plain(plan: Plan) -> bool:
    """Whether a plan is one projection of one selection of a chain of joins."""
    if not isinstance(plan, Project):
        return False
    below = plan.input.input if isinstance(plan.input, Select) else plan.input
    while isinstance(below, Join) and below.predicate is None:
        if not isinstance(below.right, Scan | Lookup):
            return False
        below = below.left
    return isinstance(below, Scan | Lookup)


def _pushed(
    items: Sequence[Plan], starts: Starts, conditions: Sequence[Expression]
) -> tuple[list[list[Expression]], list[Expression]]:
    """The conditions of each stream alone, and those of joins: lower joins, as written, come first."""
    local: list[list[Expression]] = [[] for _ in items]
    joins: list[list[Expression]] = [[] for _ in items]
    for condition in conditions:
        read = {bisect_right(starts, column) - 1 for column in condition.columns} or {0}
        highest = max(read)
        if len(read) == 1 and not isinstance(items[highest], Lookup):
            local[highest].append(condition)
        else:
            joins[max(highest, 1)].append(condition)
    return local, [condition for level in joins for condition in level]


def _order(
    items: Sequence[Plan],
    scans: Sequence[tuple[Plan, tuple[Expression, ...]]],
    local: Sequence[Sequence[Expression]],
    common: Sequence[Expression],
    starts: Starts,
    estimates: Estimates | None,
) -> list[int]:
    """The numbers of the items in the order in which they are joined."""
    if len(items) == 1:
        return [0]
    if estimates is None or len(items) == 2:
        return choose_order(Block(tuple(items), tuple(common), ()))
    selected = []
    for number, (item, (scan, young)) in enumerate(zip(items, scans, strict=True)):
        over_item = [_shifted(condition, -starts[number]) for condition in local[number]]
        predicate = conjunction([*young, *over_item])
        chosen = scan if predicate is None else Select(scan, predicate)
        if len(scan.schema) > len(item.schema):
            chosen = Project(chosen, tuple(identity(item)), tuple(field.name for field in item.schema))
        selected.append(chosen)
    return order_by_cost(Block(tuple(selected), tuple(common), ()), estimates)


Layout = tuple[Starts, tuple[int, ...], tuple[int, ...]]  # as written; the order; and the new widths


def _placed(
    scans: Sequence[tuple[Plan, tuple[Expression, ...]]],
    local: Sequence[Sequence[Expression]],
    common: Sequence[Expression],
    layout: Layout,
) -> list[Expression]:
    """All conditions, each as soon as the items that it reads are there."""
    starts, order, widths = layout
    waiting = [(c, {bisect_right(starts, column) - 1 for column in c.columns}) for c in common]
    placed: list[Expression] = []
    have: set[int] = set()
    base = 0
    for item in order:
        have.add(item)
        placed += [_shifted(condition, base) for condition in scans[item][1]]
        placed += [_moved(condition, layout) for condition in local[item]]
        if len(have) > 1:
            placed += [_moved(condition, layout) for condition, reads in waiting if reads <= have]
            waiting = [(condition, reads) for condition, reads in waiting if not reads <= have]
        base += widths[item]
    return placed


def _moved(expression: Expression, layout: Layout) -> Expression:
    """An expression as written over the items in their order."""
    return _renumbering(layout)(expression)


@lru_cache(maxsize=1 << 8)
def _renumbering(layout: Layout) -> Renumbering:
    return renumbering(_places(layout))


@lru_cache(maxsize=1 << 12)
def _places(layout: Layout) -> tuple[int, ...]:
    """For each position as written the one in the order.

    >>> _places(((0, 2, 3), (1, 0), (3, 2)))
    (2, 3, 0)
    """
    starts, order, widths = layout
    base = dict(zip(order, accumulate((widths[item] for item in order), initial=0), strict=False))
    return tuple(
        base[item] + column for item in range(len(order)) for column in range(starts[item + 1] - starts[item])
    )


@lru_cache(maxsize=1 << 12)
def _shifted(expression: Expression, by: int) -> Expression:
    return shift_columns(expression, lambda index: index + by)
