"""What makes groups final: punctuations of all streams beneath, or a watermark beyond the time in their keys.

A group is final when no tuple can join it any more. So it is when every stream of its block has punctuated
the values of its keys, or when its key is the time of every one and the watermarks have passed it. The check
says by these rules which groups go, and the builder brings them the punctuations and clocks that they name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from seine.algebra.expressions import Call, Column, Expression, columns_of, shift_columns, substitute
from seine.algebra.monotone import monotone_in
from seine.algebra.plan import Aggregate, Distinct, Plan, Scan, UnionAll
from seine.optimizer.block import Block
from seine.safety.graph.column_classes import ColumnClasses


@dataclass(frozen=True)
class KeyScheme:
    """A scheme of a stream all of whose columns equal keys: of each the place of the key, and the column."""

    stream: str
    scheme: int
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GroupedBlock:
    """One block whose rows are grouped, the plan that it is of, and the keys over its rows."""

    plan: Plan
    block: Block
    keys: tuple[Expression, ...]

    @property
    def lasts(self) -> bool:
        """Whether its rows never end: nothing beneath expires or can be deleted."""
        streams = [scan.stream for scan, _ in self.block.scans]
        return self.block.is_of_tables and not any(s.retractable or s.window is not None for s in streams)

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

    def rising_keys(self) -> Iterator[tuple[int, Expression]]:
        """The places of keys that are a function of the times of all streams, one that never falls."""
        if not self.block.is_of_tables:
            return
        times = {self._classes.of(first + scan.stream.time) for scan, first in self.block.scans}
        for place, key in enumerate(self.keys):
            if {self._classes.of(c) for c in columns_of(key)} == times and monotone_in(key) is not None:
                yield place, shift_columns(key, lambda index: 0)


def groupings_of(plan: Plan, block_of: Callable[[Plan], Block]) -> list[GroupedBlock]:
    """The blocks whose rows an aggregate, DISTINCT or EXCEPT groups; unions in a set are part of it.

    `block_of` gives the block at the top of a plan, all of it inlined.
    """
    if isinstance(plan, Aggregate):
        block = block_of(plan.input)
        return [GroupedBlock(plan.input, block, _over(plan.keys, block))]
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
    times: tuple[tuple[int, Expression], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.schemes or self.times)


def finality_of(groupings: Sequence[GroupedBlock]) -> Finality:
    """What makes the groups of the rows of some blocks final, whether they may still shrink or not."""
    schemes = [tuple(schemes) for grouping in groupings for schemes in grouping.key_schemes()]
    return Finality(tuple(schemes) if all(schemes) else (), tuple(_common_rising_keys(groupings)))


def freeing_of(groupings: Sequence[GroupedBlock]) -> Finality:
    """What frees groups before they are empty; nothing unless the rows of all blocks last.

    A final group whose rows expire has to be kept until they have, to report its later results.
    """
    return finality_of(groupings) if all(grouping.lasts for grouping in groupings) else Finality()


def _common_rising_keys(groupings: Sequence[GroupedBlock]) -> list[tuple[int, Expression]]:
    """The keys that are, in every block, the same function of the time of every stream."""
    first, *others = [{*one.rising_keys()} for one in groupings]
    return sorted(first.intersection(*others), key=lambda key: (key[0], str(key[1])))


def _equal(condition: Expression) -> tuple[int, int] | None:
    match condition:
        case Call("eq", (Column(one, type_), Column(other, same))) if type_ == same:
            return one, other
    return None
