"""Scopes: the sets of tables that searches are over, each kept in the network once for all searches that
have it.

    SEARCH 'a b' OVER (movie, plays)     scope ["movie", "plays"]
    SEARCH 'c d'                         scope of all tables, which follows the schema

A search claims its scope, a row of a table of the `WatchNode`; the scope claims the streams, under the name
of nobody. So a search costs the same whatever it is over, and no change of the schema looks at searches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.functions import common_type
from seine.algebra.search_plan import SchemaGraph
from seine.algebra.types import STRING, Type
from seine.graph.claims import Claim, NodeClaim, claimed_nodes
from seine.graph.node import Node, Port
from seine.network.joins.stream_placing import place_stream
from seine.network.plan.birth import with_arrival
from seine.network.plan.strategy import Strategy
from seine.network.site.node_memo import NodeMemo
from seine.network.site.placing import Placer, port_of
from seine.operators.search.search_node import SearchNode
from seine.operators.search.searches import ALL_TABLES, names_in
from seine.operators.search.spot_node import SpotNode
from seine.operators.search.watch_node import WatchNode
from seine.operators.search.watched_schema import WatchedEdge, WatchedTable

NOBODY = ""  # the name under which streams are claimed; no query has it
_MARK = "\0search "  # what the names of scopes begin with, among those of streams


def scope_name(watch: int, scope: str) -> str:
    return f"{_MARK}{watch} {scope}"


class SearchScopes:
    """The scopes of a network; `claims` are what they claim, by name, beside claims of others."""

    def __init__(
        self, site: NodeMemo, claims: dict[str, list[Claim]], strategy: Strategy, live: bool
    ) -> None:
        self._site, self._claims, self._strategy, self._live = site, claims, strategy, live
        self.touched: list[str] = []

    def enter(self, watch: WatchNode, scope: str, graph: SchemaGraph) -> WatchNode:
        """The node with the tables and edges of a scope."""
        name = scope_name(watch.id, scope)
        if name in self._claims:
            return watch
        placer = Placer(self._site, NOBODY, self._strategy)
        placed = {stream.name: (stream, self._placed(placer, stream)) for stream in graph.streams}
        self._claims[name] = placer.claims
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
        return self._refit(watch, members, ports, self._edges(watch, graph))

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

    def follow(self, streams: Mapping[str, StreamDef], edges: Sequence[JoinEdge]) -> list[Node]:
        """Let all scopes have the streams and edges that are declared now; the nodes that are gone."""
        watches = {
            int(name.removeprefix(_MARK).partition(" ")[0]) for name in self._claims if name.startswith(_MARK)
        }
        return [node for number in sorted(watches) for node in self._follow(number, streams, edges)]

    def _follow(self, number: int, streams: Mapping[str, StreamDef], edges: Sequence[JoinEdge]) -> list[Node]:
        watch = self._site.nodes[number]
        assert isinstance(watch, WatchNode)
        before = (watch.members, watch.edges)
        gone: list[Claim] = []
        front = f"{_MARK}{number} "
        for name in [name for name in self._claims if name.startswith(front)]:
            gone += self._adapt(watch, name, name.removeprefix(front), streams, edges)
        placed = self._standing(watch, streams)
        names = {*placed, *(relation.name for relation in watch.relations)}
        tables = {table.name: table.types for table in watch.relations}
        tables |= {name: streams[name].types for name in placed}
        inside = [edge for edge in edges if {edge.left, edge.right} <= names]
        kept = {_ends(edge): edge for edge in watch.edges}
        now = [kept.get(_ends(edge)) or self._edge(edge, tables) for edge in inside]
        members = [member for member, _ in placed.values()]
        if (tuple(members), tuple(now)) != before:
            self.touched += [name for name in self._claims if name.startswith(front)][:1]
            self._refit(watch, members, [port_of(node) for _, node in placed.values()], now)
        return self._site.release(gone, NOBODY)

    def _adapt(
        self,
        watch: WatchNode,
        name: str,
        scope: str,
        streams: Mapping[str, StreamDef],
        edges: Sequence[JoinEdge],
    ) -> list[Claim]:
        """Claim the streams of a scope that are declared now; the claims on others are to be released."""
        wanted = self._wanted(watch, scope, streams, edges)
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

    def _wanted(
        self, watch: WatchNode, scope: str, streams: Mapping[str, StreamDef], edges: Sequence[JoinEdge]
    ) -> dict[str, StreamDef]:
        """The streams of a scope; one that comes later enters if its state is bounded too."""
        if scope != ALL_TABLES:
            return {name: streams[name] for name in names_in(scope) if name in streams}
        joined = {end for edge in edges for end in (edge.left, edge.right)}
        members = {member.name for member in watch.members}
        return {
            name: stream
            for name, stream in streams.items()
            if stream.domain == watch.domain
            and (name in joined or STRING in stream.types)
            and (name in members or _may_enter(watch, stream))
        }

    @staticmethod
    def _is_same(member: WatchedTable, stream: StreamDef) -> bool:
        fields = tuple(field.name for field in stream.fields)
        return (member.names, member.types, member.window) == (fields, stream.types, stream.window)

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

    def _edge(self, edge: JoinEdge, tables: Mapping[str, Sequence[Type]]) -> WatchedEdge:
        sides = ((edge.left, edge.left_column), (edge.right, edge.right_column))
        type_ = common_type([tables[table][column] for table, column in sides])
        return WatchedEdge(self._site.take_id(), *_ends(edge), type_)

    def undo(self) -> None:
        """Forget the scopes that came with a query that is refused."""
        for name in self.touched:
            self._claims.pop(name, None)

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
        names = {member.name for _, member in pairs} | {relation.name for relation in watch.relations}
        edges = [edge for edge in watch.edges if {edge.left, edge.right} <= names]
        self._refit(watch, [member for _, member in pairs], [port for port, _ in pairs], edges)

    def _placed(self, placer: Placer, stream: StreamDef) -> Node:
        return place_stream(placer, with_arrival(stream) if self._live else stream)

    def _member(self, stream: StreamDef) -> WatchedTable:
        fields = stream.fields
        return WatchedTable(
            self._site.take_id(),
            stream.name,
            tuple(field.name for field in fields),
            tuple(field.type for field in fields),
            stream.window,
            stream.retractable,
            len(fields) if self._live else None,
        )

    def _relation(self, relation: RelationDef) -> WatchedTable:
        names = tuple(field.name for field in relation.fields)
        number = self._site.take_id()
        return WatchedTable(number, relation.name, names, relation.types, valid=relation.valid)

    def _edges(self, watch: WatchNode, graph: SchemaGraph) -> list[WatchedEdge]:
        """The edges of a node, and those of a graph that it lacks."""
        known = {_ends(edge) for edge in watch.edges}
        fresh = [edge for edge in graph.edges if _ends(edge) not in known]
        return [
            *watch.edges,
            *(WatchedEdge(self._site.take_id(), *_ends(edge), graph.key_type(edge)) for edge in fresh),
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


def _ends(edge: JoinEdge | WatchedEdge) -> tuple[str, int, str, int]:
    return edge.left, edge.left_column, edge.right, edge.right_column


def _may_enter(watch: WatchNode, stream: StreamDef) -> bool:
    """Whether a stream that comes later is searched by those who are there; deletions need a stage more."""
    return stream.window is not None and (bool(watch.identities) or not stream.retractable)


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
