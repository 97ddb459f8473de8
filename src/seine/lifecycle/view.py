"""The immutable view of a run or a service that readers get: declarations, registered queries, network nodes.

Law: a view never changes. The registrar makes another one for each committed change and publishes it; the
network that it changes in place meanwhile is reachable from no view. So a reader sees every change whole or
not at all, whatever happens to the network while it reads, and a change that is undone is never seen.

The cost of a view is that of copying a few dictionaries of references. What readers want to know is worked
out from these when they ask: nothing is rendered for a view that nobody reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, TypeVar

from msgspec import structs

from seine.algebra.plan import Query, Scan, walk
from seine.catalog.tables.stored import QueryPosition, StoredSink
from seine.errors import SeineError
from seine.frontends.script.script import Declarations
from seine.graph.node import Holding, Node
from seine.intake.journal import Entry, Journal
from seine.network.network import Network, state_places, stream_components
from seine.operators.limited.limited_join import LimitedNode
from seine.optimizer.estimates import Estimates
from seine.runtime.folder.failures import Failure
from seine.runtime.history_replay import HistoryStart

Key = TypeVar("Key")
Value = TypeVar("Value")

MOST_USERS = 10  # queries that a view names for one node


class MissingError(SeineError):
    """A request names a query that is not registered."""


def frozen(mapping: dict[Key, Value]) -> MappingProxyType[Key, Value]:
    """A copy that nobody can change.

    >>> numbers = {"a": 1}
    >>> copy = frozen(numbers)
    >>> numbers["b"] = 2
    >>> dict(copy)
    {'a': 1}
    """
    return MappingProxyType(mapping.copy())


@dataclass(frozen=True)
class RegisteredQuery:
    """A registered query: it counts tuples of epoch `birth_epoch` and later.

    `position` is where the streams were at its registration. `nodes` are the ids of the nodes that it uses;
    a paused query uses none, nor does one that failed, which is paused too. `owner` is who registered it,
    None if that was before queries had owners.
    """

    query: Query
    birth_epoch: int
    position: QueryPosition
    paused: bool = False
    nodes: tuple[int, ...] = ()
    owner: str | None = None


@dataclass(frozen=True)
class View:
    """Everything registered in a run or a service after one committed change, by lower-case names.

    `version`, `next_id` and `depth` are those of the network whose `nodes` these are; `estimates` is
    what its plans were chosen by.
    """

    declared: Declarations
    registered: MappingProxyType[str, RegisteredQuery]
    version: int
    nodes: MappingProxyType[int, Node]
    next_id: int
    depth: int
    epoch: int
    since: MappingProxyType[str, int]  # of each stream, the first entry that can have tuples of it
    failures: MappingProxyType[str, Failure]  # the queries in quarantine, which are paused too
    estimates: Estimates | None = field(default=None, repr=False)
    # what queries that run began with, if not with their registration
    histories: MappingProxyType[str, HistoryStart] = field(default_factory=lambda: MappingProxyType({}))
    sinks: MappingProxyType[str, StoredSink] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def names(self) -> list[str]:
        """The names of all queries, in order of registration."""
        return [one.query.name for one in self.registered.values()]

    @property
    def failed(self) -> dict[str, Failure]:
        """The queries in quarantine by their names."""
        return {self.registered[key].query.name: failure for key, failure in self.failures.items()}

    def fresh(self, last: Entry | None) -> frozenset[str]:
        """The streams that begin after the last entry."""
        reached = last.number if last is not None else -1
        return frozenset(name for name, entry in self.since.items() if entry > reached)

    def find(self, name: str) -> RegisteredQuery:
        """The query of a name, in any case."""
        registered = self.registered.get(name.lower())
        if registered is None:
            raise MissingError(f"there is no query {name}", hint="seine list shows what there is")
        return registered

    def state(self, registered: RegisteredQuery) -> Literal["running", "paused", "failed"]:
        """What a query does."""
        failure = self.failures.get(registered.query.name.lower())
        if failure is not None and failure.kind != "quota":
            return "failed"
        return "paused" if registered.paused else "running"

    def standing(self, ceased: bool) -> dict[str, int]:
        """The queries that entries may run with, and from which one on.

        With `ceased` they are those that run: of others, and of those that they replaced, records are lost.
        """
        if not ceased:
            return {one.query.name: 0 for one in self.registered.values()}
        return {one.query.name: one.position.entry for one in self.registered.values() if not one.paused}

    @property
    def over_quota(self) -> dict[str, str]:
        """The queries that are paused because their owner had too much, and why."""
        return {
            self.registered[key].query.name: failure.reason
            for key, failure in self.failures.items()
            if failure.kind == "quota"
        }

    def state_places(self, registered: RegisteredQuery) -> Mapping[tuple[str, ...], Holding]:
        """The inputs of joins in which a query holds rows, by the streams that made these rows."""
        places = self._places.get(registered.nodes)
        if places is None:
            places = self._places[registered.nodes] = state_places(registered.nodes, self.nodes)
        return places

    def limited_node(self, registered: RegisteredQuery) -> int | None:
        """The join of a query that is limited by memory."""
        return next((i for i in registered.nodes if isinstance(self.nodes[i], LimitedNode)), None)

    def moved(self, births: Mapping[str, int], network: Network) -> View:
        """The view after queries, by key, have gone over to the groups of other births."""
        registered = self.registered.copy()
        for key, birth_epoch in births.items():
            one = registered[key]
            joined = one.position.joined or one.birth_epoch != birth_epoch
            registered[key] = replace(
                one,
                birth_epoch=birth_epoch,
                position=structs.replace(one.position, joined=joined),
                nodes=network.used_nodes(one.query.name),
            )
        return replace(
            self,
            registered=MappingProxyType(registered),
            version=network.version,
            nodes=frozen(network.nodes),
            next_id=network.next_id,
            depth=network.depth,
        )

    def users(self, node: int) -> tuple[str, ...]:
        """The names of queries that use a node, at most `MOST_USERS` of them, in order of registration."""
        return tuple(self._users.get(node, ()))

    @cached_property
    def owned(self) -> Mapping[str, list[RegisteredQuery]]:
        """The running queries of everybody who has any."""
        owners: dict[str, list[RegisteredQuery]] = {}
        for one in self.registered.values():
            if one.owner is not None and not one.paused:
                owners.setdefault(one.owner, []).append(one)
        return owners

    def nodes_of_owner(self, owner: str) -> frozenset[int]:
        """The nodes that the queries of an owner use."""
        if owner not in self._owned_nodes:
            used = (one.nodes for one in self.owned.get(owner, ()))
            self._owned_nodes[owner] = frozenset[int]().union(*{*used})
        return self._owned_nodes[owner]

    @cached_property
    def _owned_nodes(self) -> dict[str, frozenset[int]]:
        """What `nodes_of_owner` worked out already."""
        return {}

    @cached_property
    def stream_components(self) -> tuple[frozenset[str], ...]:
        """The streams that running queries combine, and that therefore advance together."""
        return stream_components(self.nodes.values())

    @cached_property
    def user_counts(self) -> Mapping[int, int]:
        """How many queries use each node."""
        alike = Counter(one.nodes for one in self.registered.values())
        counts: Counter[int] = Counter()
        for nodes, users in alike.items():
            counts.update(dict.fromkeys(nodes, users))
        return counts

    @cached_property
    def _users(self) -> dict[int, list[str]]:
        """Worked out when first asked for; two readers that do it at once get the same."""
        users: dict[int, list[str]] = {}
        for registered in self.registered.values():
            for node in registered.nodes:
                names = users.setdefault(node, [])
                if len(names) < MOST_USERS:
                    names.append(registered.query.name)
        return users

    @cached_property
    def _places(self) -> dict[tuple[int, ...], Mapping[tuple[str, ...], Holding]]:
        """What `state_places` worked out already: queries of one shape use the same nodes."""
        return {}


@dataclass(frozen=True)
class StreamPositions:
    """The next entry, the number of the next arrival of each stream, and the length of the results.

    `latest` has for each stream a timestamp that no tuple so far has exceeded; none if there was no tuple.
    """

    entry: int
    arrivals: Mapping[str, int]
    results: int
    latest: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def next(journal: Journal, results: int) -> StreamPositions:
        last = journal.last()
        if last is None:
            return StreamPositions(0, {}, results)
        arrivals = {
            name: state.admission.arrivals if state.spark is None else state.spark.rows
            for name, state in last.intake.streams.items()
        }
        now, domains = last.clock.now, last.clock.domains
        latest = {name: now[domains[name]] for name in last.clock.watermarks if domains[name] in now}
        return StreamPositions(last.number + 1, arrivals, results, latest)

    def of(self, query: Query) -> QueryPosition:
        """The position of a query that begins here."""
        streams = {scan.stream.name: self.arrivals.get(scan.stream.name, 0) for scan in _scans(query)}
        latest = {name: self.latest[name] for name in streams if name in self.latest}
        return QueryPosition(self.entry, self.results, streams, latest)


def _scans(query: Query) -> list[Scan]:
    scans = [part for part in walk(query.plan) if isinstance(part, Scan)]
    return sorted(scans, key=lambda scan: scan.stream.name)
