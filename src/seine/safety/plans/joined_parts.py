"""Purging of a multi-way join above other joins: its inputs are *parts*, streams or joins of some.

A row of a part that is a join has the values of all its streams. The join beneath derives a punctuation for
the part as soon as one of its streams has punctuated the values and it holds no such row; so a part is
closed for a chain that knows all columns of a scheme of *one* of its streams. Watermarks close a part only
if it is a stream: what a join holds may be joined later.

    ((x, y), z, w)      x.a = z.a AND z.b = w.b AND w.c = y.c       three parts, each of which closes another

Law: rows of all parts are finished some day if from each of them all others are closed, one after the other,
or one that expires is; given that the joins beneath free all their rows.

Cites: SAFETY 4.1 (Cor 1, trees of MJoins), SAFETY 5.2 (safe plans)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from seine.algebra.expressions import Column
from seine.optimizer.equalities import punctuated_column
from seine.safety.plans.joined_streams import JoinedStreams, SchemeUse, Side, equal_sides
from seine.safety.plans.safe_plans import Items


class JoinedParts:
    """The inputs of one join: parts of the streams of a block, each some of its ports."""

    def __init__(self, streams: JoinedStreams, parts: tuple[Items, ...]) -> None:
        self._streams = streams
        self.parts = parts
        self._part_of = {port: number for number, part in enumerate(parts) for port in part}

    @cached_property
    def equalities(self) -> list[tuple[int, Side, Side]]:
        """The conditions, by number, that say that columns of its streams agree; a side names a stream."""
        return [
            (number, one, other)
            for number, one, other in self._streams.equalities
            if one[0] in self._part_of and other[0] in self._part_of
        ]

    @cached_property
    def groups(self) -> list[list[Side]]:
        """What is equal, each group with members of several parts."""
        return equal_sides(self.equalities, self._part_of.__getitem__)

    def part_of(self, side: Side) -> int:
        """The part whose rows have an expression."""
        return self._part_of[side[0]]

    @cached_property
    def schemes(self) -> list[SchemeUse]:
        """The schemes that say something of groups; `port` is the part, `groups` are those of this join.

        Of a part that is a join, those that last: no punctuation is derived from one that lapses. The columns
        of such a scheme must be of different groups: rows in which two are equal say nothing of others.
        """
        return [use for _, use in self.uses]

    @cached_property
    def uses(self) -> list[tuple[SchemeUse, SchemeUse]]:
        """The schemes as those of streams, and as those of parts."""
        return [pair for port in sorted(self._part_of) for pair in self._schemes_of(port)]

    def _schemes_of(self, port: int) -> Iterator[tuple[SchemeUse, SchemeUse]]:
        number = self._part_of[port]
        is_join = len(self.parts[number]) > 1
        for use in (use for use in self._streams.schemes if use.port == port):
            groups = [self._group_of(port, column) for column in use.columns]
            known = tuple(group for group in groups if group is not None)
            if len(known) < len(groups) or (is_join and not (use.lasts and len({*known}) == len(known))):
                continue
            partners = {self._part_of[other] for other in use.partners if other in self._part_of}
            having = [{self.part_of(side) for side in self.groups[group]} for group in known]
            fitting = tuple(sorted(partners.intersection(*having) - {number}))
            yield use, replace(use, port=number, groups=known, partners=fitting)

    def _group_of(self, port: int, column: int) -> int | None:
        """The group that has the very values of a column: as it is, if it is compared so, or through a
        cast.
        """
        cast = None
        for number, members in enumerate(self.groups):
            for member_port, expression in members:
                if member_port == port and punctuated_column(expression) == column:
                    if isinstance(expression, Column):
                        return number
                    cast = number if cast is None else cast
        return cast

    def expires(self, number: int) -> bool:
        """Whether the rows of a part have a window: that of one of their streams."""
        return any(self._streams.scans[port].stream.window is not None for port in self.parts[number])

    @property
    def frees_all(self) -> bool:
        """Whether the join frees the rows of all its parts, and conditions connect them."""
        return self._is_connected and all(self._is_finished(number) for number in range(len(self.parts)))

    @property
    def _is_connected(self) -> bool:
        edges = [{self.part_of(side) for side in members} for members in self.groups]
        pairs = [
            {self._part_of.get(one), self._part_of.get(other)} for one, other in self._streams.direct_bounds
        ]
        edges += [{number for number in pair if number is not None} for pair in pairs]
        reached, grown = {0}, True
        while grown:
            more = {number for edge in edges if edge & reached for number in edge}
            grown = not more <= reached
            reached |= more
        return len(reached) == len(self.parts)

    def _is_finished(self, start: int) -> bool:
        closed, grown = {start}, True
        while grown:
            more = {n for n in range(len(self.parts)) if n not in closed and self._is_closed(n, closed)}
            grown = bool(more)
            closed |= more
        return len(closed) == len(self.parts) or any(map(self.expires, closed))

    def _is_closed(self, number: int, closed: set[int]) -> bool:
        """Whether chains over some parts know what closes another."""
        known = {
            group
            for group, members in enumerate(self.groups)
            if any(self.part_of(side) in closed for side in members)
        }
        if any(use.port == number and use.lasts and {*use.groups} <= known for use in self.schemes):
            return True
        if any(use.port == number and closed & {*use.partners} for use in self.schemes):
            return True
        if len(self.parts[number]) > 1:
            return False
        (port,) = self.parts[number]
        bounding = {other for one, other in self._streams.direct_bounds if one == port}
        return any(self._part_of.get(other) in closed for other in bounding)
