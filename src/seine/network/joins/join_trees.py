"""Which blocks that promises free are joined two by two, and in which order: the cheapest safe plan.

A join of two frees its rows by what it sees: the promises and the watermark of a stream at one of its
inputs, windows, and what a join beneath it promises of its own rows. Such a join can promise what one of
its streams has promised, as soon as it holds no row with these values
(operators/join/derived_punctuations.py). Plans here
are left-deep: to what is joined already comes one stream after the other. The first of these joins may be one
of three streams or more, where only all of them together free one another.

An operator with inputs X, joined already, and y, a stream, is purgeable if
- rows of X go: one of their streams has a window; or y has a scheme that lasts all of whose columns the
  join compares; or a condition bounds the time of y by a column of X;
- rows of y go: y has a window; or a stream of X has such a scheme; or X is one stream whose time is bounded.

If all operators are, all rows go. By induction from below: all rows of a join beneath go some day, so it
promises some day whatever its streams have promised.

Cites: SAFETY 5.2 (safe plans), SAFETY 4.1 (Def 2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from seine.algebra.expressions import Column, Expression
from seine.network.joins.join_punctuations import punctuated_column
from seine.network.joins.multi_joins import MultiPlan, Planning, SchemeUse
from seine.safety.safe_plans import THROUGHPUT, Items, JoinOf, Rows, Tree, cheapest_plan

Place = tuple[int, int]  # a port, and a column of its rows


@dataclass(frozen=True)
class TreePlan:
    """A left-deep tree: its streams as items of the block, in order; of each join what it listens to.

    The first join has `first` streams, at once if these are more than two. `told` has, for each join, schemes
    of streams that were joined beneath it. `equal` are places that keys compare.
    """

    tree: Tree
    first: int
    ports: tuple[int, ...]
    items: tuple[int, ...]
    told: tuple[tuple[SchemeUse, ...], ...]
    equal: tuple[tuple[Place, Place], ...]

    def entered(self, port: int) -> int:
        """The join at which a stream comes in."""
        return max(self.ports.index(port) - self.first + 1, 0)

    def alike(self, join: int, offsets: Mapping[int, int]) -> dict[int, int]:
        """Of the rows that a join gives, the columns that are equal to earlier ones."""
        ports = self.ports[: self.first + join]
        same = representatives(self.equal, frozenset(ports))
        start = dict(zip(self.ports, (offsets[item] for item in self.items), strict=True))
        groups: dict[Place, list[int]] = {}
        for place, first in same.items():
            groups.setdefault(first, []).append(start[place[0]] + place[1])
        return {position: min(members) for members in groups.values() for position in members}


def tree_plan(planning: Planning, rows: Rows | None = None, objective: str = THROUGHPUT) -> TreePlan | None:
    """The cheapest tree that frees all its rows; None if there is none, or to join all at once is better.

    That is better, whatever is estimated, where all streams are compared by one value: then the join of all
    is spread over buckets by it.
    """
    count = len(planning.scans)
    if count != len(planning.items) or count < 3 or planning.plan.key:
        return None
    trees = Trees(planning)
    found = cheapest_plan(count, trees.is_purgeable, rows, objective)
    if found is None or isinstance(found.tree, int) or len(found.tree.inputs) == count:
        return None
    ports = tuple(_in_order(found.tree))
    first = _first(found.tree)
    told = [trees.listened(frozenset(ports[:k]), ports[k]) for k in range(first, count)]
    items = tuple(planning.items[port] for port in ports)
    return TreePlan(found.tree, first, ports, items, ((), *told), tuple(trees.equal))


def _first(tree: JoinOf) -> int:
    """How many streams the lowest join of a left-deep tree has."""
    below = tree.inputs[0]
    return _first(below) if isinstance(below, JoinOf) else len(tree.inputs)


def at_once(planning: Planning, tree: TreePlan | None) -> MultiPlan | None:
    """What is joined at once: everything, what a tree begins with, or nothing."""
    if tree is None:
        return planning.plan
    return planning.among(tree.ports[: tree.first]).plan if tree.first > 2 else None


def _in_order(tree: Tree) -> list[int]:
    """The streams of a left-deep tree from the left."""
    if isinstance(tree, int):
        return [tree]
    return [port for child in tree.inputs for port in _in_order(child)]


class Trees:
    """Which joins of two of a block free their rows."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._lasting = [use for use in planning.schemes if use.lasts]

    @cached_property
    def equal(self) -> list[tuple[Place, Place]]:
        """Columns of two streams that a condition compares as they are."""
        return [
            ((one[0], one[1].index), (other[0], other[1].index))
            for _, one, other in self._planning.equalities
            if one[0] != other[0] and isinstance(one[1], Column) and isinstance(other[1], Column)
        ]

    def is_purgeable(self, parts: tuple[Items, ...]) -> bool:
        """Whether a join of these inputs exists and frees all its rows."""
        if len(parts) > 2 and max(map(len, parts)) == 1:
            ports = frozenset[int]().union(*parts)
            return len(ports) == len(self._planning.scans) or self._planning.among([*ports]).frees_all
        if len(parts) != 2 or min(map(len, parts)) > 1:
            return False
        single, joined = sorted(parts, key=len)
        (port,) = single
        if len(joined) == 1 and min(joined) > port:
            joined, port = single, min(joined)  # what runs has them in this order
        return self._frees_joined(joined, port) and self._frees_stream(joined, port)

    def _frees_joined(self, joined: Items, port: int) -> bool:
        if any(self._expires(other) for other in joined):
            return True
        compared = {punctuated_column(own) for _, own in self._keys(joined, port)}
        if any({*columns} <= compared for columns in self._schemes(port)):
            return True
        return any((port, other) in self._planning.direct_bounds for other in joined)

    def _frees_stream(self, joined: Items, port: int) -> bool:
        if self._expires(port) or self.listened(joined, port):
            return True
        (first, *rest) = joined
        if rest:
            return False
        compared = {punctuated_column(theirs[1]) for theirs, _ in self._keys(joined, port)}
        return any({*columns} <= compared for columns in self._schemes(first)) or (
            (first, port) in self._planning.direct_bounds
        )

    def listened(self, joined: Items, port: int) -> tuple[SchemeUse, ...]:
        """To which promises of the rows of a join one above it listens: for what it compares, one each.

        One would be enough to free its rows; but promises of the stream that comes are forgotten when the
        same has been promised of the rows. The columns of a scheme must differ: rows in which two are equal
        say nothing of other promises.
        """
        if len(joined) < 2:
            return ()
        first = representatives(self.equal, joined)
        sides = [theirs for theirs, _ in self._keys(joined, port)]
        places = [(own, column) for own, e in sides if (column := punctuated_column(e)) is not None]
        compared = {first.get(place, place) for place in places}
        fitting: dict[frozenset[Place], SchemeUse] = {}
        for use in self._lasting:
            if use.port in joined:
                own = [(use.port, column) for column in use.stream.schemes[use.scheme].columns]
                named = frozenset(first.get(place, place) for place in own)
                if named <= compared and len(named) == len(own):
                    fitting.setdefault(named, use)
        return tuple(fitting.values())

    def _expires(self, port: int) -> bool:
        return self._planning.scans[port].stream.window is not None

    def _schemes(self, port: int) -> list[tuple[int, ...]]:
        return [use.stream.schemes[use.scheme].columns for use in self._lasting if use.port == port]

    def _keys(self, joined: Items, port: int) -> list[tuple[tuple[int, Expression], Expression]]:
        """What a join compares: of one of the streams joined so far, and of the one that comes."""
        found = []
        for _, one, other in self._planning.equalities:
            for theirs, own in ((one, other), (other, one)):
                if theirs[0] in joined and own[0] == port:
                    found.append((theirs, own[1]))
        return found


def representatives(equal: Sequence[tuple[Place, Place]], ports: Items) -> dict[Place, Place]:
    """For places that equalities of some ports connect, one that stands for all.

    >>> representatives([((0, 0), (1, 0)), ((1, 0), (2, 5))], frozenset([0, 1]))
    {(0, 0): (0, 0), (1, 0): (0, 0)}
    """
    found: dict[Place, Place] = {}
    for one, other in equal:
        if one[0] in ports and other[0] in ports:
            kept, gone = found.setdefault(one, one), found.setdefault(other, other)
            for place, first in found.items():
                if first == gone:
                    found[place] = kept
    return found
