"""Cost-based join ordering of a block.

An order is left-deep. A join costs the rows that it holds of either side and the pairs that its
equalities let meet; a join with a relation holds nothing. What a join costs depends on which items
are joined so far, not on their order, so the best order of a set is found from its best subsets.

Cites: ARGUS 4 (join order from historical data)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import prod

from seine.algebra.expressions import Expression
from seine.algebra.plan import Scan, walk
from seine.optimizer.block import Block
from seine.optimizer.cardinality import condition_selectivity, key_selectivity, rows_of
from seine.optimizer.estimates import Estimates
from seine.optimizer.item_equalities import item_equalities
from seine.optimizer.rules.order_joins import choose_order

MOST_ITEMS_ENUMERATED = 8  # up to so many items every order is considered
MOST_ITEMS, MOST_CONDITIONS = 24, 256  # of a block whose orders are compared
_RAREST = 1e-12  # nothing is impossible

Items = frozenset[int]


def order(block: Block, estimates: Estimates | None) -> list[int]:
    """The numbers of a block's items in the order in which to join them.

    A stream begins, if there is one. Of orders that cost the same the first by number is chosen, so two items
    need no costs. To compare the orders of a very large block would take too long.
    """
    if len(block.items) <= 2 or (costs := join_costs(block, estimates)) is None:
        return choose_order(block)
    first = [number for number, stream in enumerate(costs.streams) if stream] or list(range(len(block.items)))
    search = _cheapest if len(block.items) <= MOST_ITEMS_ENUMERATED else _greedy
    return search(costs.step, first, len(block.items))


def join_costs(block: Block, estimates: Estimates | None) -> JoinCosts | None:
    """What the joins of a block cost; None if nothing is known of its data, or it is very large."""
    large = len(block.items) > MOST_ITEMS or len(block.conditions) > MOST_CONDITIONS
    if estimates is None or large or not any(map(estimates.knows, block.items)):
        return None
    return JoinCosts(block, estimates)


class JoinCosts:
    """What the joins of one block cost; every number is computed once."""

    def __init__(self, block: Block, estimates: Estimates) -> None:
        self.streams = [any(isinstance(part, Scan) for part in walk(item)) for item in block.items]
        estimated = [rows_of(item, estimates) for item in block.items]
        self._rows = [max(item.rows, 1.0) for item in estimated]
        numbers = range(len(block.conditions))
        equalities = item_equalities(block)
        self._sides = [equalities.sides.get(number) for number in numbers]

        def share(number: int) -> float:
            sides = self._sides[number]
            if sides is not None:
                return key_selectivity(sides, estimated)
            return 1.0 if number in equalities.implied else condition_selectivity(block, number, estimated)

        self._shares = [max(share(number), _RAREST) for number in numbers]
        self._reads = block.reads
        # The most selective first: of equalities in a ring the last one adds nothing.
        self._order = sorted(numbers, key=lambda number: (self._shares[number], number))
        self._known: dict[tuple[Items, bool, frozenset[int]], float] = {}

    def total(self, sequence: list[int]) -> float:
        """What a whole order costs."""
        counts = range(1, len(sequence))
        return sum(self.step(frozenset(sequence[:count]), sequence[count]) for count in counts)

    def step(self, joined: Items, number: int) -> float:
        """What it costs to join one more item: pairs that meet, and rows that are held for it."""
        held = self.rows(joined) + self._rows[number] if self.streams[number] else 0.0
        return self.pairs(joined, number) + held

    def pairs(self, joined: Items, number: int, but: frozenset[int] = frozenset()) -> float:
        """The pairs that meet when one more item is joined by all equalities, `but` for some conditions."""
        equal = self._share(joined | {number}, all_conditions=False, but=but)
        meeting = self.rows(joined) * self._rows[number] * equal
        return meeting / self._share(joined, all_conditions=False, but=but)

    def rows(self, items: Items) -> float:
        """How many combinations of some items satisfy all conditions on them."""
        return self._base(items) * self._share(items, all_conditions=True)

    def _base(self, items: Items) -> float:
        return prod(self._rows[item] for item in sorted(items))

    def _share(self, items: Items, *, all_conditions: bool, but: frozenset[int] = frozenset()) -> float:
        key = (items, all_conditions, but)
        if key not in self._known:
            self._known[key] = self._compute_share(items, all_conditions, but)
        return self._known[key]

    def _compute_share(self, items: Items, all_conditions: bool, but: frozenset[int]) -> float:
        groups = _Groups()
        share = 1.0
        for number in self._order:
            sides = self._sides[number]
            if number in but or not self._reads[number] <= items:
                continue
            if sides is None:
                share *= self._shares[number] if all_conditions else 1.0
            elif groups.unite(*sides):
                share *= self._shares[number]
        return share


class _Groups:
    """Keys that are equal to one another."""

    def __init__(self) -> None:
        self._group: dict[tuple[int, Expression], int] = {}

    def unite(self, one: tuple[int, Expression], other: tuple[int, Expression]) -> bool:
        """Make two keys equal; whether that is news."""
        for key in (one, other):
            self._group.setdefault(key, len(self._group))
        kept, gone = self._group[one], self._group[other]
        if kept == gone:
            return False
        self._group = {key: kept if group == gone else group for key, group in self._group.items()}
        return True


Step = Callable[[Items, int], float]
Costed = tuple[float, tuple[int, ...]]


def _cheapest(step: Step, first: list[int], count: int) -> list[int]:
    """The cheapest of all orders, by dynamic programming over sets of items."""
    best: dict[Items, Costed] = {frozenset([number]): (0.0, (number,)) for number in first}
    for size in range(2, count + 1):
        for chosen in map(frozenset, combinations(range(count), size)):
            extended = [
                (best[chosen - {last}][0] + step(chosen - {last}, last), (*best[chosen - {last}][1], last))
                for last in chosen
                if chosen - {last} in best
            ]
            if extended:
                best[chosen] = min(extended)
    return list(best[frozenset(range(count))][1])


def _greedy(step: Step, first: list[int], count: int) -> list[int]:
    """From each beginning the cheapest next item again and again; the cheapest of these orders."""
    return list(min(_grown(step, number, count) for number in first)[1])


def _grown(step: Step, begin: int, count: int) -> Costed:
    cost = 0.0
    sequence: tuple[int, ...] = (begin,)
    while len(sequence) < count:
        joined = frozenset(sequence)
        price, following = min((step(joined, n), n) for n in range(count) if n not in joined)
        cost, sequence = cost + price, (*sequence, following)
    return cost, sequence
