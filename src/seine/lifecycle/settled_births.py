"""Settled births: queries whose groups equal those of older queries from now on, and come to share them.

    time ──────────┬──────────────────────────┬───────────────>
    q1 ════════════╪══════════════════════════╪═══ q1, q2 ════   one set of groups
    q2             └── groups of its own ─────┘
               registered          everything expired that came before

A query is settled when all instants are complete up to one at which every tuple has expired that came before
its registration. From there on it and an older query that asks for the same groups have seen the same live
tuples; both have emitted all that changed before. So it is let go on with the groups of the older one, and
its own are freed (`Network.move`). If its groups can do more, the older queries come to them instead.

Streams without windows settle where a key of the groups is a period of time: once the period has passed in
which the last tuple was that came before. Nothing changes groups of earlier periods any more.

Differs: ARGUS keeps all history, so its queries see the same tuples at once. Other groups over streams
without windows never settle here. Counts and sums of an older query less an offset would do, where nothing is
deleted; docs/design/aggregates.md says what that would save, and why it takes an exchange of all groups.

Cites: ARGUS 5.3 (sharing with nodes that run)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from seine.algebra.plan import Scan, walk
from seine.graph.node import Node
from seine.intake.journal import Entry
from seine.lifecycle.view import RegisteredQuery, View
from seine.network.network import Network
from seine.operators.group.aggregate import AggregateNode
from seine.operators.join.final_time import first_beyond

MOST_SETTLED_AT_ONCE = 200  # queries that are looked at between two entries, which wait meanwhile
MOST_OF_ONE_BIRTH = 16  # deliverers of the same groups that are looked at again when one more has settled

_FEW_GROUPS = 1000  # that may be known in vain, before those are looked for that nobody delivers any more
_NEVER = -(2**63)

Streams = tuple[str, ...]
Births = dict[int, dict[str, None]]  # the queries that deliver groups, by the birth of these
Groups = dict[Hashable, Births]  # by what identifies groups whatever their birth


@dataclass(frozen=True)
class Settling:
    """When a query settles: once all instants of these streams are complete up to and including one."""

    streams: Streams
    instant: int


def settling_of(registered: RegisteredQuery, nodes: Mapping[int, Node]) -> Settling | None:
    """When a query settles; None if that is not known, or never."""
    latest = registered.position.latest
    scans = [part for part in walk(registered.query.plan) if isinstance(part, Scan)]
    streams = {scan.stream.name: scan.stream for scan in scans}
    if latest is None or not streams or registered.paused:
        return None
    reached = {name: latest[name] for name in streams if name in latest}
    windows = {name: stream.window for name, stream in streams.items()}
    if None in windows.values():
        instant = _last_period(max(reached.values(), default=None), registered, nodes)
    else:
        instant = max((time + (windows[name] or 0) for name, time in reached.items()), default=_NEVER)
    return None if instant is None else Settling(tuple(sorted(streams)), instant)


def _last_period(latest: int | None, registered: RegisteredQuery, nodes: Mapping[int, Node]) -> int | None:
    """The last instant of groups by periods of time in which tuples are that came before; None for others.

    When it has passed nothing changes these groups any more, and later ones have no such tuples.
    """
    stateful = [node for i in registered.nodes if (node := nodes[i]).stateful]
    releases = stateful[0].releases if len(stateful) == 1 and isinstance(stateful[0], AggregateNode) else None
    if releases is None or not releases.clocks:
        return None
    if latest is None:
        return _NEVER
    begins = [first_beyond(clock, latest) for clock in releases.clocks if clock.is_period]
    return min((time - 1 for time in begins if time is not None), default=None)


@dataclass
class SettledBirths:
    """The running queries that have not settled yet, and which groups those have that did.

    Of groups that a settled query delivers the births are known, and who has them.
    """

    _waiting: dict[Streams, list[tuple[int, int, str]]] = field(default_factory=dict)
    _groups: Groups = field(default_factory=dict)

    def begin(self, begun: Iterable[RegisteredQuery], nodes: Mapping[int, Node]) -> None:
        """Take in queries that begin to run, with the nodes of the network."""
        for registered in begun:
            settling = settling_of(registered, nodes)
            if settling is not None:
                heap = self._waiting.setdefault(settling.streams, [])
                key = registered.query.name.lower()
                heappush(heap, (settling.instant, registered.position.entry, key))

    def is_due(self, last: Entry | None) -> bool:
        """Whether any query has settled by the last entry that is written."""
        return any(
            bool(heap) and heap[0][0] < _progress(streams, last) for streams, heap in [*self._waiting.items()]
        )

    def join(self, view: View, network: Network, last: Entry | None) -> dict[str, int]:
        """Let queries that have settled share the groups of others; the births with which they go on."""
        joining = _Joining(view, network, self._groups)
        for entry in self._due(last):
            registered = view.registered.get(entry.key)
            if registered is None or registered.paused or registered.position.entry != entry.entry:
                continue
            if len(joining.moved) < MOST_SETTLED_AT_ONCE and joining.settle(entry.key):
                continue
            heappush(self._waiting.setdefault(entry.streams, []), (entry.instant, entry.entry, entry.key))
        if len(self._groups) > 2 * len(view.registered) + _FEW_GROUPS:
            self._groups = {one: births for one, births in self._groups.items() if joining.stand(births)}
        return joining.moved

    def _due(self, last: Entry | None) -> list[_Due]:
        """The queries that have settled, not too many of them."""
        due: list[_Due] = []
        for streams, heap in self._waiting.items():
            progress = _progress(streams, last)
            while heap and heap[0][0] < progress and len(due) < MOST_SETTLED_AT_ONCE:
                due.append(_Due(streams, *heappop(heap)))
        self._waiting = {streams: heap for streams, heap in self._waiting.items() if heap}
        return due


class _Due(NamedTuple):
    """A query that has settled, as it waited for that."""

    streams: Streams
    instant: int
    entry: int
    key: str


@dataclass
class _Joining:
    """What queries that have settled share from now on; `moved` has the births with which they go on."""

    view: View
    network: Network
    groups: Groups
    moved: dict[str, int] = field(default_factory=dict)

    def settle(self, key: str) -> bool:
        """Let a query join others, or others join it; whether there is nothing more to be done for it."""
        identities = self.network.equal_groups(self.view.registered[key].query.name)
        if not identities:
            return True
        delivered = self.groups.setdefault(identities[0], {})
        if self._joins(key, delivered):
            return True
        delivered.setdefault(self._birth(key), {})[key] = None
        if not all(self._is_joined(key, identity) for identity in identities):
            return False
        # What was kept for others has served its purpose.
        if len(identities) > 1:
            self._moves(key, self._birth(key), key)
        return True

    def _joins(self, key: str, births: Births) -> bool:
        """Let a query go over to groups like those that it delivers, of another birth, the oldest first."""
        mine = self._birth(key)
        for birth in self._standing(births):
            if birth != mine and self._moves(key, birth, next(iter(births[birth]))):
                births[birth][key] = None
                return True
        return False

    def _is_joined(self, joined: str, identity: Hashable) -> bool:
        """Let others who deliver such groups go over to those of a query; False if too many are left.

        Those of its own birth, too: registered between the same two entries, but in another change.
        """
        birth, births = self._birth(joined), self.groups.get(identity, {})
        for other in self._standing(births):
            if other == birth and len(births[other]) > MOST_OF_ONE_BIRTH:
                continue
            for key in [one for one in births[other] if one != joined]:
                if len(self.moved) >= MOST_SETTLED_AT_ONCE:
                    return False
                if self._delivers(key, other, identity) and self._moves(key, birth, joined):
                    births[other].pop(key)
                    births.setdefault(birth, {})[key] = None
        return True

    def _moves(self, key: str, birth: int, beside: str) -> bool:
        """Let a query go on with the groups of a birth that another query has, if these stand."""
        registered = self.view.registered
        if not self.network.move(registered[key].query, birth, registered[beside].query.name):
            return False
        self.moved[key] = birth
        return True

    def _delivers(self, key: str, birth: int, identity: Hashable) -> bool:
        """Whether it is still the query that delivers such groups, of this birth."""
        if not self._has(key, birth):
            return False
        return self.network.equal_groups(self.view.registered[key].query.name)[:1] == [identity]

    def stand(self, births: Births) -> bool:
        """Whether anybody delivers these groups."""
        return bool(self._standing(births))

    def _standing(self, births: Births) -> list[int]:
        """The births that running queries have, the oldest first; others are forgotten."""
        for birth, queries in births.items():
            while queries and not self._has(next(iter(queries)), birth):
                del queries[next(iter(queries))]
        return sorted(birth for birth, queries in births.items() if queries)

    def _has(self, key: str, birth: int) -> bool:
        registered = self.view.registered.get(key)
        return registered is not None and not registered.paused and self._birth(key) == birth

    def _birth(self, key: str) -> int:
        return self.moved.get(key, self.view.registered[key].birth_epoch)


def _progress(streams: Streams, last: Entry | None) -> int:
    """Up to where all instants of streams are complete, by the last entry that is written."""
    if last is None or not all(name in last.clock.watermarks for name in streams):
        return _NEVER
    return last.clock.progress(streams)
