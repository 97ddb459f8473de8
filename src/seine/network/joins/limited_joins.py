"""The star join of a block: the probe order of each stream through the other items.

Cites: STAR 2.1 (joins through a relation), 2.2 (pre-filtering)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from seine.algebra.expressions import Expression, columns_of, shift_columns
from seine.algebra.plan import Lookup, Plan, Scan
from seine.algebra.star import MemoryLimit, Probe, Star, StarEdge, StarItem
from seine.errors import SeineError
from seine.network.joins.join_placing import Prefilters, place_stream
from seine.network.plan.block_conditions import Conditions, shift_back
from seine.network.plan.strategy import Strategy
from seine.network.site.placing import BlockRows, Placer, port_of
from seine.operators.limited.limited_join import LimitedNode, limited_signature
from seine.optimizer.block import Block
from seine.optimizer.equalities import is_equality, one_type


def star_of(block: Block) -> Star:
    """The star of a block of streams and relations; its ports are its streams, in their order."""
    builder = _Builder(block)
    streams = [number for number, item in enumerate(block.items) if isinstance(item, Scan)]
    everything = frozenset(range(len(block.items)))
    probe_orders = tuple(tuple(builder.probe_order(number, everything)) for number in streams)
    filters = tuple(tuple(builder.filters(number)) for number in streams)
    return Star(tuple(_items(block)), probe_orders, tuple(builder.edges(streams)), filters)


def _items(block: Block) -> Iterator[StarItem]:
    ports = 0
    for item, start in zip(block.items, block.offsets, strict=False):
        types = tuple(field.type for field in item.schema)
        if isinstance(item, Scan):
            yield StarItem(
                start, types, port=ports, window=item.stream.window, importance=item.stream.importance
            )
            ports += 1
        else:
            yield StarItem(start, types, relation=_relation(item), until=_until(item))


def _relation(item: Plan) -> str:
    if not isinstance(item, Lookup):
        raise SeineError(
            "a join that is limited by memory has an input that is too involved", hint="split it"
        )
    return item.relation.name


def _until(item: Plan) -> int | None:
    assert isinstance(item, Lookup)
    return None if item.relation.valid is None else item.relation.valid[1]


@dataclass(frozen=True)
class _Equality:
    """Two expressions over one item each, as one type, that must be equal."""

    sides: tuple[tuple[int, Expression], tuple[int, Expression]]
    condition: int

    def towards(self, item: int) -> Iterator[tuple[int, Expression, Expression]]:
        """From where an item can be reached by it: the other item, its side, and the item's own side."""
        for (one, theirs), (other, ours) in (self.sides, self.sides[::-1]):
            if other == item:
                yield one, theirs, ours


class _Builder:
    def __init__(self, block: Block) -> None:
        self._block = block

    @cached_property
    def _equalities(self) -> list[_Equality]:
        equalities = []
        for number, (part, reads) in enumerate(zip(self._block.conditions, self._block.reads, strict=True)):
            if is_equality(part) and len(reads) == 2:
                sides = [self._block.items_of(side) for side in part.args]
                if all(len(side) == 1 for side in sides):
                    (left,), (right,) = sides
                    one, other = one_type(*part.args)
                    equalities.append(_Equality(((left, one), (right, other)), number))
        return equalities

    # ---- probing

    def probe_order(self, first: int, among: frozenset[int]) -> Iterator[Probe]:
        """How the others join an item, one after the other: first those that an equality connects."""
        bound, checked = {first}, set[int]()
        rest = [item for item in range(len(self._block.items)) if item in among and item != first]
        while rest:
            item = next((item for item in rest if self._keys(bound, item)), rest[0])
            rest.remove(item)
            keys = self._keys(bound, item)
            bound.add(item)
            ready = [
                number
                for number, reads in enumerate(self._block.reads)
                if number not in checked and reads <= bound
            ]
            checked.update(ready)
            yield Probe(
                item,
                tuple(theirs for theirs, _ in keys),
                tuple(self._over_item(item, ours) for _, ours in keys),
                tuple(self._block.conditions[number] for number in ready),
            )

    def _keys(self, bound: set[int], item: int) -> list[tuple[Expression, Expression]]:
        keys = [
            (theirs, ours)
            for equality in self._equalities
            for one, theirs, ours in equality.towards(item)
            if one in bound
        ]
        return list(dict.fromkeys(keys))

    def _over_item(self, item: int, expression: Expression) -> Expression:
        start = self._block.offsets[item]
        return shift_columns(expression, lambda index: index - start)

    # ---- what makes tuples match

    def edges(self, streams: Sequence[int]) -> Iterator[StarEdge]:
        """One edge for each set of streams that keys or relations have in common.

        A stream that nothing connects matches whatever there is: an edge of all streams says so.
        """
        keys = _by_streams((tuple(one), one) for one in self._shared_keys())
        relations = _by_streams((self._streams_at(group), group) for group in self._relation_groups())
        sets = sorted(joined for joined in {*keys, *relations} if len(joined) > 1)
        if {stream for joined in sets for stream in joined} != {*streams}:
            sets.append(tuple(streams))
        for joined in dict.fromkeys(sets):
            through = frozenset(relation for group in relations.get(joined, ()) for relation in group)
            yield StarEdge(
                tuple(streams.index(stream) for stream in joined),
                tuple(
                    tuple(self._over_item(stream, one[stream]) for one in keys.get(joined, ()))
                    for stream in joined
                ),
                tuple(tuple(self.probe_order(stream, through)) for stream in joined),
            )

    def filters(self, stream: int) -> Iterator[tuple[Probe, ...]]:
        """The relations that no other stream joins: a tuple that finds nothing there makes no result."""
        for group in self._relation_groups():
            if self._streams_at(group) == (stream,):
                yield tuple(self.probe_order(stream, frozenset(group)))

    def _shared_keys(self) -> list[dict[int, Expression]]:
        """Expressions over streams that must all be equal, by stream."""
        classes: list[dict[tuple[int, Expression], None]] = []
        for equality in self._equalities:
            if all(isinstance(self._block.items[item], Scan) for item, _ in equality.sides):
                touched = [one for one in classes if any(side in one for side in equality.sides)]
                merged = dict.fromkeys([*(side for one in touched for side in one), *equality.sides])
                classes = [*(one for one in classes if one not in touched), merged]
        return [dict(reversed(one)) for one in classes]

    def _relation_groups(self) -> list[tuple[int, ...]]:
        """Relations that equalities connect, directly or through each other."""
        groups: list[tuple[int, ...]] = []
        for item, plan in enumerate(self._block.items):
            if isinstance(plan, Lookup):
                touched = [group for group in groups if self._keys({*group}, item)]
                merged = tuple(sorted([*(one for group in touched for one in group), item]))
                groups = [*(group for group in groups if group not in touched), merged]
        return groups

    def _streams_at(self, group: Sequence[int]) -> tuple[int, ...]:
        """The streams that equalities connect with a group of relations."""
        return tuple(
            item
            for item, plan in enumerate(self._block.items)
            if isinstance(plan, Scan) and any(self._keys({relation}, item) for relation in group)
        )


Group = TypeVar("Group")


def _by_streams(groups: Iterable[tuple[tuple[int, ...], Group]]) -> dict[tuple[int, ...], list[Group]]:
    by_streams: dict[tuple[int, ...], list[Group]] = {}
    for streams, group in groups:
        by_streams.setdefault(tuple(sorted(streams)), []).append(group)
    return by_streams


def place_limited(placer: Placer, prefilters: Prefilters, block: Block, memory: MemoryLimit) -> BlockRows:
    """The rows of a block that is joined within a memory.

    What its prefilters keep out takes no memory, so they ask the same, whatever the strategy.
    """
    star, owner = star_of(block), placer.join_owner
    scans = [
        (item, start)
        for item, start in zip(block.items, block.offsets, strict=False)
        if isinstance(item, Scan)
    ]
    sources = [place_stream(placer, scan.stream) for scan, _ in scans]
    identity = limited_signature(tuple(source.id for source in sources), star, memory, owner)
    node = placer.site.find(identity)
    if node is None:
        ports = tuple(port_of(prefilters.new(source)) for source in sources)
        types = [type_ for item in star.items for type_ in item.types]
        streams = [scan.stream.name for scan, _ in scans]
        common = placer.common(types, streams, streams, 0, 1, out=(), owner=owner)
        node = placer.site.insert(LimitedNode(ports=ports, star=star, memory=memory, **common), identity)
    conditions = Conditions(block.conditions, Strategy())
    for port, (scan, start) in zip(node.ports, scans, strict=True):
        stream_conditions = conditions.necessary(start, start + len(scan.schema))
        placer.claim_node(port.node)
        placer.claim_filter(port.node, shift_back(stream_conditions, start))
    placer.claim_node(node.id)
    placer.claim_columns(node.id, set().union(*map(columns_of, block.outputs)))
    return BlockRows(placer.site.nodes[node.id], (), (), block.outputs)
