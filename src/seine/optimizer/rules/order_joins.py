"""Rule: order the joins of a block as a left-deep tree, equi-joins first."""

from __future__ import annotations

from collections.abc import Callable

from seine.algebra.expressions import Expression, conjunction, conjuncts, shift_columns
from seine.algebra.plan import Join, Lookup, Plan, Project, Scan, Select, walk
from seine.optimizer.block import Block, take_apart
from seine.optimizer.equalities import connects, linear_equalities
from seine.optimizer.traverse import with_inputs


def order_joins(plan: Plan, choose: Callable[[Block], list[int]] | None = None) -> Plan:
    """Make every block of joins a left-deep tree, each condition at the lowest join that has its columns.

    `choose` gives the order of a block. Without it the order is greedy: it starts with the first stream and
    appends the first stream that an equality connects to the items so far, else a relation so connected,
    else an item that another condition connects, else any item (a cross product).

    before: Select(Join(Join(a, b), c), a.x = c.x AND c.y = b.y)
    after:  Project(Join(Join(a, c, a.x = c.x), b, c.y = b.y), columns as before)
    """
    if not isinstance(plan, Join):
        return with_inputs(plan, tuple(order_joins(child, choose) for child in plan.inputs))
    block = take_apart(plan, is_item=_is_without_joins)
    items = tuple(order_joins(item, choose) for item in block.items)
    block = Block(items, block.conditions, block.outputs)
    order = (choose or choose_order)(block)
    names = tuple(field.name for field in plan.schema)
    return Project(_join(block, order), _renumber(block, order, block.outputs), names)


def _is_without_joins(plan: Plan) -> bool:
    """Whether a plan selects from and projects one item that is no relation: its conditions stay with it."""
    while isinstance(plan, Select | Project):
        plan = plan.input
    return not isinstance(plan, Join | Lookup)


def choose_order(block: Block) -> list[int]:
    """The greedy join order of a block: the indexes of its items."""
    streams = [any(isinstance(part, Scan) for part in walk(item)) for item in block.items]
    order = [streams.index(True) if any(streams) else 0]
    waiting = [number for number in range(len(block.items)) if number not in order]
    while len(waiting) > 1:
        joined = frozenset(order)
        ranks = [(_rank(block, joined, number, streams[number]), number) for number in waiting]
        order.append(min(ranks)[1])
        waiting.remove(order[-1])
    return order + waiting


def _rank(block: Block, joined: frozenset[int], number: int, stream: bool) -> int:
    """The priority of an item as the next one to join: lower is earlier."""
    together = joined | {number}
    reachable = [
        condition
        for condition, reads in zip(block.conditions, block.reads, strict=True)
        if number in reads and len(reads) > 1 and reads <= together
    ]
    columns = block.columns(number)
    if _is_keyed(reachable, lambda index: index not in columns):
        return 0 if stream else 1
    if reachable:
        return 2 if stream else 3
    return 4 if stream else 5


def _is_keyed(conditions: list[Expression], is_left: Callable[[int], bool]) -> bool:
    """Whether a key of an equi-join follows from conditions."""
    if any(connects(condition, is_left) for condition in conditions):
        return True
    return any(equality.connects(is_left) for equality, _ in linear_equalities(conditions))


def _join(block: Block, order: list[int]) -> Plan:
    of_items = {number: _own_conditions(block, number) for number in order}
    placed = {condition for conditions in of_items.values() for condition in conditions}
    plan = _selected(block, order[0], of_items[order[0]])
    for count in range(2, len(order) + 1):
        joined = frozenset(order[:count])
        here = [
            number for number, reads in enumerate(block.reads) if number not in placed and reads <= joined
        ]
        placed.update(here)
        parts = _renumber(block, order, tuple(block.conditions[number] for number in here))
        last = order[count - 1]
        plan = Join(plan, _selected(block, last, of_items[last]), conjunction(list(parts)))
    return plan


def _own_conditions(block: Block, number: int) -> list[int]:
    """The conditions of one item alone, but for those of relations, which joins have: some turn out to be so
    when the columns of a sub-query are written out.
    """
    if isinstance(block.items[number], Lookup):
        return []
    return [condition for condition, reads in enumerate(block.reads) if reads == {number}]


def _selected(block: Block, number: int, conditions: list[int]) -> Plan:
    """An item, with its own conditions."""
    item, first = block.items[number], min(block.columns(number), default=0)
    shifted = [shift_columns(block.conditions[one], lambda index: index - first) for one in conditions]
    if isinstance(item, Select) and shifted:
        shifted = [*conjuncts(item.predicate), *shifted]
        item = item.input
    predicate = conjunction(shifted)
    return item if predicate is None else Select(item, predicate)


def _renumber(block: Block, order: list[int], expressions: tuple[Expression, ...]) -> tuple[Expression, ...]:
    position: dict[int, int] = {}
    for number in order:
        for index in block.columns(number):
            position[index] = len(position)
    return tuple(shift_columns(e, position.__getitem__) for e in expressions)
