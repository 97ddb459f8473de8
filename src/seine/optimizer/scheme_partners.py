"""The partners of a punctuation scheme: other streams that conditions compare in all its columns.

A tuple of a partner has the values that a punctuation of the scheme would have to name, so what is promised
of them can be stated as a condition between the two streams.

    packet.host = flow.host AND packet.seq = flow.seq     packet PUNCTUATED ON (host, seq): flow is a partner

States that a value which is reused begins anew: a condition on times.

Of a scheme with REUSED AFTER n, values that are punctuated at p do not come again before p + n, and from then
on they mean something else: a transmission that ended, and another one with the same number. Admission gives
each tuple s of the stream an instant, since(s): the latest p + n of a punctuation of its values that stands
before it. A tuple t of another stream, equal in all columns of the scheme, joins s only if it is from then.

    CREATE STREAM packet (...) TIMESTAMP BY ts PUNCTUATED ON (seq) REUSED AFTER 100 ...

    before: flow.seq = packet.seq
    after:  flow.seq = packet.seq AND packet.since(seq) <= flow.ts

    packet    seq 7 at 5      7 punctuated at 10      seq 7 at 130, since 110
    flow          seq 7 at 6                  seq 7 at 115
    pairs     (5, 6)                              (130, 115), not (130, 6)

So a tuple of flow is finished when its value has been punctuated with an end beyond it, and the punctuation
when flow's time has passed that end: both are bounded though nothing has a window. What is reported depends
on the lines of each stream alone, not on when somebody purged.

Cites: SAFETY 5.1 (lifespans, and the reuse of identifiers)
Differs: in SAFETY a tuple that was not purged in time joins the reused value; here none from before does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from seine.algebra.definitions import Scheme
from seine.algebra.expressions import Column, Expression
from seine.algebra.functions import resolve_call
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


def with_reuse(
    items: Sequence[Plan], offsets: Sequence[int], conditions: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """The conditions of a block, equalities stated plainly, and those that reused values add."""
    added = [_begins_anew(partner) for partner in reuse_partners(items, offsets, conditions)]
    return tuple(dict.fromkeys([*conditions, *added])) if added else conditions


def reuse_partners(
    items: Sequence[Plan], offsets: Sequence[int], conditions: Sequence[Expression]
) -> Iterator[Partner]:
    """Schemes whose values are reused, each with a stream that they begin anew for."""
    return partners(items, offsets, conditions, lambda scheme: scheme.reused)


def _begins_anew(partner: Partner) -> Expression:
    """stream.since <= other.ts"""
    since = partner.stream.column(partner.stream.scan.stream.since[partner.scheme])
    return resolve_call("le", [since, partner.other.time])
