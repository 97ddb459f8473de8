"""What follows a node: its gates, lookups, fans and delivers at work on one delta after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from seine.network.nodes import (
    DeliverNode,
    FanNode,
    GateNode,
    JoinNode,
    LookupNode,
    MergeNode,
    Node,
)
from seine.network.tables import ParameterTable
from seine.operators.data_columns import DataColumns
from seine.operators.delta import Delta
from seine.operators.lookup import LookupOperator
from seine.operators.parameters import Tables, any_of, selection_of, table_columns
from seine.runtime.emission import Emission
from seine.runtime.parcels import Parcel
from seine.runtime.results import Chosen
from seine.runtime.routing import Route, route
from seine.runtime.stateless import computed, merged

if TYPE_CHECKING:
    from seine.runtime.dataflow import Dataflow


class Arrived(NamedTuple):
    """A delta, and what is computed over its columns, once for all who read it."""

    delta: Delta
    plus: DataColumns
    minus: DataColumns | None

    @staticmethod
    def of(delta: Delta) -> Arrived:
        return Arrived(
            delta, DataColumns(delta.plus), None if delta.minus is None else DataColumns(delta.minus)
        )

    def each(self, change: Callable[[pa.RecordBatch, DataColumns], pa.RecordBatch]) -> Delta:
        """The delta with both of its batches changed."""
        plus = change(self.delta.plus, self.plus)
        if self.delta.minus is None or self.minus is None:
            return Delta(plus)
        return Delta(plus, change(self.delta.minus, self.minus))


class Consumer(Protocol):
    """One input of a node at work; it knows the flow only while it works, so it can outlive a version."""

    def __call__(self, flow: Dataflow, arrived: Arrived, emission: Emission) -> None: ...


def consumer(flow: Dataflow, node: Node, port: int) -> Consumer:
    """What a node does with the rows of one of its inputs."""
    match node:
        case GateNode():
            return Gate(node, flow.tables)
        case FanNode():
            return Fan(node, flow.tables)
        case DeliverNode():
            return Deliver(node, flow.tables)
        case MergeNode():
            return Merge(node, port)
        case LookupNode():
            return Lookup(node, flow.lookup(node))
    if not node.stateful:
        raise TypeError(f"node {node.id} of kind {node.kind} cannot follow another")
    return Send(node, port, flow)


class Gate:
    """Lets pass what any of its filters wants."""

    def __init__(self, node: GateNode, tables: Tables) -> None:
        self._node = node
        self._filters = any_of(node.filters, tables)

    def __call__(self, flow: Dataflow, arrived: Arrived, emission: Emission) -> None:
        flow.push(self._node.id, arrived.each(self._passed), emission)

    def _passed(self, batch: pa.RecordBatch, columns: DataColumns) -> pa.RecordBatch:
        mask = self._filters.holds(columns, batch.num_rows)
        return batch if mask is None or mask.all() else batch.take(pa.array(np.flatnonzero(mask)))


class Lookup:
    """Joins with a relation."""

    def __init__(self, node: LookupNode, operator: LookupOperator) -> None:
        self._node = node
        self._operator = operator

    def __call__(self, flow: Dataflow, arrived: Arrived, emission: Emission) -> None:
        for piece in self._operator.apply(arrived.delta):
            flow.push(self._node.id, piece, emission)


class Merge:
    """Passes rows on with the identity of the merged output."""

    def __init__(self, node: MergeNode, port: int) -> None:
        self._node, self._port = node, port

    def __call__(self, flow: Dataflow, arrived: Arrived, emission: Emission) -> None:
        delta = arrived.each(lambda batch, _: merged(self._node, self._port, batch))
        flow.push(self._node.id, delta, emission)


class Fan:
    """Sends rows on once for each tag whose condition they satisfy."""

    def __init__(self, node: FanNode, tables: Tables) -> None:
        self._node = node
        self._selection = selection_of(node.filter, tables)
        self._constants = table_columns(tables[node.filter.table])

    def __call__(self, flow: Dataflow, arrived: Arrived, emission: Emission) -> None:
        flow.push(self._node.id, arrived.each(self._fanned), emission)

    def _fanned(self, batch: pa.RecordBatch, columns: DataColumns) -> pa.RecordBatch:
        rows, picks = self._selection.match(columns, batch.num_rows)
        at = pa.array(picks)
        constants = [column.take(at) for column in self._constants]
        tags = constants[-1] if self._node.tagged else None
        return computed(batch, columns, rows, self._node.expressions, constants, tags)


class Deliver:
    """Gives each query its records."""

    def __init__(self, node: DeliverNode, tables: Tables) -> None:
        self._node = node
        self._selection = selection_of(node.filter, tables)
        self._constants = table_columns(tables[node.filter.table])
        self._queries = Queries(tables[node.filter.table])

    def __call__(self, flow: Dataflow, arrived: Arrived, emission: Emission) -> None:
        plus = self._chosen(arrived.delta.plus, arrived.plus)
        minus = None
        if arrived.delta.minus is not None and arrived.minus is not None:
            minus = self._chosen(arrived.delta.minus, arrived.minus)
        if len(plus.picks) or (minus is not None and len(minus.picks)):
            emission.results.deliver(self._node, self._queries.names, plus, minus)

    def _chosen(self, batch: pa.RecordBatch, columns: DataColumns) -> Chosen:
        rows, picks = self._selection.match(columns, batch.num_rows)
        at = pa.array(picks)
        constants = [column.take(at) for column in self._constants]
        answers = computed(batch, columns, rows, self._node.expressions, constants)
        return self._queries.of(answers, picks)


class Queries:
    """The queries of the rows of a table, by position; mostly one each."""

    def __init__(self, table: ParameterTable) -> None:
        claims = table.claims.values()
        self.names = [query for row in claims for query in row]
        self._counts = np.fromiter((len(row) for row in claims), np.int64, len(table))
        self._firsts = np.cumsum(self._counts) - self._counts
        self._single = bool((self._counts == 1).all())

    def of(self, answers: pa.RecordBatch, picks: np.ndarray) -> Chosen:
        """Each answer once for every query of its row."""
        if self._single:
            return Chosen(answers, picks)
        counts = self._counts[picks]
        places = np.repeat(np.arange(len(picks)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return Chosen(answers.take(pa.array(places)), self._firsts[picks][places] + within)


class Send:
    """Sends rows to a stateful node, by stage and bucket."""

    def __init__(self, node: Node, port: int, flow: Dataflow) -> None:
        key = node.ports[port].key
        is_join = isinstance(node, JoinNode)
        home = None if key else flow.home(node)
        self._route = Route(node.stage, home, key, is_join, flow.needed(node, port))
        self._address = ((node.id, port),)
        self._buckets = flow.buckets

    def __call__(self, flow: Dataflow, arrived: Arrived, emission: Emission) -> None:
        delta = arrived.delta
        pieces = ((True, delta.plus, arrived.plus), (False, delta.minus, arrived.minus))
        for plus, batch, columns in pieces:
            if batch is not None and columns is not None and batch.num_rows:
                for bucket, piece in route(batch, columns, self._route, self._buckets):
                    emission.parcels[self._route.stage, bucket].append(Parcel(self._address, plus, piece))
