"""Joins whose derived punctuations groups listen to: a chain of promises from a stream through its join.

    SELECT x.a, count(*) FROM x JOIN y ON x.b = y.b GROUP BY x.a

    x punctuates a = 1 ──> the join holds no more x with a = 1 ──> the group a = 1 is final

What a join has derived before somebody listened is gone. So a join that has run unheard is not used: there is
another of the next generation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, Expression, shift_columns
from seine.algebra.plan import Scan
from seine.algebra.types import BIGINT
from seine.graph.node import Node, Port
from seine.network.joins.join_punctuations import place_punctuations
from seine.network.site.placing import Placer, port_of
from seine.operators.join.derived_punctuations import DerivedPunctuationsNode, derived_signature
from seine.operators.stream.source import punctuation_signature
from seine.optimizer.block import Block
from seine.optimizer.equalities import punctuated_column
from seine.safety.states.final_groups import GroupedBlock, KeyScheme, finality_of


@dataclass(frozen=True)
class HeardScheme:
    """A scheme of a stream that is one side of a join, and whose derived punctuations are listened to."""

    stream: StreamDef
    scheme: int
    side: int

    @property
    def columns(self) -> tuple[int, ...]:
        return self.stream.schemes[self.scheme].columns

    def is_heard(self, placer: Placer, join: Node) -> bool:
        """Whether somebody listens to a join already."""
        origin = placer.site.find(punctuation_signature(self.stream.name, self.scheme))
        if origin is None:
            return False
        return placer.site.find(derived_signature((join.id, origin.id), self.side, self.columns)) is not None

    def place(self, placer: Placer, join: Node) -> tuple[DerivedPunctuationsNode, bool]:
        """The derived punctuations, and whether every bucket sends them."""
        origin = place_punctuations(placer, self.stream, self.scheme)
        port = self._port(origin, join.ports[self.side].key)
        common = placer.common((*origin.types, BIGINT), origin.streams, (), 0, join.stage, owner="")
        candidate = DerivedPunctuationsNode(
            ports=(port_of(join), port), side=self.side, columns=self.columns, **common
        )
        identity = derived_signature(candidate.inputs, self.side, self.columns)
        return placer.find_or_insert(candidate, identity), port.broadcast

    def _port(self, origin: Node, key: Sequence[Expression]) -> Port:
        """The port for punctuations: to the bucket of a join's key if they have it, or to all."""
        columns = self.columns
        if all(punctuated_column(e) in columns for e in key):
            port_key = tuple(shift_columns(e, columns.index) for e in key)
            return Port(origin.id, origin.types, origin.streams, 0, port_key)
        port_key = tuple(Column(place, type_) for place, type_ in enumerate(origin.types))
        return Port(origin.id, origin.types, origin.streams, 0, port_key, broadcast=True)


class HeardJoins:
    """The joins of one query's blocks whose derived punctuations groups above them listen to."""

    def __init__(self, placer: Placer) -> None:
        self._placer = placer
        self._wanted_schemes: dict[int, dict[tuple[int, int], KeyScheme]] = {}  # by the identity of a block
        self._sides: dict[tuple[int, int], tuple[Node, int]] = {}  # of a block's item: the join and its side
        self._blocks: list[Block] = []  # so that their identities stay

    def ask(self, groupings: Sequence[GroupedBlock]) -> None:
        """Note which schemes of streams groups will know through the joins of these, not placed yet."""
        if not any(grouping.lasts and len(grouping.block.scans) == 2 for grouping in groupings):
            return
        for uses in finality_of(groupings).schemes:
            for use in uses:
                if use.joined is not None:
                    self._blocks.append(use.joined)
                    self._wanted_schemes.setdefault(id(use.joined), {})[id(use.scan), use.scheme] = use

    def schemes(self, block: Block, order: Sequence[int]) -> list[HeardScheme]:
        """What groups will know through the join of a block, whose items are joined in this order."""
        sides = {number: side for side, number in enumerate(_scans(block, order))}
        uses = self._wanted_schemes.get(id(block), {}).values()
        return [HeardScheme(use.scan.stream, use.scheme, sides[_item(block, use)]) for use in uses]

    def placed(self, block: Block, order: Sequence[int], joins: Sequence[Node]) -> None:
        """Note the join of a block's two streams."""
        if id(block) in self._wanted_schemes:
            join = next(node for node in joins if node.is_join)
            self._sides |= {(id(block), n): (join, side) for side, n in enumerate(_scans(block, order))}

    def place(self, use: KeyScheme) -> tuple[Node, bool]:
        """The derived punctuations of a scheme, and whether every bucket sends them."""
        assert use.joined is not None
        join, side = self._sides[id(use.joined), _item(use.joined, use)]
        return HeardScheme(use.scan.stream, use.scheme, side).place(self._placer, join)


def _scans(block: Block, order: Sequence[int]) -> list[int]:
    """The numbers of the streams among items in some order."""
    return [number for number in order if isinstance(block.items[number], Scan)]


def _item(block: Block, use: KeyScheme) -> int:
    return next(number for number, item in enumerate(block.items) if item is use.scan)


def open_generation(
    placer: Placer, standing: Callable[[int], Node | None], heard: Sequence[HeardScheme]
) -> int:
    """The first generation of a join that does not stand, has not run, or is listened to already."""
    for number in count():
        join = standing(number)
        if join is None or placer.site.is_new(join.id) or all(one.is_heard(placer, join) for one in heard):
            return number
    raise AssertionError("there is always a next generation")
