"""The network at work: pushes rows from a node through everything stateless behind it.

Rows end up at ports of stateful nodes, as parcels by stage and bucket, or at outputs.
Selections of one shape are evaluated together; outputs of one form behind them too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, split_shape
from seine.network.nodes import (
    JoinNode,
    LookupNode,
    MergeNode,
    Node,
    OutputNode,
    ProjectNode,
    SelectNode,
    SourceNode,
)
from seine.operators.data_columns import DataColumns
from seine.operators.delta import Delta, data_names, identity_names
from seine.operators.evaluate import evaluate
from seine.operators.hashing import bucket_of, hash_columns, null_mask
from seine.operators.lookup import LookupOperator
from seine.operators.operator import Operator
from seine.operators.selection import Pairs, SelectionGroup
from seine.runtime.parcels import Parcel
from seine.runtime.registry import make_operator
from seine.runtime.results import Results

Lookups = Callable[[LookupNode], LookupOperator]
OutputForm = tuple[tuple[Expression, ...] | None, tuple[str, ...], str, int]


class Emission:
    """What one task produces: parcels for later stages, and results."""

    def __init__(self, results: Results) -> None:
        self.parcels: dict[tuple[int, int], list[Parcel]] = defaultdict(list)
        self.results = results


class Route(NamedTuple):
    """Where rows go that several ports share: a stage, and the buckets of a key or the one of a node."""

    stage: int
    home: int | None
    key: tuple[Expression, ...]
    drop_null: bool  # NULL joins nothing


class Dataflow:
    """A network version compiled for running; shared by all tasks of a worker process."""

    def __init__(self, nodes: Iterable[Node], buckets: int, lookups: Lookups) -> None:
        self.nodes = {node.id: node for node in nodes}
        self.buckets = buckets
        self._lookups = lookups
        self._lookup_operators: dict[int, LookupOperator] = {}
        self.sources = {node.stream: node.id for node in self.nodes.values() if isinstance(node, SourceNode)}
        self._consumers: dict[int, list[tuple[Node, int]]] = defaultdict(list)
        for node in self.nodes.values():
            for index, port in enumerate(node.ports):
                self._consumers[port.node].append((node, index))
        self._stages: dict[int, list[Node]] = defaultdict(list)
        for node in self.nodes.values():
            if node.stateful:
                self._stages[node.stage].append(node)
        self._fans: dict[int, Fan] = {}
        self._operators: dict[int, Operator] = {}

    def stateful(self, stage: int, bucket: int) -> Iterator[Node]:
        """The stateful nodes of a stage that live in a bucket."""
        for node in self._stages[stage]:
            if node.ports[0].key or self.home(node) == bucket:
                yield node

    def home(self, node: Node) -> int:
        """The one bucket of a node whose rows have no routing key."""
        return node.id % self.buckets

    def operator(self, node: Node) -> Operator:
        if node.id not in self._operators:
            self._operators[node.id] = make_operator(node)
        return self._operators[node.id]

    def lookup(self, node: LookupNode) -> LookupOperator:
        if node.id not in self._lookup_operators:
            self._lookup_operators[node.id] = self._lookups(node)
        return self._lookup_operators[node.id]

    def push(self, node_id: int, delta: Delta, emission: Emission) -> None:
        """Send a node's output to all that follow from it without state."""
        if not delta.num_rows:
            return
        if node_id not in self._fans:
            self._fans[node_id] = Fan(self, self._consumers[node_id])
        self._fans[node_id].push(delta, emission)

    def consumers(self, node_id: int) -> list[tuple[Node, int]]:
        return self._consumers[node_id]


class Fan:
    """The consumers of one node, arranged so that like is done together."""

    def __init__(self, flow: Dataflow, consumers: list[tuple[Node, int]]) -> None:
        self.flow = flow
        self.others: list[tuple[Node, int]] = []
        self.ports: dict[Route, list[tuple[Node, int]]] = defaultdict(list)
        by_shape: dict[Expression, list[SelectNode]] = defaultdict(list)
        for node, index in consumers:
            if isinstance(node, SelectNode):
                by_shape[split_shape(node.predicate)[0]].append(node)
            elif node.stateful:
                key = node.ports[index].key
                home = None if key else flow.home(node)
                self.ports[Route(node.stage, home, key, isinstance(node, JoinNode))].append((node, index))
            else:
                self.others.append((node, index))
        self.groups = [SelectionFan(flow, nodes) for nodes in by_shape.values()]

    def push(self, delta: Delta, emission: Emission) -> None:
        for group in self.groups:
            group.push(delta, emission)
        for node, index in self.others:
            self._push_stateless(node, index, delta, emission)
        for to, targets in self.ports.items():
            addresses = tuple((target.id, index) for target, index in targets)
            for plus, batch in ((True, delta.plus), (False, delta.minus)):
                if batch is not None and batch.num_rows:
                    for bucket, piece in route(batch, to, self.flow.buckets):
                        emission.parcels[to.stage, bucket].append(Parcel(addresses, plus, piece))

    def _push_stateless(self, node: Node, index: int, delta: Delta, emission: Emission) -> None:
        if isinstance(node, OutputNode):
            emission.results.deliver(node, delta)
        elif isinstance(node, ProjectNode):
            self.flow.push(node.id, _each(delta, lambda batch: project(node.expressions, batch)), emission)
        elif isinstance(node, MergeNode):
            merged = _each(delta, lambda batch: merge(node, index, batch))
            self.flow.push(node.id, merged, emission)
        elif isinstance(node, LookupNode):
            for piece in self.flow.lookup(node).apply(delta):
                self.flow.push(node.id, piece, emission)
        else:
            raise TypeError(f"node {node.id} of kind {node.kind} cannot follow another")


class SelectionFan:
    """The selections of one shape behind one node, and what follows each of them."""

    def __init__(self, flow: Dataflow, nodes: list[SelectNode]) -> None:
        self.flow = flow
        self.nodes = nodes
        self.group = SelectionGroup.of([node.predicate for node in nodes])
        self.bulk: dict[OutputForm, tuple[OutputNode, list[int], list[str]]] = {}
        self.single: list[int] = []
        for i, node in enumerate(nodes):
            if not self._add_bulk(i, node):
                self.single.append(i)

    def _add_bulk(self, i: int, node: SelectNode) -> bool:
        """A selection with nothing but one output behind it joins those of the same form."""
        consumers = self.flow.consumers(node.id)
        expressions = None
        if len(consumers) == 1 and isinstance(consumers[0][0], ProjectNode):
            expressions = consumers[0][0].expressions
            consumers = self.flow.consumers(consumers[0][0].id)
        outputs = [consumer for consumer, _ in consumers if isinstance(consumer, OutputNode)]
        if node.identities or len(outputs) != 1 or len(consumers) != 1 or outputs[0].changelog:
            return False
        output = outputs[0]
        form = (expressions, output.names, output.domain, output.limit)
        _, members, queries = self.bulk.setdefault(form, (output, [], []))
        members.append(i)
        queries.append(output.query)
        return True

    def push(self, delta: Delta, emission: Emission) -> None:
        plus = self._matches(delta.plus)
        minus = self._matches(delta.minus) if delta.minus is not None else None
        for form, (output, members, queries) in self.bulk.items():
            rows, picks = _of_members(plus, members, len(self.nodes))
            if len(rows):
                batch = delta.plus.take(pa.array(rows))
                batch = batch if form[0] is None else project(form[0], batch)
                emission.results.deliver_many(output, batch, queries, picks)
        for i in self._hit_singles(plus, minus):
            piece = Delta(_pick(delta.plus, plus, i), None if minus is None else _pick(delta.minus, minus, i))
            self.flow.push(self.nodes[i].id, piece, emission)

    def _hit_singles(self, *matches: Pairs | None) -> list[int]:
        """The selections with other things behind them that some row satisfies."""
        hit = np.zeros(len(self.nodes), bool)
        for pairs in matches:
            if pairs is not None:
                hit[pairs[1]] = True
        return [i for i in self.single if hit[i]]

    def _matches(self, batch: pa.RecordBatch) -> Pairs:
        return self.group.match(DataColumns(batch), batch.num_rows)


def _of_members(pairs: Pairs, members: list[int], count: int) -> Pairs:
    rows, picks = pairs
    if len(members) == count:
        return rows, picks
    place = np.full(count, -1)
    place[members] = np.arange(len(members))
    mine = place[picks] >= 0
    return rows[mine], place[picks[mine]]


def _pick(batch: pa.RecordBatch | None, pairs: Pairs, i: int) -> pa.RecordBatch:
    rows, picks = pairs
    assert batch is not None
    low, high = np.searchsorted(picks, [i, i + 1])
    return batch if high - low == batch.num_rows else batch.take(pa.array(rows[low:high]))


def _each(delta: Delta, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Delta:
    return Delta(change(delta.plus), None if delta.minus is None else change(delta.minus))


def data_columns(batch: pa.RecordBatch) -> list[pa.Array]:
    return [batch.column(i) for i, name in enumerate(batch.schema.names) if name[0] == "c"]


def _system(batch: pa.RecordBatch) -> tuple[list[str], list[pa.Array]]:
    names = [name for name in batch.schema.names if name[0] == "_"]
    return names, [batch.column(name) for name in names]


def project(expressions: tuple[Expression, ...], batch: pa.RecordBatch) -> pa.RecordBatch:
    names, system = _system(batch)
    columns = data_columns(batch)
    computed = [evaluate(e, columns, batch.num_rows) for e in expressions]
    return pa.RecordBatch.from_arrays(system + computed, names + data_names(len(computed)))


def merge(node: MergeNode, index: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give the rows of one input the identity of the merged output."""
    if not node.identities:
        return batch
    names, system = _system(batch)
    lives = [(n, a) for n, a in zip(names, system, strict=True) if not n.startswith("_i")]
    parts = [a for n, a in zip(names, system, strict=True) if n.startswith("_i")]
    parts = [_constant(index, batch.num_rows), *parts]
    parts += [_constant(-1, batch.num_rows)] * (node.identities - len(parts))
    columns = data_columns(batch)
    return pa.RecordBatch.from_arrays(
        [a for _, a in lives] + parts + columns,
        [n for n, _ in lives] + identity_names(node.identities) + data_names(len(columns)),
    )


def _constant(value: int, count: int) -> pa.Array:
    return pa.array(np.full(count, value, np.int64))


def route(batch: pa.RecordBatch, to: Route, buckets: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a batch by bucket, with the hash of their key in front."""
    columns = data_columns(batch)
    keys = [evaluate(e, columns, batch.num_rows) for e in to.key]
    missing = null_mask(keys) if to.drop_null else None
    if missing is not None:
        known = pa.array(np.flatnonzero(~missing))
        batch, keys = batch.take(known), [key.take(known) for key in keys]
    if not batch.num_rows:
        return
    hashes = hash_columns(keys, batch.num_rows)
    keyed = pa.RecordBatch.from_arrays([pa.array(hashes), *batch.columns], ["_k", *batch.schema.names])
    if to.home is not None or buckets == 1:
        yield to.home or 0, keyed
        return
    places = bucket_of(hashes, buckets)
    order = np.argsort(places, kind="stable")
    sorted_rows, bounds = keyed.take(pa.array(order)), np.searchsorted(places[order], np.arange(buckets + 1))
    for bucket in np.flatnonzero(np.diff(bounds)).tolist():
        yield bucket, sorted_rows.slice(bounds[bucket], bounds[bucket + 1] - bounds[bucket])
