"""What the queries of a run hold and deliver, in numbers: which state counts for which of them.

What a run has come to, in numbers: the document that `seine run --stats` writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from seine.graph.node import Holding, Node, StatePlace
from seine.network.network import Network
from seine.runtime.folder.failures import Failure
from seine.runtime.output.totals import Totals, exact_share


@dataclass(frozen=True)
class QueryPlaces:
    """Where a query holds rows in a network: in joins, in all and by stream, punctuations, and groups.

    `limited` is the join that is limited by memory, `important` whether its records have an importance.
    """

    joins: Holding = ()
    by_stream: Mapping[tuple[str, ...], Holding] = field(default_factory=dict)
    punctuated: Holding = ()
    grouped: Holding = ()
    limited: int | None = None
    important: bool = False


class QueryFigures:
    """The places where queries hold rows, and the statistics of these."""

    def __init__(
        self, network: Network, queries: Iterable[str], before: Mapping[str, QueryPlaces] | None = None
    ) -> None:
        """One of the `queries` that is not in the network, because it failed, has the places of `before`."""
        joins = _places(network, lambda node: StatePlace(node.id) if node.is_join else None)
        punctuated = _places(network, partial(_punctuations, network))
        grouped, important = _places(network, _groups), network.important()
        nodes = network.nodes.values()
        names = [*queries]
        self._size = NetworkSize(len(nodes), sum(node.is_join for node in nodes), len(names))
        self.places = {
            query: QueryPlaces(
                joins.get(query, ()),
                network.state_places(query) if query in joins else {},
                punctuated.get(query, ()),
                grouped.get(query, ()),
                network.limited_node(query),
                query in important,
            )
            if query in network.queries
            else (before or {}).get(query, QueryPlaces())
            for query in names
        }
        self.holdings = frozenset(holding for places in self.places.values() for holding in _holdings(places))

    def statistics(
        self,
        totals: Totals,
        failures: Mapping[str, Failure],
        elapsed: float,
        sinks: dict[str, SinkStatistics] | None,
    ) -> RunStatistics:
        """What a run has come to after so many seconds."""
        return RunStatistics(
            totals.input_rows,
            totals.output_rows,
            totals.dead_letters,
            totals.batches,
            round(elapsed, 3),
            self._size,
            RowsHeld(totals.state_peak, sum(totals.state_rows.values())),
            RowsHeld(totals.punctuation_peak, sum(totals.punctuation_rows.values())),
            RowsHeld(totals.group_peak, sum(totals.group_rows.values())),
            {
                query: _query_statistics(query, places, totals, failures.get(query))
                for query, places in self.places.items()
            },
            UNSET if sinks is None else sinks,
        )


def _holdings(places: QueryPlaces) -> Iterator[Holding]:
    """What is counted of a query, as far as it is anywhere."""
    yield from filter(None, (places.joins, *places.by_stream.values(), places.punctuated, places.grouped))


def _query_statistics(
    query: str, places: QueryPlaces, totals: Totals, failure: Failure | None
) -> QueryStatistics:
    account = None if places.limited is None else totals.memory.get(places.limited)
    held = partial(_held, totals)
    statistics = QueryStatistics(
        totals.outputs.get(query, 0),
        _importance(query, totals) if places.important else None,
        0,
        held(places.joins).peak,
        held(places.joins).final,
        {", ".join(streams): held(holding) for streams, holding in places.by_stream.items()},
        held(places.punctuated),
        held(places.grouped),
    )
    if failure is not None:
        statistics = replace(statistics, failed=failure.reason)
    if account is None:
        return statistics
    share = exact_share([account])
    return replace(statistics, shed=account.shed, state_rows_peak=account.peak, exact_share=share)


def _held(totals: Totals, holding: Holding) -> RowsHeld:
    return RowsHeld(totals.held_peak.get(holding, 0), totals.held.get(holding, 0))


def _importance(query: str, totals: Totals) -> float | None:
    """The sum over all records; none where these were cut at a limit."""
    total = totals.importance.get(query, 0.0)
    return None if query in totals.cut or not math.isfinite(total) else total


def _punctuations(network: Network, node: Node) -> StatePlace | None:
    """Where a node holds punctuations, if any come to it."""
    listens = any(network.nodes[port.node].is_punctuation for port in node.ports)
    return StatePlace(node.id, punctuations=True) if listens else None


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
