"""Which punctuations a join can use, and by which ports they come.

A punctuation is about the tuples of a stream; it holds as well for what prefilters let pass and lookups add
to. It helps a join if all columns of its scheme are in the join's key: then a row of the other side knows the
values that it waits for.

Joins whose derived punctuations groups listen to: a chain of promises from a stream through its join.

    SELECT x.a, count(*) FROM x JOIN y ON x.b = y.b GROUP BY x.a

    x punctuates a = 1 ──> the join holds no more x with a = 1 ──> the group a = 1 is final

What a join has derived before somebody listened is gone. So a join that has run unheard is not used: there is
another of the next generation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, Expression, shift_columns
from seine.algebra.plan import Scan
from seine.algebra.types import BIGINT
from seine.graph.node import Node, Port
from seine.network.joins.rising_rows import PromisedRow, RowScheme, SideFacts
from seine.network.site.placing import Placer, port_of
from seine.operators.join.derived_punctuations import DerivedPunctuationsNode, derived_signature
from seine.operators.join.join_purge import PurgeRule
from seine.operators.join.lookup import LookupNode
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.stream.source import PunctuationsNode, SourceNode, punctuation_signature
from seine.optimizer.block import Block
from seine.optimizer.equalities import punctuated_column as punctuated_column
from seine.safety.states.final_groups import GroupedBlock, KeyScheme, finality_of

Punctuating = tuple[Port, PurgeRule]


def place_punctuations(placer: Placer, stream: StreamDef, scheme: int) -> Node:
    """The node of the punctuations of one of a stream's schemes."""
    types = [stream.types[index] for index in stream.schemes[scheme].columns]
    common = placer.common(types, (stream.name,), (), 0, 0, owner="")
    candidate = PunctuationsNode(ports=(), stream=stream.name, scheme=scheme, **common)
    identity = candidate.signature(placer.site)
    assert identity is not None
    return placer.find_or_insert(candidate, identity)


def punctuations_of(
    placer: Placer,
    streams: Mapping[str, StreamDef],
    sides: Sequence[Node],
    keys: Sequence[Sequence[Expression]],
) -> list[Punctuating]:
    """The ports for punctuations of a join of these two sides by these keys."""
    usable: list[Punctuating] = []
    if any(side.hold for side in sides):
        return usable
    for number, (side, key) in enumerate(zip(sides, keys, strict=True)):
        source = punctuating_stream(placer, side)
        if source is None:
            continue
        stream, alike = streams[source], _alike(placer, side)
        key = [shift_columns(e, lambda index, alike=alike: alike.get(index, index)) for e in key]  # type: ignore[misc]
        for scheme in range(len(stream.schemes)):
            if placer.schemes is not None and (source, scheme) not in placer.schemes:
                continue
            if punctuation := _punctuating(placer, stream, scheme, number, key):
                port, rule = punctuation
                reused = stream.schemes[scheme].reused and _begins_anew(
                    placer, streams, stream, scheme, key, (sides[1 - number], keys[1 - number])
                )
                usable.append((port, replace(rule, reused=reused)))
    return usable


def _begins_anew(
    placer: Placer,
    streams: Mapping[str, StreamDef],
    stream: StreamDef,
    scheme: int,
    key: Sequence[Expression],
    other: tuple[Node, Sequence[Expression]],
) -> bool:
    """Whether reused values of a scheme begin anew for the rows of the other side: one stream has them all.

    Every query that has such a key has the condition of `optimizer/scheme_partners.py` for these two streams.
    """
    side, theirs = other
    name = punctuating_stream(placer, side)
    if name is None or streams[name].domain != stream.domain:
        return False
    alike, width = _alike(placer, side), len(streams[name].types)
    compared = set()
    for mine, their in zip(key, theirs, strict=True):
        column, place = punctuated_column(mine), punctuated_column(their)
        if column is not None and place is not None and alike.get(place, place) < width:
            compared.add(column)
    return {*stream.schemes[scheme].columns} <= compared


def promises_of(
    placer: Placer, facts: SideFacts, sides: Sequence[Node], keys: Sequence[Sequence[Expression]]
) -> tuple[list[Punctuating], tuple[int, int]]:
    """The ports of a join whose rows may end early for what the streams beneath its sides punctuate of its
    key, and how many streams each side has; none of a side unless all of its streams do.

    Where rows of a side may end early and nothing makes them final, no punctuation frees anything.
    """
    members = [_usable(promised, key) for promised, key in zip(facts.promised, keys, strict=True)]
    for side, uses, times in zip(sides, members, facts.rising, strict=True):
        if side.identities and not uses and not times:
            return [], (0, 0)
    ports = [
        punctuating(place_punctuations(placer, use.stream, use.scheme), use.columns, number, key)
        for first, of_side, key in zip((0, len(members[0])), members, keys, strict=True)
        for number, uses in enumerate(of_side, first)
        for use in uses
    ]
    return ports, (len(members[0]), len(members[1]))


def _usable(promised: PromisedRow, key: Sequence[Expression]) -> list[list[RowScheme]]:
    """Of each stream the schemes all of whose columns are in a key; none unless each stream has one."""
    usable = [[use for use in uses if _names_all(use.columns, key)] for uses in promised]
    return usable if all(usable) else []


def punctuating_stream(placer: Placer, node: Node) -> str | None:
    """The stream whose tuples the rows of a node begin with, as they come; None if there is none."""
    while isinstance(node, PrefilterNode | LookupNode):
        node = placer.site.nodes[node.inputs[0]]
    return node.stream if isinstance(node, SourceNode) else None


def _alike(placer: Placer, node: Node) -> dict[int, int]:
    """Columns of relations that lookups make equal to columns of the stream."""
    if isinstance(node, PrefilterNode):
        return _alike(placer, placer.site.nodes[node.inputs[0]])
    if not isinstance(node, LookupNode):
        return {}
    below = placer.site.nodes[node.inputs[0]]
    equal, first = _alike(placer, below), len(below.types)
    for row, relation in zip(node.row_key, node.relation_key, strict=True):
        if isinstance(row, Column) and isinstance(relation, Column) and row.type == relation.type:
            equal[first + relation.index] = equal.get(row.index, row.index)
    return equal


def _punctuating(
    placer: Placer, stream: StreamDef, scheme: int, side: int, key: Sequence[Expression]
) -> Punctuating | None:
    columns = stream.schemes[scheme].columns
    if not _names_all(columns, key):
        return None
    return punctuating(place_punctuations(placer, stream, scheme), columns, side, key)


def _names_all(columns: Sequence[int], key: Sequence[Expression]) -> bool:
    return {*columns} <= {punctuated_column(e) for e in key}


def punctuating(
    node: Node, columns: Sequence[int], side: int, key: Sequence[Expression], gathers: bool = False
) -> Punctuating:
    """The port for punctuations of columns that are all in a join's key, and what they say."""
    columns = list(columns)
    held = [(place, e) for place, e in enumerate(key) if punctuated_column(e) in columns]
    covering = len(held) == len(key) == len({*columns})
    if not covering:  # a place for each column is enough; rows that differ at two places of one wait for one
        held = list({punctuated_column(e): (place, e) for place, e in reversed(held)}.values())
        held.sort(key=lambda pair: pair[0])
    port_key = tuple(shift_columns(e, columns.index) for _, e in held)
    port = Port(node.id, node.types, node.streams, 0, port_key, broadcast=not covering)
    return port, PurgeRule(side, tuple(place for place, _ in held), gathers)


def claim_punctuations(placer: Placer, nodes: Sequence[int]) -> None:
    """Claim nodes of punctuations, and those that they are derived from."""
    for number in nodes:
        node: Node | None = placer.site.nodes[number]
        while node is not None:
            placer.claim_node(node.id)
            node = placer.site.nodes[node.inputs[1]] if isinstance(node, DerivedPunctuationsNode) else None


def comes_from_all(node: Node) -> bool:
    """Whether every bucket of a join sends these punctuations."""
    return isinstance(node, DerivedPunctuationsNode) and node.by_all


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
