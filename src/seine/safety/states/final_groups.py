"""What makes groups final: punctuations of all streams beneath, or a watermark beyond the time in their keys.

A group is final when no tuple can join it any more. So it is when every stream of its block has punctuated
the values of its keys, or when its key is the time of every one and the watermarks have passed it. The check
says by these rules which groups go, and the builder brings them the punctuations and clocks that they name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from seine.algebra.event_windows import session_of, window_of
from seine.algebra.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    shift_columns,
    substitute,
    walk,
)
from seine.algebra.functions import resolve_call
from seine.algebra.monotone import monotone_in
from seine.algebra.plan import Aggregate, Distinct, Plan, Scan, UnionAll
from seine.algebra.types import BIGINT, DAY_TIME, TIMESTAMP
from seine.algebra.upper_bounds import UpperBound
from seine.optimizer.block import Block
from seine.optimizer.implied_bounds import implied_bounds
from seine.safety.graph.column_classes import ColumnClasses


@dataclass(frozen=True)
class KeyScheme:
    """A scheme of a stream all of whose columns equal keys: of each the place of the key, and the column."""

    stream: str
    scheme: int
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RisingKey:
    """A key, by its place, that no tuple to come has below a bound, a function of the time (column 0).

    Of a period it is that function of each tuple's own time.
    """

    place: int
    bound: Expression
    is_period: bool


@dataclass(frozen=True)
class GroupedBlock:
    """One block whose rows are grouped, the plan that it is of, and the keys over its rows."""

    plan: Plan
    block: Block
    keys: tuple[Expression, ...]

    @property
    def lasts(self) -> bool:
        """Whether its rows never end: nothing beneath expires or can be deleted."""
        scans = [scan for scan, _ in self.block.scans]
        ends = any(scan.stream.retractable or scan.window is not None for scan in scans)
        return self.block.is_of_tables and not ends

    @cached_property
    def _classes(self) -> ColumnClasses:
        """The columns of one type that conditions make equal."""
        return ColumnClasses(
            pair for condition in self.block.conditions if (pair := _equal(condition)) is not None
        )

    def key_schemes(self) -> list[list[KeyScheme]]:
        """For each stream the schemes that say something of groups; relations are finite."""
        if not self.block.is_of_tables:
            return [[]]
        place_of: dict[int, int] = {}
        for place, key in enumerate(self.keys):
            if isinstance(key, Column):
                place_of.setdefault(self._classes.of(key.index), place)
        return [list(self._schemes(scan, first, place_of)) for scan, first in self.block.scans]

    def _schemes(self, scan: Scan, first: int, place_of: dict[int, int]) -> Iterator[KeyScheme]:
        if scan.stream.retractable:
            return
        for number, scheme in enumerate(scan.stream.schemes):
            named = [(self._classes.of(first + column), column) for column in scheme.columns]
            if scheme.lifespan is None and all(class_ in place_of for class_, _ in named):
                places = sorted((place_of[class_], column) for class_, column in named)
                yield KeyScheme(scan.stream.name, number, tuple(places))

    def rising_keys(self) -> Iterator[RisingKey]:
        """The places of keys that are a function of the times of all streams, one that never falls."""
        if not self.block.is_of_tables:
            return
        times = {self._classes.of(first + scan.stream.time) for scan, first in self.block.scans}
        for place, key in enumerate(self.keys):
            bound = least_later(key)
            if bound is None:
                continue
            column = next(part for part in walk(bound) if isinstance(part, Column))
            of_time = times == {self._classes.of(column.index)}
            if of_time or self._is_latest(column, times):
                yield RisingKey(place, shift_columns(bound, lambda index: 0), of_time and bound == key)

    def _is_latest(self, column: Column, times: set[int]) -> bool:
        """Whether conditions say that no time of a combination is later than a column of it.

        So it is with b.ts BETWEEN a.ts AND a.expires: whatever comes once the watermarks have passed a value
        of a.expires has a time that is later, and is in no combination with it.
        """
        later: dict[int, set[int]] = {}
        for condition in self.block.conditions:
            for bound in implied_bounds(condition):
                if len(bound.terms) == 1 and bound.terms[0][1] == 1 and _is_no_more(bound):
                    later.setdefault(self._classes.of(bound.column), set()).add(
                        self._classes.of(bound.terms[0][0])
                    )
        latest = self._classes.of(column.index)
        return column.type in (BIGINT, TIMESTAMP) and all(latest in _reached(time, later) for time in times)

    def session_time(self) -> Expression | None:
        """The time of the session that is a key, if it is that of the one stream."""
        session = next((one for key in self.keys if (one := session_of(key)) is not None), None)
        if session is None or not self.block.is_of_tables or len(self.block.scans) != 1:
            return None
        scan, first = self.block.scans[0]
        time = Column(first + scan.stream.time, scan.schema[scan.stream.time].type)
        return shift_columns(time, lambda index: 0) if session.time == time else None


def least_later(key: Expression) -> Expression | None:
    """A bound such that no key of a later time is below it, as a function of the time; None if there is none.

    Of a key that never falls that is the key itself. The end of a window is later than each of its times,
    whatever its length; by its start the groups of windows of other lengths could not be judged as well.
    """
    window = window_of(key)
    if window is None:
        return None if monotone_in(key) is None else key
    unit = Literal(1, DAY_TIME if key.type == TIMESTAMP else BIGINT)
    is_rising = key == window.end and monotone_in(window.time) is not None
    return resolve_call("add", [window.time, unit]) if is_rising else None


def groupings_of(plan: Plan, block_of: Callable[[Plan], Block]) -> list[GroupedBlock]:
    """The blocks whose rows an aggregate, DISTINCT or EXCEPT groups; unions in a set are part of it.

    `block_of` gives the block at the top of a plan, all of it inlined.
    """
    if isinstance(plan, Aggregate):
        block = block_of(plan.input)
        keys = _over(plan.keys, block)
        item = block.items[0]
        if len(block.items) == 1 and isinstance(item, UnionAll):  # conditions above it take nothing to groups
            return [leaf for child in item.inputs for leaf in _united(child, keys, block_of)]
        return [GroupedBlock(plan.input, block, keys)]
    return [leaf for child in plan.inputs for leaf in _united(child, None, block_of)]


def _united(
    plan: Plan, columns: Sequence[Expression] | None, block_of: Callable[[Plan], Block]
) -> Iterator[GroupedBlock]:
    """The blocks of a plan of which only the distinct rows, or these columns of them, matter."""
    block = block_of(plan)
    keys = block.outputs if columns is None else _over(columns, block)
    item = block.items[0]
    if len(block.items) > 1 or block.conditions or not isinstance(item, UnionAll | Distinct):
        yield GroupedBlock(plan, block, keys)
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
    session: Expression | None = (
        None  # the time of a session that is among the keys: it is final after its end
    )

    def __bool__(self) -> bool:
        return bool(self.schemes or self.times or self.session)


def finality_of(groupings: Sequence[GroupedBlock]) -> Finality:
    """What makes the groups of the rows of some blocks final, whether they may still shrink or not."""
    schemes = [tuple(schemes) for grouping in groupings for schemes in grouping.key_schemes()]
    session = groupings[0].session_time() if len(groupings) == 1 else None
    return Finality(tuple(schemes) if all(schemes) else (), tuple(_common_rising_keys(groupings)), session)


def freeing_of(groupings: Sequence[GroupedBlock]) -> Finality:
    """What frees groups before they are empty; nothing unless the rows of all blocks last.

    A final group whose rows expire has to be kept until they have, to report its later results.
    """
    return finality_of(groupings) if all(grouping.lasts for grouping in groupings) else Finality()


def _common_rising_keys(groupings: Sequence[GroupedBlock]) -> list[RisingKey]:
    """The keys that are, in every block, the same function of the time of every stream."""
    first, *others = [{*one.rising_keys()} for one in groupings]
    return sorted(first.intersection(*others), key=lambda key: (key.place, str(key.bound)))


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
