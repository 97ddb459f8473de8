"""What makes groups final: punctuations of all streams beneath, or a watermark beyond the time in their keys.

A group is final when no tuple can join it any more. So it is when every stream of its block has punctuated
the values of its keys, or when its key is the time of every one and the watermarks have passed it. The check
says by these rules which groups go, and the builder brings them the punctuations and clocks that they name.

Groups may be of the rows of other groups, of DISTINCT, UNION or EXCEPT, and joins may be of all of these.
What such rows tell those above is a rising column: with the watermark its earlier values become final. The
time of a stream is one.

    s(ts) ──> GROUP BY k, ts - ts % 10 AS b ──> GROUP BY b ──> JOIN t ON t.ts - t.ts % 10 = b
       ts rises        b rises with ts            b rises           freed when b and t.ts have passed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from seine.algebra.event_windows import is_closing, session_of
from seine.algebra.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    shift_columns,
    substitute,
)
from seine.algebra.linear import UpperBound
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Lookup,
    PartnerLookup,
    Plan,
    Scan,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.rank_plan import Partitioned
from seine.algebra.types import BIGINT, TIMESTAMP
from seine.optimizer.block import Block
from seine.optimizer.closing_times import implied_bounds
from seine.safety.graph.build_graph import ColumnClasses
from seine.safety.graph.purgeable import purgeable
from seine.safety.states.column_facts import (
    determined_columns,
    equal_expressions,
    graph_of_tables,
    is_window_start,
    least_later,
)
from seine.safety.states.runnable import why_not_purged


@dataclass(frozen=True)
class KeyScheme:
    """A scheme of a stream all of whose columns equal keys: of each the place of the key, and the column."""

    scan: Scan
    scheme: int
    places: tuple[tuple[int, int], ...]
    joined: Block | None = field(default=None, compare=False)  # through the join of this block, if it is one

    @property
    def stream(self) -> str:
        return self.scan.stream.name


BlockOf = Callable[[Plan], Block]  # the block at the top of a plan, all of it inlined
Clocks = tuple[Expression, ...]  # functions of event time, column 0, that never fall


@dataclass(frozen=True)
class RisingColumn:
    """A column of rows of which none below what all its clocks have reached begins or ends early any more.

    `by_length`: its clocks have the length of a window in them, and are wrong for windows of other lengths.
    """

    column: int
    clocks: Clocks
    by_length: bool = False


@dataclass(frozen=True)
class RisingKey:
    """A key, by its place, that no tuple to come has below all its clocks, functions of the time (column 0).

    Of a period it is that function of each tuple's own time. `by_length` is as in RisingColumn.
    """

    place: int
    clocks: Clocks
    is_period: bool
    by_length: bool = False


Rising = TypeVar("Rising", RisingColumn, RisingKey)


@dataclass(frozen=True)
class GroupedBlock:
    """One block whose rows are grouped, the plan that it is of, and the keys over its rows."""

    plan: Plan
    block: Block
    keys: tuple[Expression, ...]
    block_of: BlockOf = field(compare=False, repr=False)
    closes: int | None = None  # the place of a key that is a closing time: no row begins or ends after it

    @property
    def lasts(self) -> bool:
        """Whether its rows never end: they are combinations of tuples, none expires or is deleted."""
        return self.block.is_of_tables and self.settles

    @cached_property
    def settles(self) -> bool:
        """Whether its rows end only because rows of groups or set operators beneath change, if at all: no
        tuple expires or can be deleted.
        """
        scans = [part for part in walk(self.plan) if isinstance(part, Scan)]
        return not any(scan.stream.retractable or scan.window is not None for scan in scans)

    @cached_property
    def _classes(self) -> ColumnClasses:
        """The columns of one type that conditions make equal."""
        return ColumnClasses(
            pair for condition in self.block.conditions if (pair := _equal(condition)) is not None
        )

    def key_schemes(self) -> list[list[KeyScheme]]:
        """For each stream beneath the schemes that say something of groups; relations are finite."""
        place_of: dict[int, int] = {}
        for place, key in enumerate(self.keys):
            if isinstance(key, Column):
                place_of.setdefault(self._classes.of(key.index), place)
        return [
            list(self._schemes(schemes, first, place_of))
            for item, first in zip(self.block.items, self.block.offsets, strict=False)
            for schemes in row_schemes(item, self.block_of)
        ]

    def members(self) -> list[list[KeyScheme]]:
        """Who has to punctuate the keys of a group so that it is final: each stream beneath, by one of its
        schemes; or, of two that are joined, one alone, if the join frees all that it holds.

        The join repeats that punctuation when it holds no more tuples with its values (a derived one).
        """
        schemes = self.key_schemes()
        if all(schemes) or not self._frees_all:
            return schemes
        chained = next((uses for uses in schemes if uses), [])
        return [[replace(use, joined=self.block) for use in chained]]

    @property
    def _frees_all(self) -> bool:
        """Whether two streams without windows are joined, and all that the join holds goes some day."""
        if not self.lasts or len(self.block.scans) != 2 or why_not_purged(self.plan, self.block, False):
            return False
        return all(purgeable(graph_of_tables(self.block).graph))

    def _schemes(
        self, schemes: Sequence[KeyScheme], first: int, place_of: dict[int, int]
    ) -> Iterator[KeyScheme]:
        """Schemes that are about columns of an item, as ones about keys."""
        for use in schemes:
            named = [(self._classes.of(first + place), column) for place, column in use.places]
            if all(class_ in place_of for class_, _ in named):
                places = sorted((place_of[class_], column) for class_, column in named)
                yield KeyScheme(use.scan, use.scheme, tuple(places))

    def rising_keys(self) -> dict[int, RisingKey]:
        """The keys, by place, that never fall with a column that rises in every item, or that no time of a
        combination exceeds.
        """
        keys = [self._rising_key(place, key) for place, key in enumerate(self.keys)]
        return {key.place: key for key in keys if key is not None}

    def rising_beside(self) -> list[RisingColumn]:
        """The rising columns of its rows, by their places there, that its keys determine and have not."""
        determined = determined_columns(self.block, self._classes, self.keys)
        beside = [
            (place, self._rising_key(place, output))
            for place, output in enumerate(self.block.outputs)
            if isinstance(output, Column) and output.index in determined and output not in self.keys
        ]
        return [RisingColumn(place, key.clocks, key.by_length) for place, key in beside if key is not None]

    def _rising_key(self, place: int, key: Expression) -> RisingKey | None:
        if place == self.closes or is_closing(key):
            return RisingKey(place, (Column(0, key.type),), False)
        bound = least_later(key)
        classes = set() if bound is None else {self._classes.of(column) for column in columns_of(bound)}
        if bound is None or len(classes) != 1:
            return None
        of_time = shift_columns(bound, lambda index: 0)
        (class_,) = classes
        below = self._rising_below(class_)
        if below:
            clocks = dict.fromkeys(substitute(of_time, [clock]) for one in below for clock in one.clocks)
            by_length = is_window_start(key) or any(one.by_length for one in below)
            return RisingKey(place, tuple(clocks), bound == key, by_length)
        if self._is_latest(min(columns_of(bound))):
            return RisingKey(place, (of_time,), False, is_window_start(key))
        return self._equal_buckets(place, key)

    def _equal_buckets(self, place: int, key: Expression) -> RisingKey | None:
        """A key that conditions make equal to a function of time of each item but relations.

        So it is with date_trunc('hour', a.ts) where this is the hour of b.ts, and with the day of that hour:
        a combination to come has a tuple to come, and what that has is in no earlier hour.
        """
        equal = equal_expressions(key, self.block.conditions)
        bounds = [bound for one in equal if (bound := least_later(one)) is not None]
        clocks: list[Expression] = []
        for item in self._rising:
            rising = {one.column: one.clocks for one in item if not one.by_length}
            bucket = next((bound for bound in bounds if columns_of(bound) <= rising.keys()), None)
            if bucket is None:
                return None
            of_time, (column,) = shift_columns(bucket, lambda index: 0), columns_of(bucket)
            clocks += [substitute(of_time, [clock]) for clock in rising[column]]
        return RisingKey(place, tuple(dict.fromkeys(clocks)), False, any(map(is_window_start, equal)))

    def _rising_below(self, class_: int) -> list[RisingColumn]:
        """What rises of a class of equal columns in each item but relations; none unless it does in all."""
        rising = []
        for item in self._rising:
            below = next((one for one in item if self._classes.of(one.column) == class_), None)
            if below is None:
                return []
            rising.append(below)
        return rising

    def _is_latest(self, column: int) -> bool:
        """Whether conditions say that no time of a combination is later than a column of it.

        So it is with b.ts BETWEEN a.ts AND a.expires: whatever comes once the watermarks have passed a value
        of a.expires has a time that is later, and is in no combination with it.
        """
        if not self.block.is_of_tables:
            return False
        later: dict[int, set[int]] = {}
        for condition in self.block.conditions:
            for bound in implied_bounds(condition):
                if len(bound.terms) == 1 and bound.terms[0][1] == 1 and _is_no_more(bound):
                    later.setdefault(self._classes.of(bound.column), set()).add(
                        self._classes.of(bound.terms[0][0])
                    )
        times = {self._classes.of(first + scan.stream.time) for scan, first in self.block.scans}
        types = [field.type for item in self.block.items for field in item.schema]
        latest = self._classes.of(column)
        return types[column] in (BIGINT, TIMESTAMP) and all(latest in _reached(t, later) for t in times)

    def session_time(self) -> Expression | None:
        """The time of the session that is a key, if it is that of the one stream."""
        session = next((one for key in self.keys if (one := session_of(key)) is not None), None)
        if session is None or not self.block.is_of_tables or len(self.block.scans) != 1:
            return None
        scan, first = self.block.scans[0]
        time = Column(first + scan.stream.time, scan.schema[scan.stream.time].type)
        return shift_columns(time, lambda index: 0) if session.time == time else None

    @property
    def rises_together(self) -> bool:
        """Whether a rising column of each item is equal in all."""
        classes = [{self._classes.of(one.column) for one in item} for item in self._rising]
        return bool(classes and set[int].intersection(*classes))

    @cached_property
    def _rising(self) -> list[list[RisingColumn]]:
        """The rising columns of each item but relations, by their places in the block."""
        items = zip(self.block.items, self.block.offsets, strict=False)
        return [
            [replace(one, column=first + one.column) for one in self._rising_in(item)]
            for item, first in items
            if not isinstance(item, Lookup)
        ]

    def _rising_in(self, item: Plan) -> list[RisingColumn]:
        """Of a stream with deletions too: here it counts what can still begin."""
        return [_time_of(item)] if isinstance(item, Scan) else rising_columns(item, self.block_of)


def whatever_length(rising: Sequence[Rising]) -> Sequence[Rising]:
    """What rises, without the starts of windows where anything else does.

    So that one operator serves windows of all lengths: clocks that go by a length would be its own.
    """
    return [one for one in rising if not one.by_length] or rising


def row_schemes(plan: Plan, block_of: BlockOf) -> list[list[KeyScheme]]:
    """For each stream beneath an item the schemes that are about columns of its rows; none of a relation.

    When every stream has punctuated values of a row by one of its schemes, no row with these values begins or
    ends early, once the instants before the last of these punctuations are complete.
    """
    match plan:
        case Lookup():
            return []
        case Scan(stream):
            lasting = [n for n, one in enumerate(stream.schemes) if one.lifespan is None and not one.reused]
            places = [tuple((column, column) for column in stream.schemes[n].columns) for n in lasting]
            uses = [KeyScheme(plan, n, at) for n, at in zip(lasting, places, strict=True)]
            return [[] if stream.retractable else uses]
    keyed = [schemes for part in _parts(plan, block_of) or () for schemes in part.key_schemes()] or [[]]
    return [[_of_columns(use, plan) for use in schemes] for schemes in keyed]


def rising_columns(plan: Plan, block_of: BlockOf) -> list[RisingColumn]:
    """The columns of an item of a block whose values the watermark makes final, one after the other.

    They are the time of a stream, and keys of groups, or columns of a set operator, that rise in all that is
    beneath; of ranks and frames also what the partition determines. Of groups whose tuples expire there are
    none: their rows end when a tuple does.
    """
    if isinstance(plan, Scan):
        return [] if plan.stream.retractable else [_time_of(plan)]
    parts = _parts(plan, block_of)
    rising = _common_rising_keys(parts) if parts else []
    columns = [RisingColumn(_column(plan, key.place), key.clocks, key.by_length) for key in rising]
    if isinstance(plan, Partitioned) and parts is not None and len(parts) == 1:
        columns += parts[0].rising_beside()
    return columns


def joined_rising(item: Plan, first: int, block: Block, block_of: BlockOf) -> Sequence[RisingColumn]:
    """The rising columns of an item of a block that its joins go by; `first` is its first column there.

    They are the starts of windows only where these are compared, and no other rising column is.
    """
    rising = rising_columns(item, block_of)
    columns = {column for condition in block.conditions for column in _equal(condition) or ()}
    compared = [one for one in rising if first + one.column in columns]
    by_start = bool(compared) and all(one.by_length for one in compared)
    return rising if by_start else whatever_length(rising)


def _column(plan: Plan, place: int) -> int:
    """The column of a result that a key is, by its place: keys come first but for those of partitions."""
    return plan.partition[place] if isinstance(plan, Partitioned) else place


def _of_columns(use: KeyScheme, plan: Plan) -> KeyScheme:
    """A scheme that is about keys of a result as one about its columns."""
    return replace(use, places=tuple((_column(plan, place), column) for place, column in use.places))


def _parts(plan: Plan, block_of: BlockOf) -> list[GroupedBlock] | None:
    """The blocks that make the rows of a result, with its columns as keys; None if rows end for other reasons
    than what begins in these blocks.
    """
    match plan:
        case UnionAll() | PartnerLookup() if not any(_is_deletable(part) for part in walk(plan)):
            blocks = [(branch, block_of(branch)) for branch in plan.inputs]
            return [GroupedBlock(branch, block, block.outputs, block_of) for branch, block in blocks]
        case Aggregate() | Distinct() | SetOperation() | Partitioned():
            parts = groupings_of(plan, block_of)
            return parts if all(part.settles for part in parts) else None
    return None


def _time_of(scan: Scan) -> RisingColumn:
    stream = scan.stream
    return RisingColumn(stream.time, (Column(0, stream.types[stream.time]),))


def _is_deletable(plan: Plan) -> bool:
    return isinstance(plan, Scan) and plan.stream.retractable


def groupings_of(plan: Plan, block_of: BlockOf) -> list[GroupedBlock]:
    """The blocks whose rows an aggregate, DISTINCT, EXCEPT or a rank groups; unions in a set are part of it.

    `block_of` gives the block at the top of a plan, all of it inlined.
    """
    if isinstance(plan, Aggregate | Partitioned):
        block = block_of(plan.input)
        keys = _over(plan.keys, block)
        item = block.items[0]
        if len(block.items) == 1 and isinstance(item, UnionAll):  # conditions above it take nothing to groups
            return [leaf for child in item.inputs for leaf in _united(child, keys, block_of)]
        return [GroupedBlock(plan.input, block, keys, block_of)]
    leaves = [leaf for child in plan.inputs for leaf in _united(child, None, block_of)]
    if isinstance(plan, SetOperation) and plan.closes is not None:
        return [replace(leaf, closes=plan.closes) for leaf in leaves]
    return leaves


def _united(plan: Plan, columns: Sequence[Expression] | None, block_of: BlockOf) -> Iterator[GroupedBlock]:
    """The blocks of a plan of which only the distinct rows, or these columns of them, matter."""
    block = block_of(plan)
    keys = block.outputs if columns is None else _over(columns, block)
    item = block.items[0]
    if len(block.items) > 1 or block.conditions or not isinstance(item, UnionAll | Distinct):
        yield GroupedBlock(plan, block, keys, block_of)
        return
    for child in item.inputs:
        yield from _united(child, keys, block_of)


def _over(expressions: Sequence[Expression], block: Block) -> tuple[Expression, ...]:
    return tuple(substitute(expression, block.outputs) for expression in expressions)


@dataclass(frozen=True)
class Finality:
    """What makes groups final: for each stream beneath the schemes that say so, and the keys that are times.

    A group is final when every stream has punctuated its keys by one of its schemes, or when a time in its
    keys has passed. `schemes` is empty unless each stream has one.
    """

    schemes: tuple[tuple[KeyScheme, ...], ...] = ()
    times: tuple[RisingKey, ...] = ()
    session: Expression | None = None  # the time of a session among the keys: it is final after its end

    def __bool__(self) -> bool:
        return bool(self.schemes or self.times or self.session)


def finality_of(groupings: Sequence[GroupedBlock]) -> Finality:
    """What makes the groups of the rows of some blocks final, whether they may still shrink or not."""
    schemes = [tuple(schemes) for grouping in groupings for schemes in grouping.members()]
    session = groupings[0].session_time() if len(groupings) == 1 else None
    times = whatever_length(_common_rising_keys(groupings))
    return Finality(tuple(schemes) if all(schemes) else (), tuple(times), session)


def freeing_of(groupings: Sequence[GroupedBlock]) -> Finality:
    """What frees groups before they are empty; nothing if tuples beneath expire or may be deleted.

    A final group whose rows expire has to be kept until they have, to report its later results.
    """
    return finality_of(groupings) if all(grouping.settles for grouping in groupings) else Finality()


def _common_rising_keys(groupings: Sequence[GroupedBlock]) -> list[RisingKey]:
    """The keys that rise in every block, each with the clocks of all."""
    rising = [one.rising_keys() for one in groupings]
    common = []
    for place in rising[0]:
        keys = [one[place] for one in rising if place in one]
        if len(keys) == len(rising):
            clocks = tuple(dict.fromkeys(clock for key in keys for clock in key.clocks))
            is_period, by_length = all(key.is_period for key in keys), any(key.by_length for key in keys)
            common.append(RisingKey(place, clocks, is_period, by_length))
    return common


def _is_no_more(bound: UpperBound) -> bool:
    """Whether a bound adds nothing to what it is by."""
    match bound.constant:
        case None:
            return True
        case Literal(int(value)):
            return bound.sign * value <= 0
    return False


def _reached(start: int, later: Mapping[int, set[int]]) -> set[int]:
    """The columns that are at least as late as one, itself among them."""
    reached, ahead = {start}, [start]
    while ahead:
        for column in later.get(ahead.pop(), ()):
            if column not in reached:
                reached.add(column)
                ahead.append(column)
    return reached


def _equal(condition: Expression) -> tuple[int, int] | None:
    match condition:
        case Call("eq", (Column(one, type_), Column(other, same))) if type_ == same:
            return one, other
    return None
