"""Which blocks are joined at once: those that are freed only if all of their streams are seen together.

A row of a stream without a window may leave when promises have closed the other streams for it, one after
the other; a join of two sees one of them. So a block of three streams or more becomes one node if promises
are what frees some of its rows, or bounds on times such as `b.ts <= a.ts + 20`. Relations are part of it
if it takes their tuples to know what has to be promised.

Cites: SAFETY 4.1 (a query without a safe binary plan), Def 7, Def 9
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Expression, shift_columns
from seine.algebra.plan import Lookup, Scan
from seine.algebra.upper_bounds import Terms, time_column
from seine.network.joins.join_punctuations import punctuated_column
from seine.network.joins.join_sharing import Base
from seine.network.plan.blocks import Block
from seine.operators.multi_join.multi_join_node import Member, Static
from seine.optimizer.bounding import bounds_told
from seine.optimizer.equalities import is_equality, one_type
from seine.safety.safe_plans import Tree
from seine.safety.verdict_story import Nested

FEWEST = 3  # streams; two are a join of two, mostly
Side = tuple[int, Expression]  # a port, and what its rows have


@dataclass(frozen=True)
class SchemeUse:
    """A scheme of a port's stream whose columns all belong to groups."""

    port: int
    stream: StreamDef
    scheme: int
    groups: tuple[int, ...]

    @property
    def lasts(self) -> bool:
        """Whether its promises hold for ever."""
        return self.stream.schemes[self.scheme].lifespan is None


@dataclass(frozen=True)
class MultiPlan:
    """A join of many inputs as it will be: the items of its ports, where their rows are, what joins them.

    `decided` are the conditions of the block that its groups decide.
    """

    items: tuple[int, ...]
    nodes: tuple[int, ...]
    members: tuple[Member, ...]
    decided: tuple[int, ...]
    schemes: tuple[SchemeUse, ...]
    times: tuple[int, ...]
    statics: tuple[Static, ...] = ()

    @property
    def key(self) -> tuple[Expression, ...]:
        """What routes the rows of each port, if one group has a member of every port; else nothing."""
        ports = {member.port: member.expression for member in reversed(self.members)}
        single = len({member.group for member in self.members}) == 1 and len(ports) == len(self.items)
        return tuple(ports[port] for port in range(len(self.nodes))) if single else ()


def planning_of(block: Block, bases: Sequence[Base]) -> Planning | None:
    """What to know of a block that promises or bounds on times free; None where any joins of two do."""
    if not all(isinstance(item, Scan | Lookup) for item in block.items):
        return None
    streams = [i for i, item in enumerate(block.items) if isinstance(item, Scan)]
    if len(streams) < 2 or any(scan.stream.retractable for scan in _scans(block, streams)):
        return None
    if all(scan.stream.window is not None for scan in _scans(block, streams)):
        return None  # windows free all rows
    streams.sort(key=lambda i: (bases[i].node or 0, i))
    relations = [i for i in range(len(block.items)) if i not in streams]
    relations.sort(key=lambda i: (bases[i].relation or "", i))
    alone, whole = Planning(block, bases, streams, []), Planning(block, bases, streams, relations)
    most = max(len(alone.finished), len(whole.finished))
    enough = [planning for planning in (alone, whole) if len(planning.finished) == most]
    chosen = next((planning for planning in enough if planning.is_connected), enough[0])
    if not most or (chosen is alone and len(streams) < FEWEST and not alone.needs_groups):
        return None
    return chosen


class Planning:
    """The groups of a block's equalities, and what closes its streams."""

    def __init__(self, block: Block, bases: Sequence[Base], streams: list[int], relations: list[int]) -> None:
        self._block, self._bases = block, bases
        self._nodes = tuple(bases[item].node or 0 for item in streams)
        self.items = (*streams, *relations)
        self._relations = [item for i in relations if isinstance(item := block.items[i], Lookup)]
        self._ports = {item: port for port, item in enumerate(self.items)}
        self.scans = _scans(block, streams)

    @cached_property
    def equalities(self) -> list[tuple[int, Side, Side]]:
        """The conditions that say that two streams, or two columns of one, agree; by number."""
        return [
            (number, *sides)
            for number, condition in enumerate(self._block.conditions)
            if (sides := self._sides(condition)) is not None
        ]

    def _sides(self, condition: Expression) -> tuple[Side, Side] | None:
        if not is_equality(condition):
            return None
        found = [self._side(arg) for arg in one_type(*condition.args)]
        one, other = found
        return None if one is None or other is None else (one, other)

    def _side(self, expression: Expression) -> Side | None:
        items = self._block.items_of(expression)
        if len(items) != 1 or not items <= self._ports.keys():
            return None
        (item,) = items
        first = self._block.offsets[item]
        return self._ports[item], shift_columns(expression, lambda index: index - first)

    @cached_property
    def _groups(self) -> list[list[Side]]:
        """What is equal, each group with members of several ports; all in an order of their own."""
        group: dict[Side, list[Side]] = {}
        for _, one, other in self.equalities:
            mine, theirs = group.setdefault(one, [one]), group.setdefault(other, [other])
            if mine is not theirs:
                mine += theirs
                group.update(dict.fromkeys(theirs, mine))
        distinct = {id(members): members for members in group.values()}.values()
        several = [sorted(m, key=_text) for m in distinct if len({port for port, _ in m}) > 1]
        return sorted(several, key=lambda members: [_text(side) for side in members])

    @cached_property
    def _group_of(self) -> dict[Side, int]:
        return {side: number for number, members in enumerate(self._groups) for side in members}

    @cached_property
    def schemes(self) -> list[SchemeUse]:
        """The schemes of the streams that say something of groups."""
        found = []
        for port, scan in enumerate(self.scans):
            for number, scheme in enumerate(scan.stream.schemes):
                groups = [self._group_of_column(port, column) for column in scheme.columns]
                known = tuple(group for group in groups if group is not None)
                if len(known) == len(groups):
                    found.append(SchemeUse(port, scan.stream, number, known))
        return found

    def _group_of_column(self, port: int, column: int) -> int | None:
        """The group that has the very values of a column."""
        for (own, expression), group in self._group_of.items():
            if own == port and punctuated_column(expression) == column:
                return group
        return None

    def among(self, ports: Sequence[int]) -> Planning:
        """What to know of some of its streams alone."""
        return Planning(self._block, self._bases, [self.items[port] for port in sorted(ports)], [])

    @property
    def frees_all(self) -> bool:
        """Whether to join its streams at once frees all of them."""
        lasting = [scan for scan in self.scans if scan.stream.window is None]
        return self.is_connected and len(self.finished) == len(lasting)

    def aliases(self, tree: Tree | None) -> Nested:
        """The streams as a tree joins them; without one, all at once."""
        if tree is None:
            return tuple(scan.alias for scan in self.scans)
        return self.scans[tree].alias if isinstance(tree, int) else tuple(map(self.aliases, tree.inputs))

    @property
    def plan(self) -> MultiPlan:
        decided = [n for n, one, other in self.equalities if one in self._group_of and one[0] != other[0]]
        members = [Member(port, group, e) for (port, e), group in self._group_of.items()]
        return MultiPlan(
            self.items,
            self._nodes,
            tuple(members),
            tuple(decided),
            tuple(self.schemes),
            tuple(scan.stream.time for scan in self.scans),
            tuple(Static(item.relation.name, item.relation.types) for item in self._relations),
        )

    @cached_property
    def bounds(self) -> set[tuple[int, int]]:
        """Ports whose starts are bounded by columns of another port."""
        return {
            (port, other)
            for port, terms in self._time_bounds
            for other in self._rows_with(terms)
            if other != port
        }

    @cached_property
    def direct_bounds(self) -> set[tuple[int, int]]:
        """The same, where a condition names columns of that other port: a join of both can ask it."""
        found = set()
        for port, terms in self._time_bounds:
            other = self._place(terms[0][0])[0] if terms else None
            if other not in (None, port) and all(self._place(column)[0] == other for column, _ in terms):
                found.add((port, other))
        return found

    @cached_property
    def _time_bounds(self) -> list[tuple[int, Terms]]:
        """Ports whose starts conditions bound, and the columns by which they do."""
        found = []
        for condition in self._block.conditions:
            for bound in bounds_told(condition):
                port, column = self._place(bound.column)
                if port is not None and port < len(self.scans) and column == self.scans[port].stream.time:
                    found.append((port, bound.terms))
        return found

    def _rows_with(self, terms: Terms) -> Iterator[int]:
        """The ports whose rows have all of some columns; of a single one also those whose groups have it."""
        places = [self._place(column) for column, _ in terms]
        ports = {port for port, _ in places}
        if len(ports) == 1:
            yield from (port for port in ports if port is not None)
        if len(places) == 1:
            members = [(port, group, time_column(e)) for (port, e), group in self._group_of.items()]
            groups = {group for port, group, column in members if (port, column) == places[0]}
            yield from (port for port, group, column in members if group in groups and column is not None)

    def _place(self, index: int) -> tuple[int | None, int]:
        """The port that has a column of the block, if one has it, and the column's place in its rows."""
        item = bisect_right(self._block.offsets, index) - 1
        return self._ports.get(item), index - self._block.offsets[item]

    @property
    def is_connected(self) -> bool:
        reached, grown = {0}, True
        while grown:
            edges = [{port for port, _ in members} for members in self._groups]
            edges += [{*pair} for pair in self.bounds]
            more = {port for edge in edges if edge & reached for port in edge}
            grown = not more <= reached
            reached |= more
        return len(reached) == len(self.items)

    @cached_property
    def finished(self) -> list[int]:
        """The ports of streams without a window whose rows are finished some day."""
        lasting = [port for port, scan in enumerate(self.scans) if scan.stream.window is None]
        return [port for port in lasting if self._is_finished(port)]

    @property
    def needs_groups(self) -> bool:
        """Whether, of two streams, a row is finished by a scheme that their join does not see in its key."""
        return any(not self._is_finished_by_key(port) for port in self.finished)

    def _is_finished_by_key(self, port: int) -> bool:
        other = 1 - port
        sides = [side for _, *both in self.equalities if both[0][0] != both[1][0] for side in both]
        keyed = {punctuated_column(e) for own, e in sides if own == other}
        schemes = self.scans[other].stream.schemes
        by_punctuation = any({*scheme.columns} <= keyed for scheme in schemes if scheme.lifespan is None)
        return by_punctuation or (other, port) in self.bounds

    def _is_finished(self, port: int) -> bool:
        closed = {*self._closed(port)}
        windows = (self.scans[other].stream.window for other in closed)
        return len(closed) == len(self.scans) - 1 or any(window is not None for window in windows)

    def _closed(self, port: int) -> Iterator[int]:
        """The other ports that promises for ever, or bounds, can close for a row of one, each once."""
        reached = {port, *range(len(self.scans), len(self.items))}
        waiting = True
        while waiting:
            known = {group for (own, _), group in self._group_of.items() if own in reached}
            found = {use.port for use in self.schemes if {*use.groups} <= known and use.lasts}
            found |= {later for later, earlier in self.bounds if earlier in reached}
            found -= reached
            yield from found
            reached |= found
            waiting = bool(found)


def _scans(block: Block, items: Sequence[int]) -> list[Scan]:
    return [item for i in items if isinstance(item := block.items[i], Scan)]


def _text(side: Side) -> tuple[int, str]:
    return side[0], str(side[1])
