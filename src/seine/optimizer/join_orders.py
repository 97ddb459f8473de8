"""Cost-based join ordering of a block.

An order is left-deep. A join costs the rows that it holds of either side and the pairs that its
equalities let meet; a join with a relation holds nothing. What a join costs depends on which items
are joined so far, not on their order, so the best order of a set is found from its best subsets.

Cites: ARGUS 4 (join order from historical data)

Cardinality estimation: how many rows of a plan are alive at once, and the selectivity of conditions.

Cites: ARGUS 4 (historical data for estimating costs)

Equalities between two items of a block, however they are written, with the key of either item.

    a.x = b.y + 1     a.x - b.y = 1     a.x <= b.y + 1 AND a.x > b.y      a: x, b: y + 1

Estimates judge them by the values of keys, so that texts with one meaning cost the same.

Cites: ARGUS 5.1.1 (canonical predicates)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, columns_of, conjunction, conjuncts, shift_columns
from seine.algebra.plan import Aggregate, Join, Lookup, Plan, Project, Scan, Select, UnionAll, walk
from seine.algebra.user_functions import calls_user_code
from seine.evaluate.evaluate import evaluate, truth
from seine.evaluate.kernels.spending import TooMuchWork, planning
from seine.optimizer.block import Block
from seine.optimizer.equalities import LinearEquality, connects, is_equality, linear_equalities, one_type
from seine.optimizer.estimates import (
    ColumnStatistics,
    Estimates,
    Sample,
    describe_column,
    guess,
    join_selectivity,
    readable,
)
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


UNKNOWN_ROWS = 1_000.0  # of a stream or relation that nothing is known of
SAMPLED_PAIRS = 2_000  # combinations on which a condition over several items is tried


@dataclass(frozen=True)
class RowEstimate:
    """The rows of a plan that are alive at once: how many, and a sample of them if there is one."""

    rows: float
    columns: tuple[pa.Array, ...] = ()
    count: int = 0

    def key(self, expression: Expression) -> ColumnStatistics:
        """The statistics of a key over these rows; without a sample nothing but their number.

        Joins need no spread.
        """
        if not self.count or not readable(expression, list(self.columns)):
            return ColumnStatistics(0, self.rows, 0.0, 0.0)
        try:
            with planning().counting():
                values = evaluate(expression, self.columns, self.count)
        except TooMuchWork:
            return ColumnStatistics(0, self.rows, 0.0, 0.0)
        return describe_column(values, self.rows, deciles=False)


def rows_of(plan: Plan, estimates: Estimates) -> RowEstimate:
    """What is known of a plan's rows. Selections and projections of a stream run on its sample."""
    match plan:
        case Scan(stream, _):
            return _sampled(estimates.samples.get(stream.name), stream.window, len(stream.fields))
        case Lookup(relation, _):
            return _sampled(estimates.samples.get(relation.name), None, len(relation.fields))
        case Select(input, predicate):
            return _selected(rows_of(input, estimates), predicate)
        case Project(input, expressions, _):
            return _projected(rows_of(input, estimates), expressions)
        case Join(left, right, predicate):
            each = [rows_of(side, estimates).rows for side in (left, right)]
            return RowEstimate(each[0] * each[1] * (guess(predicate) if predicate is not None else 1.0))
        case Aggregate(input, keys, _, _):
            return RowEstimate(_groups(rows_of(input, estimates), keys))
        case UnionAll(branches):
            return RowEstimate(sum(rows_of(branch, estimates).rows for branch in branches))
    return RowEstimate(max(rows_of(child, estimates).rows for child in plan.inputs))


def key_selectivity(sides: Sides, items: Sequence[RowEstimate]) -> float:
    """The share of pairs of two items whose keys are equal, by distinct and common values."""
    (one, left), (other, right) = sides
    return join_selectivity(items[one].key(left), items[other].key(right))


def condition_selectivity(block: Block, number: int, items: Sequence[RowEstimate]) -> float:
    """The share of combinations that satisfy one condition of a block, tried on those of sampled rows."""
    condition = block.conditions[number]
    reads = sorted(block.reads[number])
    if not reads or any(not items[item].count for item in reads) or calls_user_code(condition):
        return guess(condition)
    columns: list[pa.Array | None] = [None] * block.offsets[-1]
    for place, item in enumerate(reads):
        chosen = _combined(place, items[item].count)
        for index, column in enumerate(items[item].columns):
            columns[block.offsets[item] + index] = column.take(chosen)
    if any(columns[index] is None for index in columns_of(condition)):
        return guess(condition)
    try:
        with planning().counting():
            hits = int(truth(condition, columns, SAMPLED_PAIRS).sum())
    except TooMuchWork:
        return guess(condition)
    return (hits + guess(condition)) / (SAMPLED_PAIRS + 1)


def _sampled(sample: Sample | None, window: int | None, width: int) -> RowEstimate:
    if sample is None:
        return RowEstimate(UNKNOWN_ROWS)
    return RowEstimate(sample.alive(window), tuple(sample.rows.columns[:width]), sample.rows.num_rows)


def _selected(rows: RowEstimate, predicate: Expression) -> RowEstimate:
    if not rows.count:
        return replace(rows, rows=rows.rows * guess(predicate))
    known_parts = conjunction([part for part in conjuncts(predicate) if readable(part, list(rows.columns))])
    if known_parts is None:
        return rows
    try:
        with planning().counting():
            chosen = np.flatnonzero(truth(known_parts, rows.columns, rows.count))
    except TooMuchWork:
        return replace(rows, rows=rows.rows * guess(known_parts))
    taken = pa.array(chosen)
    return RowEstimate(
        rows.rows * (len(chosen) + guess(known_parts)) / (rows.count + 1),
        tuple(column.take(taken) for column in rows.columns),
        len(chosen),
    )


def _projected(rows: RowEstimate, expressions: Sequence[Expression]) -> RowEstimate:
    if not all(readable(expression, list(rows.columns)) for expression in expressions):
        return RowEstimate(rows.rows)
    try:
        with planning().counting():
            columns = tuple(evaluate(expression, rows.columns, rows.count) for expression in expressions)
    except TooMuchWork:
        return RowEstimate(rows.rows)
    return RowEstimate(rows.rows, columns, rows.count)


def _groups(rows: RowEstimate, keys: Sequence[Expression]) -> float:
    """At most every combination of key values, at most every row."""
    groups = 1.0
    for key in keys:
        stats = rows.key(key)
        groups *= (stats.distinct + (stats.nulls > 0)) if stats.count else max(rows.rows * 0.1, 1.0)
    return min(groups, max(rows.rows, 1.0))


def _combined(place: int, count: int) -> pa.Array:
    """Which rows of the item at a place take part: the same every time, and each item by itself."""
    return pa.array(np.random.default_rng(place).integers(0, count, SAMPLED_PAIRS))


Side = tuple[int, Expression]  # an item, and its key over its own row
Sides = tuple[Side, Side]


@dataclass(frozen=True)
class ItemEqualities:
    """By number of a condition its two sides; and the conditions that those of others say already."""

    sides: Mapping[int, Sides]
    implied: frozenset[int]


def item_equalities(block: Block) -> ItemEqualities:
    """The equalities between two items that the conditions of a block imply."""
    plain = {number: _plain(block, number) for number in range(len(block.conditions))}
    sides = {number: pair for number, pair in plain.items() if pair is not None}
    implied: set[int] = set()
    for equality, (first, *others) in linear_equalities(block.conditions):
        pair = _linear(block, equality)
        if pair is not None:
            sides[first] = pair
            implied.update(number for number in others if number != first)
    return ItemEqualities(sides, frozenset(implied - sides.keys()))


def _plain(block: Block, number: int) -> Sides | None:
    """The sides of a condition that is itself an equality of two items."""
    reads, part = sorted(block.reads[number]), block.conditions[number]
    if len(reads) != 2 or not is_equality(part):
        return None
    start, stop = block.offsets[reads[0]], block.offsets[reads[0] + 1]
    if not connects(part, lambda index: start <= index < stop):
        return None
    keys = part.args if min(columns_of(part.args[0])) < stop else part.args[::-1]
    left, right = one_type(*keys)
    return (reads[0], _over_item(block, reads[0], left)), (reads[1], _over_item(block, reads[1], right))


def _linear(block: Block, equality: LinearEquality) -> Sides | None:
    """The sides of a sum whose addends are of two items, each of one."""
    reads = equality.reads(block.owner)
    items = sorted(set().union(*reads))
    if len(items) != 2 or any(len(read) != 1 for read in reads):
        return None
    theirs = [place for place, read in enumerate(reads) if read == {items[0]}]
    left, right = equality.keys(
        theirs,
        lambda base: _over_item(block, items[0], base),
        lambda base: _over_item(block, items[1], base),
    )
    return (items[0], left), (items[1], right)


def _over_item(block: Block, item: int, expression: Expression) -> Expression:
    return shift_columns(expression, lambda index: index - block.offsets[item])
