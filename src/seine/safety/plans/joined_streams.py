"""Purging of a multi-way join: what one operator over several streams compares, and whose rows it frees.

A row of a stream without a window may leave when punctuations and watermarks have closed the other streams
for it, one after the other. An operator that joins all of them sees that; a join of two sees one of them. So
a block of three streams or more is joined at once if that is what frees some of its rows. Relations take part
if it takes their tuples to know which values have to be punctuated.

Cites: SAFETY 4.1 (a query without a safe binary plan), Def 7, Def 9
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, Expression, shift_columns
from seine.algebra.linear import Terms, time_column
from seine.algebra.plan import Plan, Scan
from seine.optimizer.block import Block
from seine.optimizer.closing_times import implied_bounds
from seine.optimizer.equalities import is_equality, one_type, punctuated_column
from seine.optimizer.scheme_partners import reuse_partners
from seine.safety.graph.purgeable import purgeable
from seine.safety.states.column_facts import graph_of_tables
from seine.safety.states.runnable import is_appended

FEWEST_AT_ONCE = 3  # streams; two are a join of two, unless only groups of equal columns free their rows
Side = tuple[int, Expression]  # a port, and an expression over its rows


@dataclass(frozen=True)
class SchemeUse:
    """A punctuation scheme of a port's stream all of whose columns belong to groups.

    If its values are reused, `partners` are the ports that it begins anew for: rows of theirs from before the
    end of a punctuation join no later row of the stream that has its values.
    """

    port: int
    stream: StreamDef
    scheme: int
    groups: tuple[int, ...]
    partners: tuple[int, ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of the stream that the scheme punctuates."""
        return self.stream.schemes[self.scheme].columns

    @property
    def lasts(self) -> bool:
        """Whether its punctuations hold for ever."""
        return self.stream.schemes[self.scheme].lifespan is None


def joined_at_once(
    block: Block, streams: Sequence[int], relations: Sequence[int] = ()
) -> JoinedStreams | None:
    """The items of a block that have to be joined by one operator so that punctuations or bounds on times
    free all rows that they can; None where any joins of two free as much.

    `streams` and `relations` are all items of the block, in the order of the operator's ports.
    """
    scans = [block.items[number] for number in streams]
    windows = [scan.stream.window for scan in scans if isinstance(scan, Scan)]
    if not block.is_of_tables or not is_appended(block) or len(streams) < 2 or None not in windows:
        return None
    alone = whole = JoinedStreams(block, streams)
    if relations:
        whole = JoinedStreams(block, streams, relations)
    most = max(len(alone.finished), len(whole.finished))
    enough = [joined for joined in (alone, whole) if len(joined.finished) == most]
    chosen = next((joined for joined in enough if joined.is_connected), enough[0])
    if not most or (chosen is alone and len(streams) < FEWEST_AT_ONCE and not alone.needs_groups):
        return None
    return chosen


class JoinedStreams:
    """The inputs of one join: its ports are items of a block, streams first, then relations.

    A *group* is a set of expressions over rows of different ports that the conditions make equal. If `only`
    is given, no other schemes are listened to than these, by stream and number.
    """

    def __init__(
        self,
        block: Block,
        streams: Sequence[int],
        relations: Sequence[int] = (),
        only: frozenset[tuple[str, int]] | None = None,
    ) -> None:
        self.block, self._only = block, only
        self.items = (*streams, *relations)
        self.scans = [item for number in streams if isinstance(item := block.items[number], Scan)]
        self._ports = {item: port for port, item in enumerate(self.items)}

    def among(self, ports: Sequence[int]) -> JoinedStreams:
        """Some of its streams joined by themselves."""
        return JoinedStreams(self.block, [self.items[port] for port in sorted(ports)], only=self._only)

    def listening(self, schemes: frozenset[tuple[str, int]]) -> JoinedStreams:
        """The same that listens to no other schemes than these."""
        count = len(self.scans)
        return JoinedStreams(self.block, self.items[:count], self.items[count:], schemes)

    # ---- what is compared

    @cached_property
    def equalities(self) -> list[tuple[int, Side, Side]]:
        """The conditions, by number, that say that two ports, or two columns of one, agree."""
        return [
            (number, *sides)
            for number, condition in enumerate(self.block.conditions)
            if (sides := self._sides(condition)) is not None
        ]

    def _sides(self, condition: Expression) -> tuple[Side, Side] | None:
        if not is_equality(condition):
            return None
        one, other = map(self._side, one_type(*condition.args))
        return None if one is None or other is None else (one, other)

    def _side(self, expression: Expression) -> Side | None:
        items = self.block.items_of(expression)
        if len(items) != 1 or not items <= self._ports.keys():
            return None
        (item,) = items
        first = self.block.offsets[item]
        return self._ports[item], shift_columns(expression, lambda index: index - first)

    @cached_property
    def groups(self) -> list[list[Side]]:
        """What is equal, each group with members of several ports; in an order that is always the same."""
        return equal_sides(self.equalities, lambda port: port)

    @cached_property
    def group_of(self) -> dict[Side, int]:
        """For each expression that is compared, the number of its group."""
        return {side: number for number, members in enumerate(self.groups) for side in members}

    @property
    def has_one_key(self) -> bool:
        """Whether one group has a member of every port, and there is no other group."""
        return len(self.groups) == 1 and len({port for port, _ in self.groups[0]}) == len(self.items)

    # ---- what closes streams

    @cached_property
    def schemes(self) -> list[SchemeUse]:
        """The punctuation schemes of the streams that say something of groups."""
        uses = []
        for port, scan in enumerate(self.scans):
            for number, scheme in enumerate(scan.stream.schemes):
                groups = [self._group_of_column(port, column) for column in scheme.columns]
                known = tuple(group for group in groups if group is not None)
                chosen = self._only is None or (scan.stream.name, number) in self._only
                if len(known) == len(groups) and chosen:
                    uses.append(SchemeUse(port, scan.stream, number, known, self._anew(port, number, known)))
        return uses

    def _anew(self, port: int, scheme: int, groups: Sequence[int]) -> tuple[int, ...]:
        """The ports for which reused values of a scheme begin anew, of those that have all its groups."""
        members = [{member for member, _ in self.groups[group]} for group in groups]
        partners = self._partners.get((port, scheme), set())
        return tuple(sorted(partners.intersection(*members)))

    @cached_property
    def _partners(self) -> dict[tuple[int, int], set[int]]:
        """For each scheme of a port whose values are reused, the ports that they begin anew for."""
        ports: dict[tuple[int, int], set[int]] = {}
        for partner in reuse_partners(self.block.items, self.block.offsets, self.block.conditions):
            port, other = (self._place(one.first)[0] for one in (partner.stream, partner.other))
            if port is not None and other is not None:
                ports.setdefault((port, partner.scheme), set()).add(other)
        return ports

    def _group_of_column(self, port: int, column: int) -> int | None:
        """The group that has the very values of a column: as it is, if it is compared so, or through a cast.

        The check counts on the same one.
        """
        cast = None
        for (member_port, expression), group in self.group_of.items():
            if member_port == port and punctuated_column(expression) == column:
                if isinstance(expression, Column):
                    return group
                cast = group if cast is None else cast
        return cast

    @cached_property
    def bounds(self) -> set[tuple[int, int]]:
        """Pairs of ports: the time of the first is bounded above by columns of the second."""
        return {
            (port, other)
            for port, terms in self._time_bounds
            for other in self._ports_with(terms)
            if other != port
        }

    @cached_property
    def direct_bounds(self) -> set[tuple[int, int]]:
        """Those bounds that a condition states of columns of two ports alone: a join of both checks it."""
        pairs = set()
        for port, terms in self._time_bounds:
            other = self._place(terms[0][0])[0] if terms else None
            if other not in (None, port) and all(self._place(column)[0] == other for column, _ in terms):
                pairs.add((port, other))
        return pairs

    @cached_property
    def _time_bounds(self) -> list[tuple[int, Terms]]:
        """Ports whose times conditions bound, and the columns by which they do."""
        bounded = []
        for condition in self.block.conditions:
            for bound in implied_bounds(condition):
                port, column = self._place(bound.column)
                if port is not None and port < len(self.scans) and column == self.scans[port].stream.time:
                    bounded.append((port, bound.terms))
        return bounded

    def _ports_with(self, terms: Terms) -> Iterator[int]:
        """The ports whose rows have all columns of a sum; of one column also those whose groups have it."""
        places = [self._place(column) for column, _ in terms]
        ports = {port for port, _ in places}
        if len(ports) == 1:
            yield from (port for port in ports if port is not None)
        if len(places) == 1:
            members = [(port, group, time_column(e)) for (port, e), group in self.group_of.items()]
            groups = {group for port, group, column in members if (port, column) == places[0]}
            yield from (port for port, group, column in members if group in groups and column is not None)

    def _place(self, index: int) -> tuple[int | None, int]:
        """The port that has a column of the block, if one has it, and the column's place in its rows."""
        item = self.block.owner(index)
        return self._ports.get(item), index - self.block.offsets[item]

    @property
    def is_connected(self) -> bool:
        """Whether groups and bounds connect all ports."""
        edges = [{port for port, _ in members} for members in self.groups]
        edges += [{*pair} for pair in self.bounds]
        reached, grown = {0}, True
        while grown:
            more = {port for edge in edges if edge & reached for port in edge}
            grown = not more <= reached
            reached |= more
        return len(reached) == len(self.items)

    # ---- what is freed

    @cached_property
    def finished(self) -> list[int]:
        """The ports of streams without a window whose rows are finished some day."""
        part = self.block.among(self.items)
        relating = tuple(condition for condition in part.conditions if len(condition.columns) > 1)
        pairs = zip(self.scans, _freed(part.items, relating), strict=True)
        return [port for port, (scan, freed) in enumerate(pairs) if freed and scan.stream.window is None]

    @property
    def frees_all(self) -> bool:
        """Whether to join its streams at once frees all of them."""
        lasting = [scan for scan in self.scans if scan.stream.window is None]
        return self.is_connected and len(self.finished) == len(lasting)

    @property
    def needs_groups(self) -> bool:
        """Whether, of two streams, a row is finished by a scheme that their join does not see in its key."""
        return any(not self._is_finished_by_key(port) for port in self.finished)

    def _is_finished_by_key(self, port: int) -> bool:
        other = 1 - port
        sides = [side for _, *both in self.equalities if both[0][0] != both[1][0] for side in both]
        keyed = {punctuated_column(e) for side_port, e in sides if side_port == other}
        uses = [use for use in self.schemes if use.port == other and (use.lasts or port in use.partners)]
        by_punctuation = any({*use.columns} <= keyed for use in uses)
        return by_punctuation or (other, port) in self.bounds


@lru_cache(maxsize=1 << 10)
def _freed(items: tuple[Plan, ...], conditions: tuple[Expression, ...]) -> list[bool]:
    """Which streams are purgeable; queries that differ in conditions on single columns ask it once."""
    return purgeable(graph_of_tables(Block(items, conditions, ())).graph)


def equal_sides(
    equalities: Iterable[tuple[int, Side, Side]], part_of: Callable[[int], int]
) -> list[list[Side]]:
    """What is equal, each group with members of several parts of a join; always in the same order."""
    group: dict[Side, list[Side]] = {}
    for _, one, other in equalities:
        mine, theirs = group.setdefault(one, [one]), group.setdefault(other, [other])
        if mine is not theirs:
            mine += theirs
            group.update(dict.fromkeys(theirs, mine))
    distinct = {id(members): members for members in group.values()}.values()
    several = [sorted(m, key=_text) for m in distinct if len({part_of(port) for port, _ in m}) > 1]
    return sorted(several, key=lambda members: [_text(side) for side in members])


def _text(side: Side) -> tuple[int, str]:
    return side[0], str(side[1])
