"""The partners of a punctuation scheme: other streams that conditions compare in all its columns.

A tuple of a partner has the values that a punctuation of the scheme would have to name, so what is promised
of them can be stated as a condition between the two streams.

    packet.host = flow.host AND packet.seq = flow.seq     packet PUNCTUATED ON (host, seq): flow is a partner
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from seine.algebra.definitions import Scheme
from seine.algebra.expressions import Column, Expression
from seine.algebra.plan import Plan, Scan
from seine.optimizer.equalities import equal_columns


class PlacedStream(NamedTuple):
    """A stream of a block, and the position of its first column."""

    scan: Scan
    first: int

    @property
    def time(self) -> Column:
        """Its timestamp."""
        return self.column(self.scan.stream.time)

    def column(self, place: int) -> Column:
        """One of its columns over the row of the block."""
        return Column(self.first + place, self.scan.stream.types[place])


class Partner(NamedTuple):
    """A scheme of a stream, by number, and another stream that is compared in all its columns."""

    stream: PlacedStream
    scheme: int
    other: PlacedStream


def partners(
    items: Sequence[Plan],
    offsets: Sequence[int],
    conditions: Sequence[Expression],
    wanted: Callable[[Scheme], bool],
) -> Iterator[Partner]:
    """The partners, in one domain of time, of the wanted schemes of a block."""
    pairs = zip(items, offsets, strict=False)
    streams = [PlacedStream(item, first) for item, first in pairs if isinstance(item, Scan)]
    schemes = [
        (stream, number)
        for stream in streams
        for number, scheme in enumerate(stream.scan.stream.schemes)
        if wanted(scheme)
    ]
    equal = _equal(conditions) if schemes else {}
    for stream, number in schemes:
        for other in streams:
            if other.first != stream.first and _are_compared(stream, number, other, equal):
                yield Partner(stream, number, other)


def _are_compared(stream: PlacedStream, number: int, other: PlacedStream, equal: dict[int, set[int]]) -> bool:
    if other.scan.stream.domain != stream.scan.stream.domain:
        return False
    theirs = {*range(other.first, other.first + len(other.scan.schema))}
    columns = stream.scan.stream.schemes[number].columns
    return all(equal.get(stream.first + column, set()) & theirs for column in columns)


def _equal(conditions: Sequence[Expression]) -> dict[int, set[int]]:
    """For each column that a condition compares with another, all that are equal to it."""
    classes: dict[int, set[int]] = {}
    for condition in conditions:
        pair = equal_columns(condition)
        if pair is not None:
            joined = {*pair}.union(*(classes.get(column, ()) for column in pair))
            classes.update(dict.fromkeys(joined, joined))
    return classes
