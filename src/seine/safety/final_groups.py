"""What makes groups final: promises of all streams beneath, or a watermark beyond the time in their keys.

A group is final when no tuple can join it any more. So it is when every stream of its block has promised
the values of its keys, or when its key is the time of every one and the watermarks have passed it. The check
says by these rules which groups go, and the builder brings them the promises and clocks that they name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from seine.algebra.expressions import Call, Column, Expression, columns_of, shift_columns
from seine.algebra.monotone import rises_with
from seine.algebra.plan import Scan
from seine.optimizer.block import Block
from seine.safety.classes import Classes


@dataclass(frozen=True)
class KeyScheme:
    """A scheme of a stream all of whose columns equal keys: of each the place of the key, and the column."""

    stream: str
    scheme: int
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class GroupedBlock:
    """One block whose rows are grouped, and the keys over its rows."""

    block: Block
    keys: tuple[Expression, ...]

    @property
    def lasts(self) -> bool:
        """Whether its rows never end: nothing beneath expires or can be deleted."""
        streams = [scan.stream for scan, _ in self.block.scans]
        return self.block.is_of_tables and not any(s.retractable or s.window is not None for s in streams)

    @cached_property
    def _classes(self) -> Classes:
        """The columns of one type that conditions make equal."""
        return Classes(pair for condition in self.block.conditions if (pair := _equal(condition)) is not None)

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
            told = [(self._classes.of(first + column), column) for column in scheme.columns]
            if scheme.lifespan is None and all(class_ in place_of for class_, _ in told):
                places = sorted((place_of[class_], column) for class_, column in told)
                yield KeyScheme(scan.stream.name, number, tuple(places))

    def rising_keys(self) -> Iterator[tuple[int, Expression]]:
        """The places of keys that are a function of the times of all streams, one that never falls."""
        if not self.block.is_of_tables:
            return
        times = {self._classes.of(first + scan.stream.time) for scan, first in self.block.scans}
        for place, key in enumerate(self.keys):
            if {self._classes.of(c) for c in columns_of(key)} == times and rises_with(key) is not None:
                yield place, shift_columns(key, lambda index: 0)


def common_rising_keys(groupings: Sequence[GroupedBlock]) -> list[tuple[int, Expression]]:
    """The keys that are, in every block, the same function of the time of every stream."""
    first, *others = [{*one.rising_keys()} for one in groupings]
    return sorted(first.intersection(*others), key=lambda found: (found[0], str(found[1])))


def _equal(condition: Expression) -> tuple[int, int] | None:
    match condition:
        case Call("eq", (Column(one, type_), Column(other, same))) if type_ == same:
            return one, other
    return None
