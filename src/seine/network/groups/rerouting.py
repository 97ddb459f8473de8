"""Rerouting: when finer groups have appeared, coarser ones of the same rows are made of them; and groups that
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

from collections.abc import Mapping
from dataclasses import dataclass, replace

from seine.algebra.plan import Query
from seine.network.groups.kin_groups import calls_below
from seine.network.groups.partial_aggregates import finer_of, tag_of_groups
from seine.network.groups.vertical_expansion import Place, Regrouping, WantedGrouping
from seine.network.site.node_memo import NodeMemo
from seine.operators.group.aggregate import AggregateNode


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
