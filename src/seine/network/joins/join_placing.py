"""Placing binary joins and lookups in relations, with their prefilters, punctuations and filters.

Prefilters: selections in front of a join or lookup that keep out what no query can use there.

Cites: ARGUS 4 (conditional materialisation)

Placing a stream: its source, and the resolve node if its tuples may be deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from seine.algebra.definitions import StreamDef
from seine.algebra.document_plan import is_published
from seine.algebra.expressions import Column, Expression, conjunction
from seine.algebra.plan import Lookup, Plan, Query, Scan, walk
from seine.errors import SeineError
from seine.graph.node import Node
from seine.network.joins.join_punctuations import (
    HeardScheme,
    Punctuating,
    claim_punctuations,
    open_generation,
    promises_of,
    punctuating_stream,
    punctuations_of,
)
from seine.network.joins.join_sharing import JoinStep
from seine.network.joins.key_search import JoinKeys
from seine.network.joins.rising_rows import NO_FACTS, SideFacts
from seine.network.plan.block_conditions import Conditions, shift_back
from seine.network.plan.strategy import Strategy
from seine.network.site.placing import Placer, port_of
from seine.operators.documents.publish import publish_signature
from seine.operators.join.join import JoinNode, join_signature
from seine.operators.join.lookup import LookupNode, lookup_signature
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.stream.resolve import ResolveNode
from seine.operators.stream.source import SourceNode, source_signature
from seine.optimizer.estimates import Estimates


class JoinPlacer:
    """Places the joins of one query."""

    def __init__(self, placer: Placer, prefilters: Prefilters, query: Query, strategy: Strategy) -> None:
        self._placer = placer
        self._prefilters = prefilters
        self._query = query
        self._strategy = strategy

    @cached_property
    def _streams(self) -> dict[str, StreamDef]:
        return streams_of(self._query.plan)

    def join(
        self,
        left: Node,
        right: Node,
        step: JoinStep,
        conditions: Conditions,
        before: Sequence[int],
        decided: Sequence[int],
        facts: SideFacts = NO_FACTS,
        heard: Sequence[HeardScheme] = (),
    ) -> JoinNode:
        """Pairs of the rows of two nodes, by the join that exists if there is one.

        `before` are the conjuncts that keys of joins below have decided; `decided` has those of its own, too.
        `facts` about its sides follow from its inputs and keys, so a join that stands has the same. Somebody
        listens to the `heard` punctuations that it derives.
        """
        site, keys, generation = self._placer.site, step.keys, 0
        existing = None if step.existing is None or heard else site.nodes[step.existing]
        if heard:
            at = (left.id, right.id, keys.left, keys.right, self._placer.join_owner, False)
            generation = open_generation(self._placer, lambda n: site.find(join_signature(*at, n)), heard)
        return self._placed(
            (left, right), keys, conditions, before, decided, (), generation, 0, existing, facts
        )

    def join_parts(
        self,
        sides: tuple[Node, Node],
        keys: JoinKeys,
        conditions: Conditions,
        before: Sequence[int],
        decided: Sequence[int],
        derived: Sequence[Punctuating],
        generation: int,
        first: int,
    ) -> JoinNode:
        """Pairs of the rows of two parts of a tree, which begin at the column `first` of the whole row; it
        listens to `derived` punctuations.
        """
        return self._placed(sides, keys, conditions, before, decided, derived, generation, first, None)

    def _placed(
        self,
        sides: tuple[Node, Node],
        keys: JoinKeys,
        conditions: Conditions,
        before: Sequence[int],
        decided: Sequence[int],
        derived: Sequence[Punctuating],
        generation: int,
        first: int,
        existing: Node | None,
        facts: SideFacts = NO_FACTS,
    ) -> JoinNode:
        left, right = sides
        owner = self._placer.join_owner
        identity = join_signature(left.id, right.id, keys.left, keys.right, owner, bool(derived), generation)
        join = existing or self._placer.site.find(identity)
        if join is None:
            candidate = self._candidate(sides, keys, derived, generation, facts)
            join = self._placer.site.insert(candidate, identity)
        else:
            claim_punctuations(self._placer, join.inputs[2:])
        assert isinstance(join, JoinNode)
        middle, end = first + len(left.types), first + len(left.types) + len(right.types)
        self._prefilters.claim(join, 0, shift_back(conditions.necessary(first, middle, before), first))
        self._prefilters.claim(join, 1, shift_back(conditions.necessary(middle, end, before), middle))
        self._placer.claim_node(join.id)
        self._placer.claim_filter(join.id, shift_back(conditions.necessary(first, end, decided), first))
        return join

    def _candidate(
        self,
        sides: tuple[Node, Node],
        keys: JoinKeys,
        derived: Sequence[Punctuating],
        generation: int,
        facts: SideFacts,
    ) -> JoinNode:
        left, right = sides
        both = (keys.left, keys.right)
        common = self._placer.common(
            left.types + right.types,
            left.streams + right.streams,
            left.hold + right.hold,
            left.identities + right.identities,
            max(left.stage, right.stage) + 1,
            out=(),
            owner=self._placer.join_owner,
        )
        prefilters = [*map(self._prefilters.new, sides)]
        punctuations = [*derived, *punctuations_of(self._placer, self._streams, sides, both)]
        punctuators = (0, 0)
        if left.hold or right.hold:
            punctuations, punctuators = promises_of(self._placer, facts, sides, both)
        ports = [port_of(prefilter, key) for prefilter, key in zip(prefilters, both, strict=True)]
        return JoinNode(
            ports=(*ports, *(port for port, _ in punctuations)),
            filters=(),
            purges=tuple(purge for _, purge in punctuations),
            lazy=self._strategy.lazy,
            purge_batch=self._strategy.purge_batch,
            times=(self._time(left), self._time(right)),
            generation=generation,
            rising=facts.rising,
            punctuators=punctuators,
            **common,
        )

    def lookup(
        self,
        left: Node,
        item: Lookup,
        step: JoinStep,
        conditions: Conditions,
        before: Sequence[int],
        decided: Sequence[int],
    ) -> Node:
        """Rows of a node, each with the tuples of a relation that it meets."""
        relation, keys = item.relation, step.keys
        identity = lookup_signature(left.id, relation.name, keys.left, keys.right, self._placer.join_owner)
        node = self._placer.site.find(identity)
        if node is None:
            candidate = LookupNode(
                ports=(port_of(self._prefilters.new(left)),),
                filters=(),
                relation=relation.name,
                relation_types=relation.types,
                row_key=keys.left,
                relation_key=keys.right,
                **self._placer.common(
                    left.types + relation.types,
                    left.streams,
                    left.hold,
                    left.identities,
                    left.stage,
                    out=(),
                    owner=self._placer.join_owner,
                ),
            )
            node = self._placer.site.insert(candidate, identity)
        width = len(left.types)
        end = width + len(relation.types)
        self._prefilters.claim(node, 0, conditions.necessary(0, width, before))
        self._placer.claim_node(node.id)
        self._placer.claim_filter(node.id, conditions.necessary(0, end, decided))
        return node

    def _time(self, node: Node) -> int | None:
        """Where the start of a row is, if it is that of one tuple."""
        stream = punctuating_stream(self._placer, node)
        return None if stream is None else self._streams[stream].time


class Prefilters:
    """Places the prefilters of one query."""

    def __init__(self, placer: Placer, strategy: Strategy, estimates: Estimates | None) -> None:
        self._placer = placer
        self._site = placer.site
        self._strategy = strategy
        self._estimates = estimates

    def new(self, node: Node) -> PrefilterNode:
        """A prefilter for the rows of a node."""
        return self._site.insert(
            PrefilterNode(ports=(port_of(node),), filters=(), **self._placer.like(node)), None
        )

    def claim(self, join: Node, port: int, conditions: Sequence[Expression]) -> None:
        """Let what satisfies these conditions come to a port of a join."""
        prefilter = join.ports[port].node
        self._placer.claim_node(prefilter)
        below = self._site.nodes[self._site.beneath_prefilter(join, port)]
        self._placer.claim_filter(prefilter, conditions if self._is_selective(below, conditions) else ())

    def _is_selective(self, node: Node, conditions: Sequence[Expression]) -> bool:
        """Whether conditions on a stream keep out enough to be asked before a join asks them of pairs."""
        if self._estimates is None or not isinstance(node, SourceNode):
            return True
        whole = conjunction(list(conditions)) if node.stream in self._estimates.samples else None
        if whole is None:
            return True
        return self._estimates.selectivity(node.stream, whole) <= self._strategy.materialise


def streams_of(plan: Plan) -> dict[str, StreamDef]:
    """The streams that a plan reads, by name."""
    return {scan.stream.name: scan.stream for scan in walk(plan) if isinstance(scan, Scan)}


def place_stream(placer: Placer, stream: StreamDef) -> Node:
    """The tuples of a stream, those that were deleted apart."""
    if is_published(stream):
        return _place_published(placer, stream)
    hold = (stream.name,) if stream.retractable else ()
    columns = len(stream.fields) - (stream.arrival is not None)
    source = _standing(placer, stream, columns)
    if source is None:
        common = placer.common(stream.types, (stream.name,), hold, 0, 0, owner="")
        source = _placed(placer, SourceNode(ports=(), stream=stream.name, columns=columns, **common))
    if not stream.retractable:
        return source
    # Neither its time nor its arrival makes a tuple another one.
    alike = tuple(
        Column(index, type_)
        for index, type_ in enumerate(stream.types)
        if index not in (stream.time, stream.arrival)
    )
    return _placed(
        placer,
        ResolveNode(
            ports=(port_of(source, alike),),
            stream=stream.name,
            window=stream.window,
            **placer.common(stream.types, source.streams, source.hold, 1, 1, owner=placer.resolve_owner),
        ),
    )


def _place_published(placer: Placer, stream: StreamDef) -> Node:
    """What a query publishes; its reader claims all that makes it, so that it stands while it is read."""
    node = placer.site.find(publish_signature(stream.name))
    if node is None:
        raise SeineError(f"nobody publishes stream {stream.name!r}", hint="create its publisher first")
    waiting = [node.id]
    while waiting:
        placer.claim_node(waiting[-1])
        waiting += placer.site.nodes[waiting.pop()].inputs
    return node


def _standing(placer: Placer, stream: StreamDef, columns: int) -> Node | None:
    """The source of a stream that is there already, claimed."""
    node = placer.site.find(source_signature(stream.name, columns))
    if node is not None:
        placer.claim_node(node.id)
    return node


def _placed(placer: Placer, candidate: SourceNode | ResolveNode) -> Node:
    identity = candidate.signature(placer.site)
    assert identity is not None
    return placer.find_or_insert(candidate, identity)
