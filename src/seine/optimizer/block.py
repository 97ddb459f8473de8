"""A select-project-join block: the part of a plan between pipeline breakers, as one flat list of items.

    SELECT outputs FROM items WHERE conditions

Selections, projections and inner joins commute, so whoever judges, orders, builds or indexes a plan wants
them out of the way. What is left are the items of the block: streams, relations, and the results of pipeline
breakers (aggregates and set operators), beneath which there are further blocks.

States the time-outs of punctuations as conditions on times.

A punctuation may be missed, and then what waits for it would wait for ever. A scheme with a TIMEOUT n says
how long anything waits: a tuple s of its stream and a tuple t of another, equal in all columns of the scheme,
join only if s.ts <= t.ts + n. So t is freed when the stream's watermark has passed that, punctuated or not,
and whether a pair is reported depends on event times alone.

    CREATE STREAM bid (...) TIMESTAMP BY ts PUNCTUATED ON (itemid) TIMEOUT 100 ...

    before: item.itemid = bid.itemid
    after:  item.itemid = bid.itemid AND bid.ts <= item.ts + 100

Cites: SAFETY 5.1 (missed punctuations: a clean-up of what they would have purged)

A query's own window on an item of FROM, as conditions and as the end of its rows.

    SELECT ... FROM bid b WINDOW 10, ask a WHERE a.k = b.k

    conditions: a.ts < b.ts + 10             a combination is there if every tuple begins before b ends
    ends:       b.ts + 10                    and it ends no later than b

The rows that a stream sends have the stream's window, whoever reads them. So a thousand queries with windows
of their own share sources and joins, and the lengths are constants of conditions.

States how far apart two times of one bucket can be, where a join is of equal buckets of time.

Two times of one bucket differ by less than the bucket is long. Stated as conditions on the times, that frees
rows like any other condition on times: when the other stream's watermark has passed the bucket.

    before: date_trunc('hour', a.ts) = date_trunc('hour', b.ts)
    after:  the same AND b.ts <= a.ts + 1 hour AND a.ts <= b.ts + 1 hour

Law: where the equality holds, the bounds hold, so that no answer changes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

from seine.algebra.definitions import Scheme
from seine.algebra.event_windows import window_of
from seine.algebra.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    conjunction,
    conjuncts,
    shift_columns,
    substitute,
)
from seine.algebra.functions import literal, resolve_call
from seine.algebra.monotone import last_sorted_field, text_of_time
from seine.algebra.plan import Join, Lookup, Plan, Project, Scan, Select
from seine.algebra.types import BIGINT, DATE, DAY_TIME, TIMESTAMP
from seine.optimizer.equalities import explicit_equalities
from seine.optimizer.scheme_partners import Partner, partners, with_reuse
from seine.optimizer.traverse import LARGEST_SUBSTITUTION, identity, stays_small


@dataclass(frozen=True)
class Block:
    """Items joined in any order, the conditions on their combinations, and the columns of the result.

    Expressions address the concatenation of the items' columns, in the order of the items.
    """

    items: tuple[Plan, ...]
    conditions: tuple[Expression, ...]
    outputs: tuple[Expression, ...]

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The position of each item's first column, and the total width at the end."""
        offsets = [0]
        for item in self.items:
            offsets.append(offsets[-1] + len(item.schema))
        return tuple(offsets)

    @cached_property
    def reads(self) -> list[frozenset[int]]:
        """For each condition, the numbers of the items that it reads."""
        return [self.items_of(condition) for condition in self.conditions]

    @cached_property
    def scans(self) -> list[tuple[Scan, int]]:
        """The streams among the items, each with the position of its first column."""
        pairs = zip(self.items, self.offsets, strict=False)
        return [(item, first) for item, first in pairs if isinstance(item, Scan)]

    @property
    def is_of_tables(self) -> bool:
        """Whether its rows are combinations of tuples of streams and relations, of nothing computed."""
        return all(isinstance(item, Scan | Lookup) for item in self.items)

    @property
    def is_plain(self) -> bool:
        """Whether it gives the rows of its one item as they are."""
        return len(self.items) == 1 and not self.conditions and [*self.outputs] == identity(self.items[0])

    def owner(self, column: int) -> int:
        """The number of the item that has a column."""
        return bisect_right(self.offsets, column) - 1

    def columns(self, item: int) -> range:
        """The positions of an item's columns."""
        return range(self.offsets[item], self.offsets[item + 1])

    def items_of(self, expression: Expression) -> frozenset[int]:
        """The numbers of the items whose columns an expression reads."""
        return frozenset(map(self.owner, expression.columns))

    def among(self, numbers: Sequence[int]) -> Block:
        """The block of some of the items, in this order, with the conditions that read no others."""
        chosen = frozenset(numbers)
        position = {column: at for at, column in enumerate(c for n in numbers for c in self.columns(n))}
        return Block(
            tuple(self.items[number] for number in numbers),
            tuple(
                shift_columns(condition, position.__getitem__)
                for condition, reads in zip(self.conditions, self.reads, strict=True)
                if reads and reads <= chosen
            ),
            (),
        )


class Blocks:
    """The blocks of a plan and of the plans beneath its pipeline breakers, each worked out once.

    See `take_apart` for `largest`.
    """

    def __init__(self, largest: int | None = LARGEST_SUBSTITUTION) -> None:
        self._largest = largest
        self._known: dict[int, tuple[Plan, Block]] = {}  # by identity: to compare plans costs as much

    def know(self, plan: Plan, block: Block) -> None:
        """Take a block for the one of a plan."""
        self._known[id(plan)] = (plan, block)

    def of(self, plan: Plan) -> Block:
        known = self._known.get(id(plan))
        if known is None:
            known = self._known[id(plan)] = (plan, block_of(plan, largest=self._largest))
        return known[1]


def block_of(plan: Plan, *, largest: int | None = LARGEST_SUBSTITUTION) -> Block:
    """The block at the top of a plan, with the equalities that its conditions imply stated plainly.

    See `take_apart` for `largest`, and `explicit_equalities` for the equalities: check and builder
    read the same ones. What streams promise of times is a condition too (`stated_conditions`).
    """
    block = take_apart(plan, largest=largest)
    return Block(block.items, stated_conditions(block), block.outputs)


def stated_conditions(block: Block) -> tuple[Expression, ...]:
    """The conditions of a block with its equalities stated plainly, and those on times that punctuation
    schemes of its streams add, time-outs and reused values (`scheme_partners.py`), equal buckets of time, and
    windows of the query's own.
    """
    items, offsets = block.items, block.offsets
    plain = explicit_equalities(with_bucket_bounds(block.conditions))
    if not any(scan.stream.schemes or scan.life is not None for scan, _ in block.scans):
        return plain  # nothing of its streams adds conditions
    timed = with_reuse(items, offsets, with_timeouts(items, offsets, plain))
    return with_own_windows(items, offsets, timed)


def take_apart(
    plan: Plan,
    *,
    largest: int | None = LARGEST_SUBSTITUTION,
    is_item: Callable[[Plan], bool] | None = None,
) -> Block:
    """The block at the top of a plan, its conditions as they are written, those of lower joins first.

    Columns that projections compute are written out wherever they are read. A selection or projection whose
    expressions would thereby exceed `largest` nodes ends the block, and what is beneath it is an item; None
    sets no limit, for those who compute nothing. Plans for which `is_item` holds are not entered.

    A chain of joins is walked, not recursed into: a query of a thousand streams takes a thousand steps.

    before: Project(Select(Join(a, Project(b, [#1 + 1])), #0 = #2), [#2])   with a and b of two columns
    after:  items (a, b), conditions (#0 = #3 + 1), outputs (#3 + 1)
    """
    taking = _TakingApart(largest, is_item)
    row = taking.take(plan)
    return Block(tuple(taking.items), tuple(taking.conditions), tuple(row.outputs(taking.items)))


def with_item(
    block: Block, place: int, item: Plan, outputs: Sequence[Expression], names: tuple[str, ...]
) -> Plan:
    """The rows of a block with another plan in place of an item."""
    items = [*block.items[:place], item, *block.items[place + 1 :]]
    predicate = conjunction([*block.conditions])
    joined: Plan = reduce(Join, items)
    return Project(joined if predicate is None else Select(joined, predicate), tuple(outputs), names)


@dataclass
class _PlanColumns:
    """The columns of a plan over those of the items: from `first` on as they are, or else as `expressions`.

    `item` is the number of the first item beneath the plan; later ones up to the last are beneath it too.
    """

    item: int
    first: int
    expressions: list[Expression] | None = None

    def over_items(self, expression: Expression) -> Expression:
        """An expression over columns of the plan as one over columns of the items."""
        outputs, first = self.expressions, self.first
        if outputs is None:
            return expression if not first else shift_columns(expression, lambda index: index + first)
        if all(isinstance(outputs[index], Column) for index in expression.columns):
            return shift_columns(expression, lambda index: _index(outputs[index]))
        return substitute(expression, outputs)

    def takes(self, expressions: Sequence[Expression], largest: int) -> bool:
        """Whether expressions over the plan stay small when they are written over the items."""
        if self.expressions is None:
            return sum(expression.size for expression in expressions) <= largest
        return stays_small(expressions, self.expressions, largest)

    def outputs(self, items: Sequence[Plan]) -> list[Expression]:
        """The columns as expressions; `items` are all up to the last one beneath the plan."""
        if self.expressions is None:
            fields = [field for item in items[self.item :] for field in item.schema]
            return [Column(self.first + index, field.type) for index, field in enumerate(fields)]
        return self.expressions


class _TakingApart:
    def __init__(self, largest: int | None, is_item: Callable[[Plan], bool] | None) -> None:
        self.items: list[Plan] = []
        self.conditions: list[Expression] = []
        self._width = 0
        self._largest = largest
        self._is_item = is_item

    def take(self, plan: Plan) -> _PlanColumns:
        """Add the items and conditions beneath a plan; the result is the plan's row."""
        if self._is_item is None or not self._is_item(plan):
            match plan:
                case Select(input, predicate):
                    parts = conjuncts(predicate)
                    row = self._take_input(input, parts)
                    self.conditions += map(row.over_items, parts)
                    return row
                case Project(input, expressions, _):
                    row = self._take_input(input, expressions)
                    return _PlanColumns(row.item, row.first, [*map(row.over_items, expressions)])
                case Join():
                    return self._take_joins(plan)
        return self._take_item(plan)

    def _take_input(self, plan: Plan, expressions: Sequence[Expression]) -> _PlanColumns:
        """Take a plan whose columns expressions read; as an item if they would grow too large by that."""
        before = len(self.items), len(self.conditions), self._width
        row = self.take(plan)
        if self._largest is None or row.takes(expressions, self._largest):
            return row
        items, conditions, self._width = before
        del self.items[items:], self.conditions[conditions:]
        return self._take_item(plan)

    def _take_joins(self, plan: Join) -> _PlanColumns:
        chain: list[Join] = []
        left: Plan = plan
        while isinstance(left, Join):
            chain.append(left)
            left = left.left
        row = self.take(left)
        for join in reversed(chain):
            count = len(self.items)
            right = self.take(join.right)
            if row.expressions is not None or right.expressions is not None:
                if row.expressions is None:
                    row.expressions = row.outputs(self.items[:count])
                row.expressions += right.outputs(self.items)
            self.conditions += map(row.over_items, conjuncts(join.predicate))
        return row

    def _take_item(self, plan: Plan) -> _PlanColumns:
        row = _PlanColumns(len(self.items), self._width)
        self.items.append(plan)
        self._width += len(plan.schema)
        return row


def _index(column: Expression) -> int:
    assert isinstance(column, Column)
    return column.index


def with_timeouts(
    items: Sequence[Plan], offsets: Sequence[int], conditions: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """The conditions of a block, equalities stated plainly, and those that time-outs of its streams add."""
    added = [_within(partner) for partner in partners(items, offsets, conditions, _has_timeout)]
    return tuple(dict.fromkeys([*conditions, *added])) if added else conditions


def _has_timeout(scheme: Scheme) -> bool:
    return scheme.timeout is not None


def _within(partner: Partner) -> Expression:
    """stream.ts <= other.ts + timeout"""
    stream = partner.stream.scan.stream
    most = stream.schemes[partner.scheme].timeout or 0
    length = Literal(most, DAY_TIME) if stream.domain == "timestamp" else literal(most)
    return resolve_call("le", [partner.stream.time, resolve_call("add", [partner.other.time, length])])


def with_own_windows(
    items: Sequence[Plan], offsets: Sequence[int], conditions: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """The conditions of a block, and those that the windows of its items add."""
    added = list(_overlaps(items, offsets))
    return tuple(dict.fromkeys([*conditions, *added])) if added else conditions


def own_ends(items: Sequence[Plan], offsets: Sequence[int]) -> list[Expression]:
    """The ends of the items' tuples, of those that have windows of the query's own."""
    return [_end(scan, first) for scan, first in _scans(items, offsets) if scan.life is not None]


def _overlaps(items: Sequence[Plan], offsets: Sequence[int]) -> Iterator[Expression]:
    placed = list(_scans(items, offsets))
    for scan, first in placed:
        for other, start in placed if scan.life is not None else ():
            if start != first:
                yield resolve_call("lt", [_time(other, start), _end(scan, first)])


def _scans(items: Sequence[Plan], offsets: Sequence[int]) -> Iterator[tuple[Scan, int]]:
    for item, first in zip(items, offsets, strict=False):
        if isinstance(item, Scan):
            yield item, first


def _time(scan: Scan, first: int) -> Column:
    return Column(first + scan.stream.time, scan.stream.types[scan.stream.time])


def _end(scan: Scan, first: int) -> Expression:
    time = _time(scan, first)
    return resolve_call("add", [time, Literal(scan.life, DAY_TIME if time.type == TIMESTAMP else BIGINT)])


_SECOND = 1_000_000  # microseconds
_DAY = 86_400 * _SECOND
_LONGEST_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": _SECOND,
    "minute": 60 * _SECOND,
    "hour": 3_600 * _SECOND,
    "day": _DAY,
    "week": 7 * _DAY,
    "month": 31 * _DAY,
    "quarter": 92 * _DAY,
    "year": 366 * _DAY,
}
_LONGEST_SPAN = 1 << 62  # beyond which a bound says nothing of a time
_NUMBERS = {"unix_seconds": _SECOND, "unix_millis": 1_000, "unix_micros": 1, "unix_date": 1}  # of times
_TIMES = {"timestamp_seconds": _SECOND, "timestamp_millis": 1_000, "timestamp_micros": 1}  # of numbers


def with_bucket_bounds(conditions: Sequence[Expression]) -> tuple[Expression, ...]:
    """Conditions, and behind them the bounds of times that equalities of buckets imply."""
    bounds = [bound for condition in conditions for bound in bucket_bounds(condition)]
    return tuple(dict.fromkeys([*conditions, *bounds])) if bounds else tuple(conditions)


@lru_cache(maxsize=1 << 14)
def bucket_bounds(condition: Expression) -> tuple[Expression, ...]:
    """The bounds that an equality of two buckets implies; none of any other condition.

    >>> from seine.algebra.types import BOOLEAN
    >>> slots = [Call("int_div", (Column(i, BIGINT), Literal(10, BIGINT)), BIGINT) for i in (0, 4)]
    >>> [str(bound) for bound in bucket_bounds(Call("eq", tuple(slots), BOOLEAN))]
    ['le(#0, add(#4, 18))', 'le(#4, add(#0, 18))']
    """
    match condition:
        case Call("eq", (one, other)) if len(condition.columns) == 2:
            return tuple(_bounds(one, other))
    return ()


def _bounds(one: Expression, other: Expression) -> Iterator[Expression]:
    if isinstance(one, Column) and isinstance(other, Column):
        return
    here, there = bucket_span(one), bucket_span(other)
    if here is None or there is None or _shape(one, here[0]) != _shape(other, there[0]):
        return
    left, right, span = here[0], there[0], here[1]
    if span > _LONGEST_SPAN:
        return
    length = Literal(span, DAY_TIME if left.type == TIMESTAMP else BIGINT)
    for earlier, later in ((right, left), (left, right)):
        yield resolve_call("le", [later, resolve_call("add", [earlier, length])])


def bucket_span(expression: Expression, apart: int = 0) -> tuple[Column, int] | None:
    """The time of which an expression is a bucket, and how far apart two times can be whose buckets are no
    further than `apart`; so buckets may be of one another.

    >>> time = Column(2, TIMESTAMP)
    >>> bucket_span(Call("date_trunc", (Literal("hour", DATE), time), TIMESTAMP))[1]
    3599999999
    >>> bucket_span(resolve_call("int_div", [resolve_call("unix_seconds", [time]), Literal(10, BIGINT)]))[1]
    18999999
    """
    match expression:
        case Column(_, type_) if type_ in (BIGINT, TIMESTAMP):
            return expression, apart
        case Call("add" | "sub", (inner, Literal(value))) if value is not None:
            return bucket_span(inner, apart)
        case Call("add", (Literal(value), inner)) if value is not None:
            return bucket_span(inner, apart)
        case Call("mul", (inner, Literal(int(factor)))) | Call("mul", (Literal(int(factor)), inner)):
            return bucket_span(inner, apart // factor) if factor > 0 else None
    kinds = (_cut, _of_units, _of_text, _of_window)
    return next((span for kind in kinds if (span := kind(expression, apart)) is not None), None)


def _cut(expression: Expression, apart: int) -> tuple[Column, int] | None:
    """The span of what cuts a time to buckets; division is towards 0, where a bucket is twice as long."""
    match expression:
        case Call("int_div", (inner, Literal(int(divisor)))) if divisor > 0:
            return bucket_span(inner, (apart + 2) * divisor - 2)
        case Call("sub", (inner, Call("mod" | "pmod", (same, Literal(int(divisor)))))):
            is_cut = inner == same and divisor > 0
            return bucket_span(inner, apart + 2 * divisor - 2) if is_cut else None
        case Call("date_trunc", (Literal(unit), inner)):
            return bucket_span(inner, apart + _LONGEST_UNITS[unit] - 1)
    return None


def _of_text(expression: Expression, apart: int) -> tuple[Column, int] | None:
    """The span of a text that tells a time to some unit."""
    text = text_of_time(expression)
    last = None if text is None or apart else last_sorted_field(text[1])
    return None if text is None or last is None else bucket_span(text[0], _LONGEST_UNITS[last] - 1)


def _of_units(expression: Expression, apart: int) -> tuple[Column, int] | None:
    """The span of a time as a number of days, seconds and so on, or of such a number as a time."""
    match expression:
        case Call("cast", (inner,), type_) if type_ == DATE and inner.type == TIMESTAMP:
            return bucket_span(inner, (apart + 1) * _DAY - 1)
        case Call(name, (inner,)) if name in _NUMBERS:
            return bucket_span(inner, (apart + 1) * _NUMBERS[name] - 1)
        case Call(name, (inner,)) if name in _TIMES:
            return bucket_span(inner, apart // _TIMES[name])
    return None


def _of_window(expression: Expression, apart: int) -> tuple[Column, int] | None:
    window = window_of(expression)
    if window is None or window.is_hopping:
        return None
    length = window.constants[0]
    return bucket_span(window.time, apart + length.value - 1) if isinstance(length, Literal) else None


def _shape(expression: Expression, column: Column) -> str:
    """An expression as text, whichever its column is."""
    return str(expression).replace(str(column), "#") + str(column.type)
