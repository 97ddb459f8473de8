"""Purging of a multi-way join above other joins: its inputs are *parts*, streams or joins of some.

A row of a part that is a join has the values of all its streams. The join beneath derives a punctuation for
the part as soon as one of its streams has punctuated the values and it holds no such row; so a part is
closed for a chain that knows all columns of a scheme of *one* of its streams. Watermarks close a part only
if it is a stream: what a join holds may be joined later.

    ((x, y), z, w)      x.a = z.a AND z.b = w.b AND w.c = y.c       three parts, each of which closes another

Law: rows of all parts are finished some day if from each of them all others are closed, one after the other,
or one that expires is; given that the joins beneath free all their rows.

Cites: SAFETY 4.1 (Cor 1, trees of MJoins), SAFETY 5.2 (safe plans)

Purging of trees of joins: which joins free their rows, and the derived punctuations that they need.

A join frees its rows by what it sees: the punctuations and the watermark of a stream at one of its inputs,
windows, and what a join beneath it punctuates of its own rows. Such a derived punctuation repeats one
of a stream beneath as soon as the join holds no row with these values
(operators/join/derived_punctuations.py). An input, a *part*, is a stream or a join of some; so trees are
left-deep, bushy, or have joins of three parts or more at the bottom or above others, where only all of them
together free one another (`join_trees.py`).

A join of two parts X and Y is purgeable if rows of X go by Y, and rows of Y by X. Rows of X go by Y if
- one of their streams has a window; or
- Y is a stream with a scheme that lasts all of whose columns the join compares (if X is one stream, also one
  whose values are reused), or whose time a condition bounds by a column of X; or
- Y is a join and one of its streams has such a scheme that lasts.

If all operators are, all rows go. By induction from below: all rows of a join beneath go some day, so it
punctuates some day whatever its streams have punctuated.

Cites: SAFETY 5.2 (safe plans), SAFETY 4.1 (Def 2)

Punctuation rates in the cost of a plan: what a join holds until they come, and how many it takes in.

A punctuation costs work, and it frees rows. Of a scheme it is known, by samples, how many punctuations have
come and which share of the values is open still. A row waits for every other input to be closed, so of the
rows of an input the share is held that the slowest of the others leaves open; of schemes that close an input
the quickest counts.

    x has punctuated 90 of 100 values of a, y 10 of 100:   (x, y) by a holds a tenth of y and nine tenths of x

Cites: SAFETY 5.2 (cost estimation: punctuation arrival rates, costs and benefits of punctuations)
Differs: SAFETY leaves the estimate open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
        if len(parts) == 2:
            return self._frees(*parts) and self._frees(*parts[::-1])
        if max(map(len, parts)) > 1:
            return JoinedParts(self._streams, parts).frees_all
        ports = frozenset[int]().union(*parts)
        return len(ports) == len(self._streams.scans) or self._streams.among([*ports]).frees_all

    def _frees(self, held: Items, other: Items) -> bool:
        """Whether rows of a part go by what another says, in a join of these two."""
        if any(self._expires(port) for port in held):
            return True
        if len(other) > 1:
            return bool(self.listened(other, held))
        (port,) = other
        if self.used(other, (held, other)):
            return True
        return any((port, mine) in self._streams.direct_bounds for mine in held)

    def listened(self, joined: Items, other: Items) -> tuple[SchemeUse, ...]:
        """The derived punctuations of a join to which one above it, which joins it with another part,
        listens: for what it compares, one each.

        One would be enough to free rows; but punctuations of the other part are forgotten when the same has
        been punctuated of this one. The columns of a scheme must differ: rows in which two are equal
        say nothing of other punctuations.
        """
        if len(joined) < 2:
            return ()
        first = representatives(self.equal, joined)
        sides = [mine for mine, _ in self._keys(joined, other)]
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

    def used(self, part: Items, parts: tuple[Items, ...]) -> list[SchemeUse]:
        """The schemes of streams of an input that free rows of others in a join of these inputs."""
        if len(parts) > 2:
            joined = JoinedParts(self._streams, parts)
            return [use for use, of_part in joined.uses if joined.parts[of_part.port] == part]
        (other,) = (one for one in parts if one != part)
        if len(part) > 1:
            return [*self.listened(part, other)]
        (port,) = part
        compared = {punctuated_column(key) for _, (_, key) in self._keys(other, part)}
        uses = (use for use in self._streams.schemes if use.port == port)
        return [use for use in uses if {*use.columns} <= compared and self._lasts_for(use, other)]

    def _expires(self, port: int) -> bool:
        return self._streams.scans[port].stream.window is not None

    @staticmethod
    def _lasts_for(use: SchemeUse, joined: Items) -> bool:
        """Whether punctuations free rows of what a stream is joined with for good."""
        return use.lasts or (len(joined) == 1 and joined <= {*use.partners})

    def _keys(self, one: Items, other: Items) -> list[tuple[Side, Side]]:
        """What a join compares: of streams of the one part, and of the other."""
        keys = []
        for _, *sides in self._streams.equalities:
            for mine, theirs in (sides, sides[::-1]):
                if mine[0] in one and theirs[0] in other:
                    keys.append((mine, theirs))
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


@dataclass(frozen=True)
class PurgeRates:
    """What is known of the punctuations of the streams of a block: how many come, and what they leave
    open.
    """

    joins: PairJoins
    count: Callable[[SchemeUse], float]
    open_share: Callable[[SchemeUse], float]

    def held_share(self, part: Items, parts: tuple[Items, ...]) -> float:
        """The share of the rows of an input that a join of these inputs holds."""
        others = [other for other in parts if other != part]
        return max(self._left_open(other, parts) for other in others)

    def _left_open(self, other: Items, parts: tuple[Items, ...]) -> float:
        return min((self.open_share(use) for use in self.joins.used(other, parts)), default=1.0)

    def taken_in(self, parts: tuple[Items, ...]) -> float:
        """How many punctuations come to a join of these inputs."""
        return sum(self.count(use) for part in parts for use in self.joins.used(part, parts))
