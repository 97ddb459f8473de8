"""Keyword searches in the network: their terms, scopes and themselves are rows of tables of shared nodes.

    SEARCH 'tarantino travolta' OVER (movie, plays, actor)

    watch   terms   "tarantino" -> 3, "travolta" -> 5      scopes  ["actor", "movie", "plays"]
    search  (tag 17, terms 3 5, MAX 4, that scope, birth)
    deliver tag = 17

A scope is a set of tables that searches are over, kept once for all searches that have it:

    SEARCH 'a b' OVER (movie, plays)     scope ["movie", "plays"]
    SEARCH 'c d'                         scope of all tables, which follows the schema

A search claims its scope, a row of a table of the `WatchNode`; the scope claims the streams, under the name
of nobody. So a search costs the same whatever it is over, and no change of the schema looks at searches.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.document_plan import is_published
from seine.algebra.expressions import Literal
from seine.algebra.search_plan import SchemaGraph, Search
from seine.algebra.types import BIGINT, JSON, STRING, Kind
from seine.graph.node import Node, Port, Signature
from seine.graph.snapshot import Claim, NodeClaim, TagIdentity, claimed_nodes
from seine.network.groups.pipeline_breakers import BreakerRows
from seine.network.joins.join_placing import place_stream
from seine.network.plan.running_plan import with_arrival
from seine.network.plan.strategy import Strategy
from seine.network.searches.schema_change import SchemaChange, ends_of, gone_tables
from seine.network.site.node_memo import NodeMemo
from seine.network.site.placing import UNPLACED, Placer, port_of
from seine.operators.search.keyword_search import SearchNode, search_signature
from seine.operators.search.searches import SearchRow, TableScope
from seine.operators.search.spot import SpotNode, spot_signature
from seine.operators.search.watch import WatchNode, term_code, watch_signature
from seine.operators.search.watched_schema import TUPLE_TYPES, WatchedEdge, WatchedTable

NOBODY = ""  # the name under which streams are claimed; no query has it
_MARK = "\0search "  # what the names of scopes begin with, among those of streams


def scope_name(watch: int, scope: str) -> str:
    return f"{_MARK}{watch} {scope}"


class SearchScopes:
    """The scopes of a network; `claims` are what they claim, by name, beside claims of others."""

    def __init__(
        self, site: NodeMemo, claims: dict[str, list[Claim]], strategy: Strategy, live: bool
    ) -> None:
        self._site, self._claims, self._strategy, self.live = site, claims, strategy, live
        self.touched: list[str] = []
        self._undone: dict[str, list[Claim] | None] = {}  # claims of scopes before a query entered

    def enter(self, watch: WatchNode, scope: str, graph: SchemaGraph, epoch: int = 0) -> WatchNode:
        """The node with the tables and edges of a scope, from an epoch on."""
        name = scope_name(watch.id, scope)
        before, fresh = self._claims.get(name), graph.streams
        if before is not None:
            fresh = self._lacking(before, TableScope.of(scope), graph)
            if not fresh:
                return watch
        self._undone.setdefault(name, before)
        placer = Placer(self._site, NOBODY, self._strategy)
        placed = {stream.name: (stream, self._placed(placer, stream)) for stream in fresh}
        self._claims[name] = [*(before or ()), *placer.claims]
        self.touched.append(name)
        members = [member for member in watch.members if member.name not in placed]
        ports = [port for port, member in _with_ports(watch) if member.name not in placed]
        known = {member.name: member for member in watch.members}
        for stream, node in placed.values():
            members.append(known.get(stream.name) or self._member(stream))
            ports.append(port_of(node))
        stored = {relation.name: relation for relation in watch.relations}
        for relation in graph.relations:
            if relation.name not in stored:
                stored[relation.name] = self._relation(relation)
        watch = self._site.connect(watch, relations=tuple(stored.values()))
        return self._refit(watch, members, ports, self._edges(watch, graph, epoch))

    def _lacking(
        self, claims: Sequence[Claim], scope: TableScope, graph: SchemaGraph
    ) -> tuple[StreamDef, ...]:
        """The streams of a graph that its scope has not claimed: some without a window that came again."""
        if not (scope.follows_schema and scope.names):  # very many searches: they know by their scope
            return ()
        claimed = {self._site.nodes[node].streams[0] for node in claimed_nodes(claims)}
        return tuple(stream for stream in graph.streams if stream.name not in claimed)

    def leave(self) -> list[Node]:
        """Free the scopes that no search has any more; the nodes that are gone with them."""
        freed: list[Node] = []
        for name in [name for name in self._claims if name.startswith(_MARK)]:
            number, _, scope = name.removeprefix(_MARK).partition(" ")
            watch = self._site.nodes.get(int(number))
            if isinstance(watch, WatchNode) and self._site.tables[watch.scopes].holds((scope,)):
                continue
            gone = self._claims.pop(name)
            self.touched.append(name)
            if isinstance(watch, WatchNode):
                self._withdraw(watch)
            freed += self._site.release(gone, NOBODY)
        return freed

    def follow(self, change: SchemaChange) -> list[Node]:
        """Let all scopes have the tables and edges that are declared now; the nodes that are gone."""
        return [node for number in self._watches() for node in self._follow(number, change)]

    def _watches(self) -> list[int]:
        return sorted({number for number, _ in self._entered()})

    def _entered(self) -> list[tuple[int, str]]:
        """All scopes: the node that each is a row of, and its text."""
        marked = [name.removeprefix(_MARK) for name in self._claims if name.startswith(_MARK)]
        parts = [name.partition(" ") for name in marked]
        return [(int(number), text) for number, _, text in parts]

    @property
    def relations(self) -> set[str]:
        """The relations that are searched."""
        watches = [self._site.nodes[number] for number in self._watches()]
        return {one.name for watch in watches if isinstance(watch, WatchNode) for one in watch.relations}

    @property
    def follows(self) -> bool:
        """Whether there are searches that follow the schema."""
        return any(TableScope.of(text).follows_schema for _, text in self._entered())

    def _follow(self, number: int, change: SchemaChange) -> list[Node]:
        watch = self._site.nodes[number]
        assert isinstance(watch, WatchNode)
        gone: list[Claim] = []
        front = f"{_MARK}{number} "
        scopes = [name.removeprefix(front) for name in self._claims if name.startswith(front)]
        for scope in scopes:
            gone += self._adapt(watch, scope, change)
        placed = self._standing(watch, change.streams)
        stored = self._stored(watch, scopes, change)
        tables = {table.name: table.types for table in stored} | {
            name: change.streams[name].types for name in placed
        }
        deleting = [name for name in placed if change.streams[name].retractable]
        now = change.edges_after(watch.edges, tables, deleting, self._site.take_id)
        left = {end for edge in now if not edge.stands for end in (edge.left, edge.right)}
        late = [one for one in watch.relations if one.name in left - change.relations.keys()]
        members = [member for member, _ in placed.values()]
        past = [one for one in (*watch.gone, *watch.members) if one not in members]
        after = {"relations": (*stored, *late), "gone": tuple(gone_tables(past, now))}
        known = (watch.members, watch.edges, watch.relations, watch.gone)
        if (tuple(members), tuple(now), *after.values()) != known:
            self.touched.append(f"{front}{scopes[0]}")
            watch = self._site.connect(watch, **after)
            self._refit(watch, members, [port_of(node) for _, node in placed.values()], now)
        return self._site.release(gone, NOBODY)

    def _stored(self, watch: WatchNode, scopes: Sequence[str], change: SchemaChange) -> list[WatchedTable]:
        """The relations of scopes that are declared now; one without an edge joins nothing."""
        joined, known = change.joined, {relation.name: relation for relation in watch.relations}
        over = [TableScope.of(scope) for scope in scopes]
        return [
            known.get(relation.name) or self._relation(relation)
            for relation in change.relations.values()
            if relation.name in joined
            and any(scope.takes(relation.name, lasting=False) for scope in over)
            and relation.domain in (None, watch.domain)
            and not relation.followed
        ]

    def _adapt(self, watch: WatchNode, scope: str, change: SchemaChange) -> list[Claim]:
        """Claim the streams of a scope that are declared now; the claims on others are to be released."""
        name = scope_name(watch.id, scope)
        claimed = [self._site.nodes[node].streams[0] for node in claimed_nodes(self._claims[name])]
        wanted = self._wanted(watch, TableScope.of(scope), change, claimed)
        standing = {member.name: member for member in watch.members}
        stay, gone, known = list[Claim](), list[Claim](), set[str]()
        for claim in self._claims[name]:
            assert isinstance(claim, NodeClaim)
            stream = self._site.nodes[claim.node].streams[0]
            same = stream in wanted and stream in standing and self._is_same(standing[stream], wanted[stream])
            (stay if same else gone).append(claim)
            known |= {stream} if same else set()
        if not gone and known == {*wanted}:
            return []
        placer = Placer(self._site, NOBODY, self._strategy)
        for definition in wanted.values():
            if definition.name not in known:
                self._placed(placer, definition)
        self._claims[name] = [*stay, *placer.claims]
        self.touched.append(name)
        return gone

    @staticmethod
    def _wanted(
        watch: WatchNode, scope: TableScope, change: SchemaChange, claimed: Collection[str]
    ) -> dict[str, StreamDef]:
        """The streams of a scope, which has `claimed` some; one that comes later enters if it has a window.

        Also one without a STRING column, and before it has an edge: what arrives now may be joined then.
        """
        streams = change.streams
        if not scope.follows_schema:
            return {name: streams[name] for name in sorted(scope.names) if name in streams}
        joined = change.joined
        return {
            name: stream
            for name, stream in streams.items()
            if stream.domain == watch.domain
            and scope.takes(name, lasting=stream.window is None)
            and (stream.window is not None or name in claimed)
            and (name in joined or may_be_joined(stream))
        }

    @staticmethod
    def _is_same(member: WatchedTable, stream: StreamDef) -> bool:
        names = tuple(field.name for field in stream.declared)
        types = tuple(field.type for field in stream.declared)
        return (member.names, member.types, member.window) == (names, types, stream.window)

    def _standing(
        self, watch: WatchNode, streams: Mapping[str, StreamDef]
    ) -> dict[str, tuple[WatchedTable, Node]]:
        """The streams that scopes of a node claim: each as a member, and the node that gives its tuples."""
        front = f"{_MARK}{watch.id} "
        known = {member.name: member for member in watch.members}
        claims = [claim for name, one in self._claims.items() if name.startswith(front) for claim in one]
        nodes = {node.streams[0]: node for node in (self._site.nodes[i] for i in claimed_nodes(claims))}
        placed = {}
        for name, node in nodes.items():  # of a stream with deletions the last claim is the resolve node's
            member = known.get(name)
            if member is None or not self._is_same(member, streams[name]):
                member = self._member(streams[name])
            placed[name] = (member, node)
        return placed

    def undo(self) -> None:
        """Forget what scopes have claimed for a query that is refused."""
        for name, claims in self._undone.items():
            if claims is None:
                self._claims.pop(name, None)
            else:
                self._claims[name] = claims

    def _withdraw(self, watch: WatchNode) -> None:
        """Take out the tables that no scope of a node has any more."""
        front = f"{_MARK}{watch.id} "
        kept = {
            node
            for name, claims in self._claims.items()
            if name.startswith(front)
            for node in claimed_nodes(claims)
        }
        pairs = [(port, member) for port, member in _with_ports(watch) if port.node in kept]
        others = {table.name for table in (*watch.relations, *watch.gone)}
        names = others | {member.name for _, member in pairs}
        edges = [edge for edge in watch.edges if {edge.left, edge.right} <= names]
        watch = self._site.connect(watch, gone=tuple(gone_tables(watch.gone, edges)))
        self._refit(watch, [member for _, member in pairs], [port for port, _ in pairs], edges)

    def _placed(self, placer: Placer, stream: StreamDef) -> Node:
        return place_stream(placer, with_arrival(stream) if self.live else stream)

    def _member(self, stream: StreamDef) -> WatchedTable:
        fields = stream.declared
        return WatchedTable(
            self._site.take_id(),
            stream.name,
            tuple(field.name for field in fields),
            tuple(field.type for field in fields),
            stream.window,
            stream.retractable,
            len(stream.fields) if self.live else None,
        )

    def _relation(self, relation: RelationDef) -> WatchedTable:
        names = tuple(field.name for field in relation.fields)
        number = self._site.take_id()
        return WatchedTable(number, relation.name, names, relation.types, valid=relation.valid)

    def _edges(self, watch: WatchNode, graph: SchemaGraph, epoch: int) -> list[WatchedEdge]:
        """The edges of a node, and those of a graph that it lacks."""
        known = {ends_of(edge) for edge in watch.edges if edge.stands}
        fresh = [edge for edge in graph.edges if ends_of(edge) not in known]
        return [
            *watch.edges,
            *(
                WatchedEdge(self._site.take_id(), *ends_of(edge), graph.key_type(edge), epoch)
                for edge in fresh
            ),
        ]

    def _refit(
        self,
        watch: WatchNode,
        members: Sequence[WatchedTable],
        ports: Sequence[Port],
        edges: Sequence[WatchedEdge],
    ) -> WatchNode:
        """A node with other tables and edges; nodes above it learn of them."""
        below = [self._site.nodes[port.node] for port in ports]
        streams = tuple(sorted({name for node in below for name in node.streams}))
        hold = tuple(sorted({name for node in below for name in node.hold}))
        changed = self._site.connect(
            watch, members=tuple(members), ports=tuple(ports), edges=tuple(edges), streams=streams, hold=hold
        )
        for node in _above(self._site.nodes, watch.id):
            over = tuple(replace(port, streams=streams) for port in node.ports)
            more = {"schema": self._site.next_id} if isinstance(node, SearchNode | SpotNode) else {}
            waits_for_all = bool(node.streams) and node.hold == node.streams
            held = streams if waits_for_all else hold
            self._site.connect(node, ports=over, streams=streams, hold=held, **more)
        return changed


def may_be_joined(stream: StreamDef) -> bool:
    """Whether a stream has words, or a column besides its time that an edge may have one day."""
    others = [field.type.kind for at, field in enumerate(stream.declared) if at != stream.time]
    return not is_published(stream) and any(kind is not Kind.XML for kind in others)


def _with_ports(watch: WatchNode) -> Iterator[tuple[Port, WatchedTable]]:
    return zip(watch.ports, watch.members, strict=True)


def _above(nodes: Mapping[int, Node], bottom: int) -> list[Node]:
    """The nodes that read a node, directly or by way of others."""
    above: list[Node] = []
    waiting = [bottom]
    while waiting:
        below = waiting.pop()
        readers = [node for node in nodes.values() if below in node.inputs]
        above += readers
        waiting += [node.id for node in readers]
    return above


RECORD_TYPES = (BIGINT, JSON, JSON, JSON)
_EVERYWHERE = (Literal(0, BIGINT),)  # the key of rows that go to all buckets
Reader = TypeVar("Reader", SearchNode, SpotNode)


def place_search(placer: Placer, scopes: SearchScopes, plan: Search, birth_epoch: int) -> BreakerRows:
    """The trees of a search: rows with its tag."""
    watch = _watch(placer, plan, scopes.live)
    scope = _scope(plan).text
    placer.claim_row(watch.scopes, [Literal(scope, STRING)])
    watch = scopes.enter(watch, scope, plan.graph, birth_epoch)
    numbers = []
    for term in plan.terms:
        claim = placer.site.claim_row(watch.terms, [Literal(term_code(term), STRING)], placer.query)
        placer.claims.append(claim)
        numbers.append(claim.number)
    node = _spot(placer, watch) if plan.of_single_tuples else _search(placer, watch)
    texts = json.dumps([term.text for term in plan.terms], ensure_ascii=False)
    row = SearchRow(UNPLACED, tuple(numbers), texts, plan.max_tuples, scope, birth_epoch)
    identity = TagIdentity(node.id, (tuple(map(str, row.constants())),))
    tag = placer.claim_tag(identity)
    placer.claim_row(node.searches, replace(row, tag=tag).constants())
    return BreakerRows(node, tag, tuple(range(1, len(node.types))))


def _scope(plan: Search) -> TableScope:
    if plan.fixed:
        return TableScope.over(plan.graph.tables)
    return TableScope.everything(stream.name for stream in plan.streams if stream.window is None)


def _watch(placer: Placer, plan: Search, live: bool) -> WatchNode:
    """The watch of a time domain; in a live network streams with deletions may join it at any time."""
    retracting = live or any(stream.retractable for stream in plan.streams)
    identity = watch_signature(plan.graph.domain, retracting, placer.owner)
    node = placer.site.find(identity)
    if node is None:
        common = placer.common(TUPLE_TYPES, (), (), int(retracting), int(retracting))
        node = placer.site.insert(WatchNode(ports=(), domain=plan.graph.domain, **common), identity)
        tables = [placer.site.add_table(node.id, [Literal("", STRING)]) for _ in range(2)]
        node = placer.site.connect(node, terms=tables[0], scopes=tables[1])
    assert isinstance(node, WatchNode)
    placer.claim_node(node.id)
    return node


def _search(placer: Placer, watch: WatchNode) -> SearchNode:
    port = Port(watch.id, watch.types, watch.streams, watch.identities, _EVERYWHERE, broadcast=True)
    return _reader(placer, watch, SearchNode, port, search_signature(watch.id), watch.stage + 1)


def _spot(placer: Placer, watch: WatchNode) -> SpotNode:
    port = Port(watch.id, watch.types, watch.streams, watch.identities)
    return _reader(placer, watch, SpotNode, port, spot_signature(watch.id), watch.stage)


def _reader(
    placer: Placer, watch: WatchNode, cls: type[Reader], port: Port, identity: Signature, stage: int
) -> Reader:
    """The one node of a kind that reads the tuples of a watch, with its table of searches."""
    node = placer.site.find(identity)
    if node is None:
        common = placer.common(RECORD_TYPES, watch.streams, watch.hold, watch.identities, stage)
        node = placer.site.insert(cls(ports=(port,), searches=0, **common), identity)
        node = placer.site.connect(node, searches=_table(placer, node.id))
    assert isinstance(node, cls)
    placer.claim_node(node.id)
    return node


def _table(placer: Placer, node: int) -> int:
    """A table of searches for a node."""
    return placer.site.add_table(node, SearchRow(0, (), "", 0, "", 0).constants())
