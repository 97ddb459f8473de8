"""Placing a keyword search: its terms, its scope and itself are rows of tables; all nodes exist or are
built once.

    SEARCH 'tarantino travolta' OVER (movie, plays, actor)

    watch   terms   "tarantino" -> 3, "travolta" -> 5      scopes  ["actor", "movie", "plays"]
    search  (tag 17, terms 3 5, MAX 4, that scope, birth)
    deliver tag = 17
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TypeVar

from seine.algebra.expressions import Literal
from seine.algebra.search_plan import Search
from seine.algebra.types import BIGINT, JSON, STRING
from seine.graph.claims import TagIdentity
from seine.graph.node import Port, Signature
from seine.network.groups.pipeline_breakers import BreakerRows
from seine.network.searches.search_scopes import SearchScopes
from seine.network.site.placing import UNPLACED, Placer
from seine.operators.search.keyword_search import SearchNode, search_signature
from seine.operators.search.searches import SearchRow, TableScope
from seine.operators.search.spot import SpotNode, spot_signature
from seine.operators.search.watch import WatchNode, term_code, watch_signature
from seine.operators.search.watched_schema import TUPLE_TYPES

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
