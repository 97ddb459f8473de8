"""Kin groups: what stands that groups the same rows, but for the births of their queries.

    q1, running     SELECT k, d, COUNT(*) FROM s GROUP BY k, d         groups of epoch 3 on
    q2, comes now   SELECT k, SUM(v) FROM s GROUP BY k                 groups of epoch 9 on

A younger query prepares that its elders can join it once it is settled (`equal_groups.py`): where they ask
for the same keys its groups get their functions too (horizontal expansion), where their keys are finer it is
made of finer groups of its own birth (vertical expansion), and where they are coarser it keeps theirs, made
of its own (rerouting).
For one window the groups are there twice; then the elders go over, and theirs are freed.

Differs: ARGUS 5.3 extends and reroutes the running node itself, whose history is a table on disk. Here a node
has the state of the functions that it was asked for and no rows, so the extended one starts beside it.

Cites: ARGUS 5.3 (horizontal and vertical expansion, rerouting)

Rerouting: when finer groups have appeared, coarser ones of the same rows are made of them; and groups that
are delivered are those that joins read, where these are the same.

An aggregate that has run is not rerouted at once: finer groups that come later count other tuples, from
another birth on, and what it would need of the older ones has not been kept; its queries go over to groups of
the younger birth one window later (`kin_groups.py`). This here concerns queries that came in one change, in
whatever order: those who are better off are built anew before they run.

Order: queries with more keys are rerouted first. Groups that are moved are no choice for queries after
them, so nothing is built anew twice.

Cites: ARGUS 5.3 (rerouting)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from seine.algebra.expressions import Expression, Literal, substitute
from seine.algebra.plan import AggregateCall, Query
from seine.algebra.types import BIGINT
from seine.graph.snapshot import Claim
from seine.network.groups.equal_groups import birthless_constants, delivered_place
from seine.network.groups.partial_aggregates import finer_of, group_keys, tag_of_groups
from seine.network.groups.vertical_expansion import Place, Regrouping, WantedGrouping
from seine.network.site.node_memo import NodeMemo
from seine.operators.group.aggregate import AggregateNode, rows_signature
from seine.operators.match.deliver import DeliverNode
from seine.operators.match.fan import FanNode

MOST_KIN = 8  # groupings of the same rows for which a younger query prepares
_FEW_FAMILIES = 1000  # that may be known in vain, before those are looked for that are gone
MOST_FUNCTIONS = 32  # that one node gets because its elders have them


@dataclass
class KinGroups:
    """The groups that queries deliver, by the rows that they group, whatever the births."""

    _families: dict[Hashable, dict[Place, None]] = field(default_factory=dict)

    @staticmethod
    def standing(site: NodeMemo) -> KinGroups:
        """The groups that are delivered in a network that was restored."""
        kin = KinGroups()
        read = {node.inputs[0] for node in site.nodes.values() if isinstance(node, DeliverNode)}
        for node in [site.nodes[i] for i in sorted(read)]:
            if isinstance(node, AggregateNode) and node.generation >= 0 and not node.owner:
                for tag, constants in _groups(site, node):
                    kin._put(site, node, tag, constants)
        return kin

    def enter(self, site: NodeMemo, wanted: WantedGrouping, node: AggregateNode) -> None:
        """Take in the groups that a query delivers; those by users' code are no others' kin."""
        if wanted.calls_user_code:
            return
        if len(self._families) > 2 * len(site.nodes) + len(site.tags) + _FEW_FAMILIES:
            stand = {key: places for key, places in self._families.items() if _standing(site, places)}
            self._families = stand
        tag = tag_of_groups(site, node, wanted.shape.constants) if wanted.tagged else None
        self._families.setdefault(_family(site, wanted, node.owner), {})[node.id, tag] = None

    def enter_delivered(
        self, site: NodeMemo, claims: Sequence[Claim], grouped: Sequence[tuple[WantedGrouping, int]]
    ) -> None:
        """Take in those groupings of a query that it delivers."""
        place = delivered_place(site, claims)
        for wanted, node_id in grouped:
            node = site.nodes[node_id]
            if place is not None and place[0] == node_id and isinstance(node, AggregateNode):
                self.enter(site, wanted, node)

    def of(self, site: NodeMemo, wanted: WantedGrouping, owner: str) -> list[AggregateNode]:
        """The nodes that have groups of the same rows, from changes before.

        None if these can never be equal, or if there is one that has all that is wanted: that one will be
        joined.
        """
        if owner or not wanted.streams or any(stream.window is None for stream in wanted.streams):
            return []
        places = _standing(site, self._families.get(_family(site, wanted, owner), {}))
        ran = [i for i, tag in places if not site.is_new(i if tag is None else tag)]
        nodes = [node for i in dict.fromkeys(ran) if isinstance(node := site.nodes[i], AggregateNode)]
        return [] if any(_suffices(site, node, wanted) for node in nodes) else nodes

    def _put(self, site: NodeMemo, node: AggregateNode, tag: int | None, constants: Sequence[str]) -> None:
        fan = site.nodes[finest_of(site, node).inputs[0]]
        assert isinstance(fan, FanNode)
        key = _key(site, fan.inputs[0], fan.filter.shape, fan.filter.checks, constants, node.owner)
        self._families.setdefault(key, {})[node.id, tag] = None


def with_functions_of(site: NodeMemo, wanted: WantedGrouping, kin: Sequence[AggregateNode]) -> WantedGrouping:
    """A grouping with the functions that its kin by the same keys has, so that they can go over to it."""
    more = dict.fromkeys(wanted.calls)
    for node in kin:
        if _has_keys(site, node, wanted):
            more.update(dict.fromkeys(calls_below(site, node)))
    return wanted if len(more) > MOST_FUNCTIONS else replace(wanted, calls=tuple(more))


def coarser_kin(
    site: NodeMemo, wanted: WantedGrouping, kin: Sequence[AggregateNode]
) -> Iterator[WantedGrouping]:
    """The groupings of kin by other keys, over the rows of a younger query."""
    for node in kin[:MOST_KIN]:
        keys = group_keys(site, node)
        if {*keys} != {*wanted.keys}:
            yield replace(wanted, keys=keys, calls=calls_below(site, node), tagged=bool(node.ports[0].key))


def _has_keys(site: NodeMemo, node: AggregateNode, wanted: WantedGrouping) -> bool:
    return {*group_keys(site, node)} == {*wanted.keys} and bool(node.ports[0].key) == wanted.tagged


def _suffices(site: NodeMemo, node: AggregateNode, wanted: WantedGrouping) -> bool:
    """Whether a node has the groups that are wanted, and all functions."""
    return _has_keys(site, node, wanted) and {*wanted.calls} <= {*calls_below(site, node)}


def calls_below(site: NodeMemo, node: AggregateNode) -> tuple[AggregateCall, ...]:
    """The functions of an aggregate over the row below all, which queries speak of."""
    row = _row(site, node)
    return tuple(replace(call, args=tuple(substitute(arg, row) for arg in call.args)) for call in node.calls)


def _row(site: NodeMemo, node: AggregateNode) -> list[Expression]:
    """The columns that an aggregate's calls address, over the row below all; tags are never addressed."""
    feed = site.nodes[node.inputs[0]]
    if isinstance(feed, FanNode):
        return [*[Literal(0, BIGINT)] * feed.tagged, *feed.expressions]
    fine = finer_of(site, node)
    return [Literal(0, BIGINT), *group_keys(site, fine), *_row(site, fine)]


def _family(site: NodeMemo, wanted: WantedGrouping, owner: str) -> Hashable:
    shape = wanted.shape
    return _key(site, wanted.below.id, shape.shape, shape.others, [*map(str, shape.constants)], owner)


def _key(
    site: NodeMemo,
    below: int,
    shape: Expression | None,
    checks: tuple[Expression, ...],
    constants: Sequence[str],
    owner: str,
) -> Hashable:
    rows = rows_signature(below, shape, checks, owner)
    return rows, birthless_constants(site, site.nodes[below], shape, constants)


def finest_of(site: NodeMemo, node: AggregateNode) -> AggregateNode:
    """The aggregate of rows that one is made of, or is."""
    return finest_of(site, finer_of(site, node)) if node.regroups else node


def _groups(site: NodeMemo, node: AggregateNode) -> Iterator[tuple[int | None, Sequence[str]]]:
    """The tags of the groups of an aggregate, with the constants of their rows."""
    table = site.tables[site.nodes[node.inputs[0]].tables[0]]
    for values in table.rows.values():
        if node.regroups or node.ports[0].key:
            tag = values[0] if node.regroups else values[-1]
            yield tag, site.tags[tag][0].constants[0]
        else:
            yield None, [str(Literal(*typed)) for typed in zip(values, table.types, strict=True)]


def _standing(site: NodeMemo, places: dict[Place, None]) -> dict[Place, None]:
    """The places that are still there; others are forgotten."""
    for node, tag in [*places]:
        if node not in site.nodes or (tag is not None and tag not in site.tags):
            del places[node, tag]
    return places


@dataclass(frozen=True)
class UnstartedQuery:
    """A query that has not run, with its groupings and the ids of their aggregates."""

    query: Query
    birth_epoch: int
    grouped: list[tuple[WantedGrouping, int]]

    @property
    def most_keys(self) -> int:
        return max(len(wanted.keys) for wanted, _ in self.grouped)


def finest_first(fresh: Mapping[str, UnstartedQuery]) -> list[str]:
    """In this order no query is made of groups that are rerouted after it."""
    return sorted(fresh, key=lambda name: -fresh[name].most_keys)


def abandoned_groups(
    site: NodeMemo, regrouping: Regrouping, grouper: UnstartedQuery, fresh: Mapping[str, UnstartedQuery]
) -> list[Place]:
    """The groups of a query that can be made of better ones than now, where they stand now.

    Not those that a running query shares: for it they would stay as they are.
    """
    left = []
    for wanted, node_id in grouper.grouped:
        node = site.nodes[node_id]
        assert isinstance(node, AggregateNode)
        best = regrouping.finer(wanted)
        now = finer_of(site, node).id if node.regroups else None
        tag = tag_of_groups(site, node, wanted.shape.constants)
        users = site.users[node_id].keys() if tag is None else site.claimers(tag) & site.users[node_id].keys()
        is_finer = (best.node.id if best else None) != now
        if (is_finer or _joins_read_the_same(site, regrouping, wanted, node)) and users <= fresh.keys():
            left.append((node_id, tag))
    return left


def _joins_read_the_same(
    site: NodeMemo, regrouping: Regrouping, wanted: WantedGrouping, node: AggregateNode
) -> bool:
    """Whether a node that joins read has the very same groups and functions: then it is enough for all."""
    if node.generation < 0:
        return False
    calls = {*calls_below(site, node)}
    return any(
        isinstance(other, AggregateNode)
        and other.generation < 0
        and {*calls_below(site, other)} == calls
        and replace(node, generation=other.generation).signature(site) == other.signature(site)
        for other, _ in site.family(regrouping.rows(wanted))
    )
