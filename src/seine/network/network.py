"""The shared network: all queries as one graph of nodes and their tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

from seine.algebra.definitions import StreamDef
from seine.algebra.plan import Plan, Query
from seine.errors import Position, SeineError
from seine.graph.node import Holding, Node, StatePlace
from seine.graph.node_kinds import node_to_json
from seine.graph.parameter_table import ParameterTable
from seine.graph.snapshot import Claim, NetworkChange, claimed_nodes, topological
from seine.network.build import Builder
from seine.network.groups.equal_groups import (
    birthless_identity,
    claimed_places,
    delivered_place,
    wants_smaller,
)
from seine.network.groups.kin_groups import KinGroups, UnstartedQuery, abandoned_groups, finest_first
from seine.network.groups.vertical_expansion import Place
from seine.network.joins.join_placing import place_stream
from seine.network.network_record import NetworkRecord, RestoredNetwork, change_of
from seine.network.plan.running_plan import with_arrival
from seine.network.plan.strategy import CONFIGURATIONS, Strategy, strategy_of
from seine.network.query_delivery import QueryDelivery
from seine.network.searches.schema_change import SchemaChange
from seine.network.searches.search_scopes import SearchScopes
from seine.network.site.node_memo import NodeMemo, NotStandingError
from seine.network.site.placing import Placer
from seine.operators.limited.limited_join import LimitedNode
from seine.operators.match.deliver import DeliverNode
from seine.optimizer.block import Blocks
from seine.optimizer.estimates import Estimates
from seine.safety.verdict_story import Nested

WATCH = ""  # claims for streams; no query has an empty name


@dataclass(frozen=True)
class AddedQuery:
    """The effect of adding a query: the ids of the nodes that it built and that it found, and its plan."""

    added: tuple[int, ...]
    shared: tuple[int, ...]
    plan: Plan
    blocks: Blocks


@dataclass(frozen=True)
class PreviewedQuery:
    """The effect that adding a query would have: the kinds of the nodes it builds, the stages then needed."""

    added: AddedQuery
    kinds: tuple[str, ...]
    depth: int


class Network:
    """Nodes by id, and the queries that they serve.

    `add` and `remove` cost the size of one query. Changes since the last `commit` belong to
    the next version. Ids are never given twice, also after nodes are freed. In a live network
    a query counts from the epoch in which it is born.
    """

    def __init__(self, strategy: Strategy = CONFIGURATIONS["all"], *, live: bool = False) -> None:
        self.estimates: Estimates | None = None  # of the data seen so far, if anybody looks
        self.version = 0
        self.strategy = strategy
        self.live = live
        self.queries: dict[str, list[Claim]] = {}
        self.joined: dict[str, list[Nested]] = {}  # how blocks that punctuations free are joined; not kept
        self.stages = 0  # of the running pipeline; a live network opens no others
        self.watched: dict[str, list[Claim]] = {}  # streams that are resolved, whoever reads them
        self._site = NodeMemo()
        self._touched_queries: dict[str, None] = {}
        self._touched_streams: dict[str, None] = {}
        self._kin: KinGroups | None = None  # made when first needed
        self._fresh: dict[str, UnstartedQuery] = {}  # the queries with groups that have not run

    @property
    def nodes(self) -> dict[int, Node]:
        return self._site.nodes

    @property
    def next_id(self) -> int:
        """What is built from now on has this id or a later one."""
        return self._site.next_id

    @property
    def tables(self) -> dict[int, ParameterTable]:
        return self._site.tables

    def add(self, query: Query, birth_epoch: int = 0, *, replayed: bool = False) -> AddedQuery:
        """Extend the network by a query; when the query is refused nothing changes.

        One that is to be given rows of the past, `replayed`, has nodes of its own: what others hold is no
        history, for their conditions kept rows out of it.
        """
        if query.name in self.queries:
            raise SeineError(f"there is already a query {query.name!r}", hint="DROP QUERY it first")
        first = self._site.next_id
        scopes = self._scopes()
        kin = self._kin_groups() if self.live and not replayed else None
        builder = self._builder(query, scopes=scopes, birth_epoch=birth_epoch, replayed=replayed, kin=kin)
        self._site.begin()
        try:
            plan = self._delivery.deliver(builder, query, birth_epoch)
            used = sorted({*claimed_nodes(builder.claims)})
            added, shared = [i for i in used if i >= first], [i for i in used if i < first]
            addition, claims = AddedQuery(tuple(added), tuple(shared), plan, builder.blocks), builder.claims
            grouped = [] if replayed else builder.grouped
            if kin is not None and grouped:
                kin.enter_delivered(self._site, claims, grouped)
            self._site.end()
        except BaseException as error:  # it may have stopped anywhere
            scopes.undo()
            self._kin = None  # it may know of what is undone
            if self._site.next_id > first or builder.claims:
                self._site = self._site.without(query.name, first, self._claims())
            self._site.end()
            if isinstance(error, RecursionError):
                raise SeineError(f"query {query.name!r} is nested too deeply", hint="split it") from None
            raise
        self.queries[query.name] = claims
        self.joined[query.name] = builder.joined
        self._touched_queries[query.name] = None
        self._touched_streams.update(dict.fromkeys(scopes.touched))
        if grouped:
            self._fresh[query.name] = UnstartedQuery(query, birth_epoch, grouped)
        return addition

    def preview(self, query: Query, birth_epoch: int = 0) -> PreviewedQuery:
        """What adding a query would build and find; nothing may have changed since the last commit.

        The network is afterwards what it was, but for ids that were given and are given up. Where taking the
        query out again did not lead back to the same nodes, it is `changed`: whoever asked restores it.
        """
        self._require_committed()
        nodes, watched = self.nodes.copy(), self.watched.copy()
        unheard = replace(query, name=f"{query.name} (preview)")  # one of its name may stand
        try:
            added = self.add(unheard, birth_epoch)
            kinds = tuple(self.nodes[i].kind for i in added.added)
            previewed = PreviewedQuery(added, kinds, self.depth)
            self.remove(unheard.name)
        finally:
            if self.nodes == nodes and self.watched == watched:
                self._site.forget_changes()
                self._touched_queries.clear()
                self._touched_streams.clear()
        return previewed

    def move(self, query: Query, birth_epoch: int, beside: str) -> bool:
        """Let a query go on with the rows that another birth has, if all of it stands; whether it does.

        Who calls it knows that every tuple of the epochs between both births has expired, and that whatever
        changed before that has been emitted: then the rows are equal from now on. The query `beside` which
        it comes has had them for so long.
        """
        name, site = query.name, self._site
        builder = self._standing(query, birth_epoch)
        if builder is None:
            return False
        claims = builder.claims
        before, after = delivered_place(site, self.queries[name]), delivered_place(site, claims)
        if before is None or after is None:
            fits = False
        else:
            fits = before[0] == after[0] or not wants_smaller(site, after[0], claims, self.queries[beside])
        if not fits or Counter(claims) == Counter(self.queries[name]):
            site.release(claims, name)
            return False
        site.release(self.queries[name], name)
        self.queries[name] = claims
        self._touched_queries[name] = None
        self._kin_groups().enter_delivered(site, claims, builder.grouped)
        return True

    def _standing(self, query: Query, birth_epoch: int) -> Builder | None:
        """A query of another birth, built of what stands; None if it needs anything new."""
        builder = self._builder(query, birth_epoch=birth_epoch)
        self._site.closed = True
        try:
            self._delivery.deliver(builder, query, birth_epoch)
        except NotStandingError:
            self._site.release(builder.claims, query.name)
            return None
        finally:
            self._site.closed = False
        return builder

    def equal_groups(self, name: str) -> list[Hashable]:
        """What identifies the groups of a query, whatever its birth: first those that it delivers.

        None if it delivers no groups as they are; others are those that its own are made of, or that it keeps
        for other queries.
        """
        places = claimed_places(self._site, self.queries[name])
        return [birthless_identity(self._site, place) for place in places]

    def _kin_groups(self) -> KinGroups:
        if self._kin is None:
            self._kin = KinGroups.standing(self._site)
        return self._kin

    def _builder(
        self,
        query: Query,
        left: Set[Place] = frozenset(),
        scopes: SearchScopes | None = None,
        birth_epoch: int = 0,
        replayed: bool = False,
        kin: KinGroups | None = None,
    ) -> Builder:
        stages, since = (self.stages, birth_epoch) if self.live else (None, 0)
        strategy = replace(self.strategy, share=False, replayed=True) if replayed else self.strategy
        strategy = strategy_of(query, strategy)
        return Builder(self._site, query, strategy, self.estimates, stages, left, scopes, since, kin)

    def _reroute(self) -> None:
        """Build those queries anew whose groups can be made of finer ones that came after; none has run."""
        left: set[Place] = set()
        for name in finest_first(self._fresh):
            grouper = self._fresh[name]
            builder = self._builder(grouper.query, left, kin=self._kin)
            places = abandoned_groups(self._site, builder.regrouping, grouper, self._fresh)
            if places:
                left.update(places)
                self._site.release(self.queries[name], name)
                self._delivery.deliver(builder, grouper.query, grouper.birth_epoch)
                self.queries[name] = builder.claims
            else:
                builder.finish()
        self._fresh.clear()

    def plan_of(self, query: Query, birth_epoch: int = 0) -> Plan:
        """The plan as which a query would run in this network."""
        return self._delivery.plan_of(query, birth_epoch)

    @property
    def _delivery(self) -> QueryDelivery:
        return QueryDelivery(self.live, self.estimates if self.strategy.order else None)

    def remove(self, name: str) -> tuple[Node, ...]:
        """Take a query out, and free every node that nobody uses any more."""
        if name not in self.queries:
            raise SeineError(f"there is no query {name!r}")
        self._touched_queries[name] = None
        self._fresh.pop(name, None)
        self.joined.pop(name, None)
        freed = self._site.release(self.queries.pop(name), name)
        scopes = self._scopes()
        freed += scopes.leave()
        self._touched_streams.update(dict.fromkeys(scopes.touched))
        return tuple(freed)

    def watch(self, stream: StreamDef) -> None:
        """Resolve the deletions of a stream from now on, before anybody reads it.

        A negative tuple ends the oldest tuple that equals it, so whoever reads the stream later must
        not receive one that was meant for a tuple from before it began to read.
        """
        placer = Placer(self._site, WATCH, self.strategy)
        place_stream(placer, with_arrival(stream) if self.live else stream)
        self.watched[stream.name] = placer.claims
        self._touched_streams[stream.name] = None

    def follow_schema(self, change: SchemaChange) -> None:
        """Let keyword searches go on over the tables and join edges that are declared now."""
        scopes = self._scopes()
        scopes.follow(change)
        self._touched_streams.update(dict.fromkeys(scopes.touched))

    @property
    def follows_schema(self) -> bool:
        """Whether there are searches that follow the schema."""
        return self._scopes().follows

    @property
    def searched_relations(self) -> set[str]:
        """The relations that keyword searches read."""
        return self._scopes().relations

    def _scopes(self) -> SearchScopes:
        return SearchScopes(self._site, self.watched, self.strategy, self.live)

    def unwatch(self, stream: str) -> None:
        """Leave a stream to those who read it."""
        self._touched_streams[stream] = None
        self._site.release(self.watched.pop(stream), WATCH)

    def _claims(self) -> dict[str, list[Claim]]:
        """What each query claims, and what is claimed for streams."""
        return {**self.queries, WATCH: [claim for claims in self.watched.values() for claim in claims]}

    @property
    def changed(self) -> bool:
        """Whether there are changes since the last commit."""
        return bool(self._touched_queries or self._touched_streams)

    def commit(self) -> int:
        """Close the changes since the last commit as the next version, if there are any."""
        self.take_change()
        return self.version

    def take_change(self) -> NetworkChange | None:
        """Close the changes since the last commit as the next version; None if there are none."""
        if not self.changed:
            return None
        self._reroute()
        site = self._site
        queries = {name: self.queries.get(name) for name in self._touched_queries}
        watched = {name: self.watched.get(name) for name in self._touched_streams}
        change = change_of(site, queries, watched)
        site.forget_changes()
        self._touched_queries.clear()
        self._touched_streams.clear()
        self.version += 1
        return change

    def renew(self) -> NetworkChange:
        """The next version, in which nothing but relations is another."""
        self._require_committed()
        self.version += 1
        return NetworkChange(next_id=self._site.next_id)

    def _require_committed(self) -> None:
        if self.changed:
            raise RuntimeError("the network has changed since its last commit")

    @property
    def depth(self) -> int:
        """The highest stage: how many stateful stages the pipeline needs."""
        return self._site.depth

    def users(self, node_id: int) -> list[str]:
        """The names of the queries that a node serves."""
        return [name for name in list(self._site.users.get(node_id, ())) if name != WATCH]

    def beneath(self, query: str) -> list[Node]:
        """The nodes of one query, inputs first."""
        used = {*claimed_nodes(self.queries[query])}
        return [self.nodes[i] for i in topological(self.nodes) if i in used]

    def used_nodes(self, query: str) -> tuple[int, ...]:
        """The ids of the nodes that a query uses, ascending; none if it is not in the network."""
        return tuple(sorted({*claimed_nodes(self.queries.get(query, ()))}))

    def state_places(self, query: str) -> dict[tuple[str, ...], Holding]:
        """The inputs of joins in which a query holds rows, by the streams that made these rows."""
        return state_places(self.used_nodes(query), self.nodes)

    def important(self) -> set[str]:
        """The queries whose records have an importance."""
        return {
            query
            for node in self.nodes.values()
            if isinstance(node, DeliverNode)
            for form in node.forms
            if form.importance is not None
            for claims in self.tables[form.table].claims.values()
            for query in claims
        }

    def limited_node(self, query: str) -> int | None:
        """The join of a query that is limited by memory."""
        used = claimed_nodes(self.queries[query])
        return next((i for i in used if isinstance(self.nodes[i], LimitedNode)), None)

    def __iter__(self) -> Iterator[Node]:
        """The nodes, inputs before what reads them."""
        return (self.nodes[i] for i in topological(self.nodes))

    def record(self) -> NetworkRecord:
        """All of the network; `of` reads it back. Equal networks with equal histories have equal records."""
        site = self._site
        return NetworkRecord(
            self.version,
            self.live,
            site.next_id,
            [node_to_json(node) for _, node in sorted(site.nodes.items())],
            {i: table.record() for i, table in sorted(site.tables.items())},
            {tag: identity for tag, (identity, _) in sorted(site.tags.items())},
            self.queries,
            self.watched,
        )

    @staticmethod
    def of(
        record: NetworkRecord,
        strategy: Strategy = CONFIGURATIONS["all"],
        changes: Iterable[NetworkChange] = (),
    ) -> Network:
        """The network as it was recorded, and then changed."""
        network = Network(strategy, live=record.live)
        restored = RestoredNetwork.of(record, changes)
        network.version = restored.version
        network.queries, network.watched = restored.queries, restored.watched
        snapshot = restored.snapshot
        network._site.restore(snapshot.nodes, snapshot.tables, restored.tags, network._claims())
        network._site.next_id = restored.next_id
        network._site.forget_changes()
        return network


_ANY_STAGES = 1 << 30  # of a pipeline that is not there yet


def build_network(
    queries: Iterable[Query],
    strategy: Strategy = CONFIGURATIONS["all"],
    estimates: Estimates | None = None,
    positions: Mapping[str, Position] = MappingProxyType({}),
    live: SchemaChange | None = None,
    refused: Callable[[Query, SeineError], None] | None = None,
) -> Network:
    """A network of these queries, committed as its first version; built by estimates, if there are any.

    A refusal says where its query is: `positions` are by lower-case name. It is raised, unless `refused` is
    to hear of it: then the network is of the other queries. If it is `live`, which is what is declared, other
    queries may come later.
    """
    network = Network(strategy, live=live is not None)
    network.estimates, network.stages = estimates, _ANY_STAGES
    for stream in () if live is None else live.streams.values():
        if stream.retractable and stream.window is not None:  # without a window it would grow for ever
            network.watch(stream)
    for query in queries:
        try:
            network.add(query)
        except SeineError as error:
            error.where = error.where or positions.get(query.name.lower())
            if refused is None:
                raise
            refused(query, error)
    if live is not None and network.follows_schema:
        network.follow_schema(live)
    network.commit()
    return network


def state_places(used: Iterable[int], nodes: Mapping[int, Node]) -> dict[tuple[str, ...], Holding]:
    """The inputs of joins at which the nodes `used` hold rows, by the names of the streams.

    Rows that several streams have made are listed under the names of all of them. An input that brings
    punctuations holds no rows.
    """
    places: dict[tuple[str, ...], list[StatePlace]] = {}
    for node in (nodes[i] for i in sorted(used) if i in nodes):
        if node.is_join:
            for number, port in enumerate(node.ports):
                if not nodes[port.node].is_punctuation:
                    places.setdefault(port.streams, []).append(StatePlace(node.id, number))
    return {streams: tuple(inputs) for streams, inputs in places.items()}


def stream_components(nodes: Iterable[Node]) -> tuple[frozenset[str], ...]:
    """Streams that some query joins, unites or excepts, directly or by way of others, together.

    A stream that is combined with no other one is in no component.
    """
    return connected(frozenset(node.streams) for node in nodes if len(node.streams) > 1)


def connected(groups: Iterable[frozenset[str]]) -> tuple[frozenset[str], ...]:
    """Groups that have a member in common become one; those of one member are left out.

    >>> groups = [frozenset("ab"), frozenset("cd"), frozenset("be"), frozenset("f")]
    >>> sorted("".join(sorted(group)) for group in connected(groups))
    ['abe', 'cd']
    """
    separate: list[frozenset[str]] = []
    for group in set(groups):
        apart = [other for other in separate if not other & group]
        touching = [other for other in separate if other & group]
        separate = [*apart, group.union(*touching)]
    return tuple(sorted((group for group in separate if len(group) > 1), key=sorted))
