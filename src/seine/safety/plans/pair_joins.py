"""Purging of binary joins: which of them free their rows, and the derived punctuations that they need.

A join of two frees its rows by what it sees: the punctuations and the watermark of a stream at one of its
inputs, windows, and what a join beneath it punctuates of its own rows. Such a derived punctuation repeats one
of a stream beneath as soon as the join holds no row with these values
(operators/join/derived_punctuations.py). Plans here are left-deep: to what is joined already comes one stream
after the other. The first of these joins may be one of three streams or more, where only all of them together
free one another.

An operator with inputs X, joined already, and y, a stream, is purgeable if
- rows of X go: one of their streams has a window; or y has a scheme that lasts all of whose columns the
  join compares (of two streams also one whose values are reused); or a condition bounds the time of y by a
  column of X;
- rows of y go: y has a window; or a stream of X has such a scheme; or X is one stream whose time is bounded.

If all operators are, all rows go. By induction from below: all rows of a join beneath go some day, so it
punctuates some day whatever its streams have punctuated.

Cites: SAFETY 5.2 (safe plans), SAFETY 4.1 (Def 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from seine.algebra.expressions import Column, Expression
from seine.optimizer.equalities import punctuated_column
from seine.safety.plans.joined_streams import JoinedStreams, SchemeUse
from seine.safety.plans.safe_plans import Items

Place = tuple[int, int]  # a port, and a column of its rows


class PairJoins:
    """Which joins of the streams of a block, two by two, free their rows."""

    def __init__(self, streams: JoinedStreams) -> None:
        self._streams = streams
        self._lasting = [use for use in streams.schemes if use.lasts]

    @cached_property
    def equal(self) -> list[tuple[Place, Place]]:
        """Columns of two streams that a condition compares as they are."""
        return [
            ((one[0], one[1].index), (other[0], other[1].index))
            for _, one, other in self._streams.equalities
            if one[0] != other[0] and isinstance(one[1], Column) and isinstance(other[1], Column)
        ]

    def is_purgeable(self, parts: tuple[Items, ...]) -> bool:
        """Whether a join of these inputs exists and frees all its rows."""
        if len(parts) > 2 and max(map(len, parts)) == 1:
            ports = frozenset[int]().union(*parts)
            return len(ports) == len(self._streams.scans) or self._streams.among([*ports]).frees_all
        if len(parts) != 2 or min(map(len, parts)) > 1:
            return False
        single, joined = sorted(parts, key=len)
        (port,) = single
        if len(joined) == 1 and min(joined) > port:
            joined, port = single, min(joined)  # what runs has them in this order
        return self._frees_joined(joined, port) and self._frees_stream(joined, port)

    def _frees_joined(self, joined: Items, port: int) -> bool:
        """Whether rows of what is joined already go."""
        if any(self._expires(other) for other in joined):
            return True
        compared = {punctuated_column(key) for _, key in self._keys(joined, port)}
        if any({*columns} <= compared for columns in self._schemes(port, joined)):
            return True
        return any((port, other) in self._streams.direct_bounds for other in joined)

    def _frees_stream(self, joined: Items, port: int) -> bool:
        """Whether rows of the stream that comes go."""
        if self._expires(port) or self.listened(joined, port):
            return True
        (first, *rest) = joined
        if rest:
            return False
        compared = {punctuated_column(theirs[1]) for theirs, _ in self._keys(joined, port)}
        return any({*columns} <= compared for columns in self._schemes(first, frozenset([port]))) or (
            (first, port) in self._streams.direct_bounds
        )

    def listened(self, joined: Items, port: int) -> tuple[SchemeUse, ...]:
        """The derived punctuations of a join to which one above it listens: for what it compares, one each.

        One would be enough to free its rows; but punctuations of the stream that comes are forgotten when the
        same has been punctuated of the rows. The columns of a scheme must differ: rows in which two are equal
        say nothing of other punctuations.
        """
        if len(joined) < 2:
            return ()
        first = representatives(self.equal, joined)
        sides = [theirs for theirs, _ in self._keys(joined, port)]
        places = [
            (side_port, column) for side_port, e in sides if (column := punctuated_column(e)) is not None
        ]
        compared = {first.get(place, place) for place in places}
        fitting: dict[frozenset[Place], SchemeUse] = {}
        for use in self._lasting:
            if use.port in joined:
                named = frozenset(first.get((use.port, c), (use.port, c)) for c in use.columns)
                if named <= compared and len(named) == len(use.columns):
                    fitting.setdefault(named, use)
        return tuple(fitting.values())

    def _expires(self, port: int) -> bool:
        return self._streams.scans[port].stream.window is not None

    def _schemes(self, port: int, joined: Items) -> list[tuple[int, ...]]:
        """The schemes of a stream that free rows of what it is joined with."""
        return [
            use.columns
            for use in self._streams.schemes
            if use.port == port and (use.lasts or (len(joined) == 1 and joined <= {*use.partners}))
        ]

    def _keys(self, joined: Items, port: int) -> list[tuple[tuple[int, Expression], Expression]]:
        """What a join compares: of one of the streams joined so far, and of the one that comes."""
        keys = []
        for _, one, other in self._streams.equalities:
            for theirs, ours in ((one, other), (other, one)):
                if theirs[0] in joined and ours[0] == port:
                    keys.append((theirs, ours[1]))
        return keys


def representatives(equal: Sequence[tuple[Place, Place]], ports: Items) -> dict[Place, Place]:
    """For places that equalities of some ports connect, a representative.

    >>> representatives([((0, 0), (1, 0)), ((1, 0), (2, 5))], frozenset([0, 1]))
    {(0, 0): (0, 0), (1, 0): (0, 0)}
    """
    first_of: dict[Place, Place] = {}
    for one, other in equal:
        if one[0] in ports and other[0] in ports:
            kept, gone = first_of.setdefault(one, one), first_of.setdefault(other, other)
            for place, first in first_of.items():
                if first == gone:
                    first_of[place] = kept
    return first_of
