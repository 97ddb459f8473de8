"""Which blocks are joined at once: those that promises free only if all of their streams are seen together.

A row of a stream without a window may leave when promises have closed the other streams for it, one after the
other; a join of two sees one of them. So a block of three streams or more becomes one node if
promises are what frees some of its rows.

Cites: SAFETY 4.1 (a query without a safe binary plan), Def 7, Def 9
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from seine.algebra.expressions import Call, Column, Expression, shift_columns
from seine.algebra.plan import Lookup, Scan
from seine.algebra.types import Kind
from seine.network.blocks import Block
from seine.network.joining import Base
from seine.network.nodes import Bound, Member
from seine.optimizer.equalities import is_equality, one_type

FEWEST = 3  # streams; two are a join of two
Side = tuple[int, Expression]  # a port, and what its rows have


@dataclass(frozen=True)
class SchemeUse:
    """A scheme of a port's stream whose columns all belong to groups."""

    port: int
    scheme: int
    groups: tuple[int, ...]


@dataclass(frozen=True)
class MultiPlan:
    """A join of many inputs as it will be: the items of its ports, and what a node needs to know.

    `decided` are the conditions of the block that its groups decide.
    """

    items: tuple[int, ...]
    members: tuple[Member, ...]
    decided: tuple[int, ...]
    schemes: tuple[SchemeUse, ...]
    bounds: tuple[Bound, ...] = ()

    @property
    def key(self) -> tuple[Expression, ...]:
        """What routes the rows of each port, if one group has a member of every port; else nothing."""
        ports = {member.port: member.expression for member in reversed(self.members)}
        single = len({member.group for member in self.members}) == 1 and len(ports) == len(self.items)
        return tuple(ports[port] for port in range(len(self.items))) if single else ()


def multi_plan(block: Block, bases: Sequence[Base]) -> MultiPlan | None:
    """How to join a block at once; None where joins of two do."""
    if not all(isinstance(item, Scan | Lookup) for item in block.items):
        return None
    streams = [i for i, item in enumerate(block.items) if isinstance(item, Scan)]
    if len(streams) < FEWEST:
        return None
    found = _Planning(block, sorted(streams, key=lambda i: (bases[i].node or 0, i)))
    if any(scan.stream.retractable for scan in found.scans) or not found.is_connected:
        return None
    return found.plan if found.promises_free_rows else None


class _Planning:
    """The groups of a block's equalities, and what closes its streams."""

    def __init__(self, block: Block, items: list[int]) -> None:
        self._block = block
        self._items = items
        self._ports = {item: port for port, item in enumerate(items)}
        self.scans = [item for item in (block.items[i] for i in items) if isinstance(item, Scan)]

    @cached_property
    def _equalities(self) -> list[tuple[int, Side, Side]]:
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
        for _, one, other in self._equalities:
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
                    found.append(SchemeUse(port, number, known))
        return found

    def _group_of_column(self, port: int, column: int) -> int | None:
        """The group that has the very values of a column."""
        for (own, expression), group in self._group_of.items():
            if own == port and _column_itself(expression) == column:
                return group
        return None

    @property
    def plan(self) -> MultiPlan:
        decided = [n for n, one, other in self._equalities if one in self._group_of and one[0] != other[0]]
        members = [Member(port, group, e) for (port, e), group in self._group_of.items()]
        return MultiPlan(tuple(self._items), tuple(members), tuple(decided), tuple(self.schemes))

    @property
    def is_connected(self) -> bool:
        reached, grown = {0}, True
        while grown:
            more = {p for members in self._groups if {q for q, _ in members} & reached for p, _ in members}
            grown = not more <= reached
            reached |= more
        return len(reached) == len(self.scans)

    @property
    def promises_free_rows(self) -> bool:
        """Whether there is a stream without a window whose rows promises can finish."""
        lasting = [port for port, scan in enumerate(self.scans) if scan.stream.window is None]
        return any(self._is_finished(port) for port in lasting)

    def _is_finished(self, port: int) -> bool:
        closed = {*self._closed(port)}
        windows = (self.scans[other].stream.window for other in closed)
        return len(closed) == len(self.scans) - 1 or any(window is not None for window in windows)

    def _closed(self, port: int) -> Iterator[int]:
        """The other ports that promises for ever can close for a row of one, each once."""
        reached = {port}
        waiting = True
        while waiting:
            known = {group for (own, _), group in self._group_of.items() if own in reached}
            found = {
                use.port for use in self.schemes if {*use.groups} <= known and self._lasts(use)
            } - reached
            yield from found
            reached |= found
            waiting = bool(found)

    def _lasts(self, use: SchemeUse) -> bool:
        return self.scans[use.port].stream.schemes[use.scheme].lifespan is None


def _text(side: Side) -> tuple[int, str]:
    return side[0], str(side[1])


def _column_itself(expression: Expression) -> int | None:
    """The column whose values an expression has, each by one name."""
    if isinstance(expression, Call) and expression.name == "cast":
        inner = expression.args[0]
        same = (inner.type.kind, expression.type.kind) == (Kind.INT, Kind.BIGINT)
        return _column_itself(inner) if same else None
    return expression.index if isinstance(expression, Column) else None
