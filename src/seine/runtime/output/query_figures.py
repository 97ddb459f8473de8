"""What the queries of a run hold and deliver, in numbers: which state counts for which of them.

What a run has come to, in numbers: the document that `seine run --stats` writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from seine.graph.node import Holding, Node, StatePlace
from seine.network.network import Network
from seine.runtime.folder.failures import Failure
from seine.runtime.output.totals import Totals, exact_share


class QueryFigures:
    """The places where the queries of a network hold rows, and the statistics of these."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._joins = _places(network, lambda node: StatePlace(node.id) if node.is_join else None)
        self._important = network.important()
        self._by_stream = {query: network.state_places(query) for query in self._joins}
        self._punctuated = _places(network, self._punctuations)
        self._grouped = _places(network, _groups)
        by_stream = (holding for places in self._by_stream.values() for holding in places.values())
        named = (self._joins, self._punctuated, self._grouped)
        self.holdings = frozenset([*by_stream, *(places for one in named for places in one.values())])

    def _punctuations(self, node: Node) -> StatePlace | None:
        """Where a node holds punctuations, if any come to it."""
        listens = any(self._network.nodes[port.node].is_punctuation for port in node.ports)
        return StatePlace(node.id, punctuations=True) if listens else None

    def statistics(
        self,
        totals: Totals,
        failures: Mapping[str, Failure],
        elapsed: float,
        sinks: dict[str, SinkStatistics] | None,
    ) -> RunStatistics:
        """What a run has come to after so many seconds."""
        network = self._network
        joins = sum(node.is_join for node in network.nodes.values())
        return RunStatistics(
            totals.input_rows,
            totals.output_rows,
            totals.dead_letters,
            totals.batches,
            round(elapsed, 3),
            NetworkSize(len(network.nodes), joins, len(network.queries)),
            RowsHeld(totals.state_peak, sum(totals.state_rows.values())),
            RowsHeld(totals.punctuation_peak, sum(totals.punctuation_rows.values())),
            RowsHeld(totals.group_peak, sum(totals.group_rows.values())),
            {query: self._query_statistics(query, totals, failures) for query in network.queries},
            UNSET if sinks is None else sinks,
        )

    def _query_statistics(
        self, query: str, totals: Totals, failures: Mapping[str, Failure]
    ) -> QueryStatistics:
        joins = self._joins.get(query, ())
        punctuated, grouped = self._punctuated.get(query, ()), self._grouped.get(query, ())
        limited = self._network.limited_node(query)
        account = None if limited is None else totals.memory.get(limited)
        statistics = QueryStatistics(
            totals.outputs.get(query, 0),
            self._importance(query, totals),
            0,
            totals.held_peak.get(joins, 0),
            totals.held.get(joins, 0),
            {
                ", ".join(streams): RowsHeld(totals.held_peak.get(holding, 0), totals.held.get(holding, 0))
                for streams, holding in self._by_stream.get(query, {}).items()
            },
            RowsHeld(totals.held_peak.get(punctuated, 0), totals.held.get(punctuated, 0)),
            RowsHeld(totals.held_peak.get(grouped, 0), totals.held.get(grouped, 0)),
        )
        if (failure := failures.get(query)) is not None:
            statistics = replace(statistics, failed=failure.reason)
        if account is None:
            return statistics
        share = exact_share([account])
        return replace(statistics, shed=account.shed, state_rows_peak=account.peak, exact_share=share)

    def _importance(self, query: str, totals: Totals) -> float | None:
        """The sum over all records; none where they have none, or were cut at a limit."""
        if query not in self._important or query in totals.cut:
            return None
        total = totals.importance.get(query, 0.0)
        return total if math.isfinite(total) else None


def _groups(node: Node) -> StatePlace | None:
    """Where a node may hold groups."""
    return StatePlace(node.id, groups=True) if node.stateful and not node.is_join else None


def _places(network: Network, place: Callable[[Node], StatePlace | None]) -> dict[str, Holding]:
    """The places of each query that has any, in the order of nodes."""
    places: dict[str, list[StatePlace]] = {}
    for node in sorted(network.nodes.values(), key=lambda node: node.id):
        if (held := place(node)) is not None:
            for query in network.users(node.id):
                places.setdefault(query, []).append(held)
    return {query: tuple(held) for query, held in places.items()}


class NetworkSize(Struct, frozen=True):
    """How large a network is."""

    nodes: int
    joins: int
    queries: int


class RowsHeld(Struct, frozen=True):
    """Rows in state: the most after any micro-batch, and those after the last."""

    peak: int
    final: int


class QueryStatistics(Struct, frozen=True):
    """What one query has delivered and holds.

    `punctuations` are those that its joins hold, which are state rows too, and those that its groups hold.
    `groups` are those of its aggregates, set operators and final results.
    `exact_share` only if it runs within a memory; `failed` only if it failed, with the reason.
    """

    outputs: int
    importance: float | None
    shed: int
    state_rows_peak: int
    state_rows_final: int
    state_rows_by_stream: dict[str, RowsHeld]
    punctuations: RowsHeld
    groups: RowsHeld
    exact_share: float | UnsetType | None = UNSET
    failed: str | UnsetType = UNSET


class SinkStatistics(Struct, frozen=True):
    """The records that a sink has delivered, and those that it gave up; results that it came too late for."""

    records: int
    undelivered: int
    missed_bytes: int = 0


class RunStatistics(Struct, frozen=True):
    """What a whole run has read, delivered and held; `sinks` only if it has any."""

    input_rows: int
    output_rows: int
    dead_letters: int
    batches: int
    elapsed_s: float
    network: NetworkSize
    state_rows: RowsHeld
    punctuations: RowsHeld
    groups: RowsHeld
    queries: dict[str, QueryStatistics]
    sinks: dict[str, SinkStatistics] | UnsetType = UNSET

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        form: dict[str, Any] = msgspec.to_builtins(self)
        return form
