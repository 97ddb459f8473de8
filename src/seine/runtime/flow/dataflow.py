"""The compiled network: pushes rows from a node through all stateless nodes that follow it.

Rows end up at ports of stateful nodes, as parcels by stage and bucket, or are delivered.

The exchange in front of a stateful node: its input leaves the task, by stage and bucket (a shuffle).

The input of a node that is chained to it stays in the task.

Hash partitioning: rows by the bucket of their key, with no more columns than are needed there.

The cache of compiled network versions of a process: what a task runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray
from seine.algebra.expressions import Expression, columns_of
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate
from seine.graph.node import Node
from seine.graph.snapshot import Snapshot
from seine.operators.match.prefilter import PrefilterStep
from seine.operators.state.work_budget import NodeFault, WorkMeter, first_fault
from seine.operators.state.working_nodes import (
    ArrivedDelta,
    Operator,
    PruningOperator,
    Pushing,
    RelationAccess,
    StatefulNode,
    StatelessNode,
)
from seine.operators.stream.source import PunctuationsNode, SourceNode
from seine.rare_collections import rare_collections, set_aside, set_aside_after_task
from seine.rows.delta import ARRIVAL_NUMBER, Delta, PartialAggregates, carried_names
from seine.rows.hashing import bucket_of, hash_columns, null_mask
from seine.runtime.flow.parcels import Emission, Parcel
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.kept_functions import load_functions
from seine.runtime.folder.relation_files import RelationFiles
from seine.runtime.folder.settings import cache_of_this_machine
from seine.runtime.folder.versions import Version
from seine.storage.local import store_at


class Consumer(Protocol):
    """One input of a node at work; it knows the flow only while it works, so it can outlive a version."""

    def __call__(self, flow: Dataflow, arrived: ArrivedDelta, emission: Emission) -> None: ...


class Dataflow:
    """A network version compiled for running; shared by all tasks of a worker process.

    What follows a node is compiled when rows first come to it.
    """

    def __init__(
        self, snapshot: Snapshot, buckets: int, relations: RelationAccess, budget: int | None = None
    ) -> None:
        """`budget` is what all joins within a memory may hold together, in tuples."""
        self.nodes = snapshot.nodes
        self.tables = snapshot.tables
        self.buckets = buckets
        self.relations = relations
        self.budget = budget
        self.sources: dict[str, list[SourceNode]] = defaultdict(list)  # several after ALTER STREAM
        self.punctuations: dict[str, list[PunctuationsNode]] = defaultdict(list)
        self._following: dict[int, list[tuple[Node, int]]] = defaultdict(list)
        self._regrouping: dict[int, list[tuple[Node, int]]] = defaultdict(list)
        self._stages: dict[int, list[Node]] = defaultdict(list)
        self._listeners: dict[int, list[Node]] = defaultdict(list)
        for node in sorted(self.nodes.values(), key=lambda node: node.id):
            if node.work_at != node.id:
                self._listeners[node.work_at].append(node)
            for port in node.receiving:
                following = self._regrouping if node.reads_parts else self._following
                following[node.ports[port].node].append((node, port))
            if isinstance(node, SourceNode):
                self.sources[node.stream].append(node)
            if isinstance(node, PunctuationsNode):
                self.punctuations[node.stream].append(node)
            if node.stateful:
                self._stages[node.stage].append(node)
        self.numbered = {
            i for node in self.nodes.values() if node.numbered for i in self._sources_of(node)
        }  # sources whose tuples are numbered
        self._consumers: dict[tuple[int, int], Consumer] = {}
        self._operators: dict[int, Operator] = {}
        self._read: dict[int, frozenset[str] | None] = {}

    @property
    def made(self) -> int:
        """How many consumers and operators have been compiled."""
        return len(self._consumers) + len(self._operators)

    def follow(self, before: Dataflow, changed: Set[int]) -> Dataflow:
        """Take over from an earlier version what was compiled for nodes that have not changed.

        An operator that depends on its readers is compiled anew also if these have changed.
        """
        same = self.nodes.keys() - changed - self._listened_to(changed) - before._listened_to(changed)
        self._consumers = {key: made for key, made in before._consumers.items() if key[0] in same}
        self._operators = {
            i: made
            for i, made in before._operators.items()
            if i in same and not (self.nodes[i].asks_readers and self._reads_anew(i, before, changed))
        }
        return self

    def _listened_to(self, changed: Set[int]) -> set[int]:
        """The nodes of which a listener has changed: their operators hold what it asks for."""
        return {i for i, nodes in self._listeners.items() if any(node.id in changed for node in nodes)}

    def listeners(self, node_id: int) -> Sequence[Node]:
        """The nodes whose input a node's operator works on, behind its own ports."""
        return self._listeners.get(node_id, ())

    def readers(self, node_id: int) -> Iterator[Node]:
        """The nodes to which the rows of a node go."""
        return (node for node, _ in self._following.get(node_id, ()))

    def _reads_anew(self, node_id: int, before: Dataflow, changed: Set[int]) -> bool:
        """Do others follow a node than before, or do they ask for something else?"""
        now, then = ({node.id for node in flow.readers(node_id)} for flow in (self, before))
        return now != then or bool(now & changed)

    def stateful(self, stage: int, bucket: int) -> Iterator[Node]:
        """The stateful nodes of a stage that live in a bucket."""
        for node in self._stages[stage]:
            if node.most_buckets is not None and bucket >= node.most_buckets:
                continue
            if node.ports[0].key or self.home(node) == bucket:
                yield node

    def home(self, node: Node) -> int:
        """The one bucket of a node whose rows have no routing key; those that share a budget are together."""
        if self.budget is not None and node.budgeted:
            return 0
        return node.id % self.buckets

    def operator(self, node: Node) -> Operator:
        if node.id not in self._operators:
            assert isinstance(node, StatefulNode)
            self._operators[node.id] = node.make_operator(self)
        return self._operators[node.id]

    def _sources_of(self, node: Node) -> list[int]:
        """The sources that a node reads, directly or through what passes its rows on."""
        below = [self.nodes[i] for i in node.inputs]
        return [input_.id if input_.is_leaf else input_.inputs[0] for input_ in below]

    def needed(self, node: Node, port: int) -> tuple[str, ...] | None:
        """The data columns that a stateful node needs at a port; None if all."""
        if not node.is_join:  # others may need what only their stage has, users' aggregates
            return None
        operator = self.operator(node)
        assert isinstance(operator, PruningOperator)
        return operator.needed(port)

    def read_of(self, node_id: int) -> frozenset[str] | None:
        """The data columns of a node's output that stateful nodes behind it read; None if that may be all."""
        if node_id not in self._read:
            following = self._following.get(node_id, ())
            needed = [self.needed(node, port) if node.stateful else None for node, port in following]
            keys = [columns_of(e) for node, port in following for e in node.ports[port].key]
            known = [names for names in needed if names is not None]
            names = frozenset(chain(*known, (f"c{i}" for i in chain(*keys))))
            self._read[node_id] = names if len(known) == len(following) else None
        return self._read[node_id]

    def push(
        self,
        node_id: int,
        output: Delta | PartialAggregates,
        emission: Emission,
        to: Callable[[Node], bool] | None = None,
    ) -> None:
        """Send a node's output to all that follow from it without state, or to some of them.

        Parts go to those who regroup them.
        """
        following = (self._regrouping if isinstance(output, PartialAggregates) else self._following)[node_id]
        if to is not None:
            following = [(node, port) for node, port in following if to(node)]
        if not following or (isinstance(output, Delta) and not output.num_rows):
            return
        meter = emission.meter
        consumers = [
            self._consumers.get((node.id, port)) or self._consumer(node, port, meter)
            for node, port in following
        ]
        with meter.at(node_id):
            delta = (
                Delta(output.make(partial(_wanted_by, consumers)))
                if isinstance(output, PartialAggregates)
                else output
            )
        if not delta.num_rows:
            return
        emission.sent[node_id] += delta.num_rows
        if self.nodes[node_id].is_metered:
            meter.emitted(node_id, delta.nbytes)
        meter.passed(node_id, delta.num_rows, (node.id for node, _ in following))
        arrived = ArrivedDelta.of(delta)
        faults = []
        for (node, _), one in zip(following, consumers, strict=True):
            try:
                with meter.at(node.id):
                    one(self, arrived, emission)
            # others are tried all the same: so one try finds all that are at fault
            except NodeFault as fault:
                if fault.kind == "memory":
                    raise
                faults.append(fault)
        if faults:
            raise first_fault(faults)

    def _consumer(self, node: Node, port: int, meter: WorkMeter) -> Consumer:
        """Compile what a node does with the rows of one of its inputs; what that raises is its fault."""
        with meter.at(node.id):
            made = self._consumers[node.id, port] = self._compiled(node, port)
        return made

    def _compiled(self, node: Node, port: int) -> Consumer:
        """What a node does with the rows of one of its inputs."""
        if isinstance(node, StatelessNode):
            return node.make_step(port, self)
        return SendRows(node, port, self.nodes[node.work_at], self)


def _wanted_by(steps: Sequence[Consumer], keys: pa.RecordBatch) -> BoolArray | None:
    """The groups, by their keys, of which somebody wants the parts; None if all."""
    columns = DataColumns(keys)
    if not all(isinstance(step, PrefilterStep) for step in steps):
        return None  # windows are of all panes
    masks = [step.wants(columns, keys.num_rows) for step in steps if isinstance(step, PrefilterStep)]
    known = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(known) if len(known) == len(masks) else None


class OperatorPlacement(Protocol):
    """Where the operators of a version are, and what they read."""

    @property
    def buckets(self) -> int: ...

    @property
    def nodes(self) -> Mapping[int, Node]: ...

    def home(self, node: Node) -> int:
        """The one bucket of a node whose rows have no routing key."""
        ...

    def needed(self, node: Node, port: int) -> tuple[str, ...] | None:
        """The data columns that a node needs at a port; None if all."""
        ...


class SendRows:
    """One input of a stateful node: sends rows to it, by stage and bucket."""

    def __init__(self, node: Node, port: int, worker: Node, placement: OperatorPlacement) -> None:
        """`worker` is the node whose operator works on the rows: mostly the node itself."""
        target = node.ports[port]
        self._stays = placement.nodes[target.node].stage == worker.stage
        home = None if worker.ports[0].key else placement.home(worker)
        needed = placement.needed(node, port)
        self._route = Route(
            worker.stage,
            home,
            target.key,
            worker.drops_null_keys,
            needed,
            node.numbered,
            target.broadcast,
            target.spread,
        )
        self._address = ((node.id, port),)
        self._buckets = 1 if self._stays else min(placement.buckets, worker.most_buckets or placement.buckets)

    def __call__(self, flow: Pushing[Emission], arrived: ArrivedDelta, emission: Emission) -> None:
        delta = arrived.delta
        pieces = ((True, delta.plus, arrived.plus), (False, delta.minus, arrived.minus))
        for plus, batch, columns in pieces:
            if batch is not None and columns is not None and batch.num_rows:
                for bucket, piece in route(batch, columns, self._route, self._buckets):
                    parcels = emission.kept if self._stays else emission.parcels[self._route.stage, bucket]
                    parcels.append(Parcel(self._address, plus, piece))


class Route(NamedTuple):
    """A stage, the buckets of a key or the one of a node, and the data columns that travel (None: all)."""

    stage: int
    home: int | None
    key: tuple[Expression, ...]
    drop_null: bool  # NULL joins nothing
    columns: tuple[str, ...] | None
    numbered: bool = False  # arrival numbers travel too
    broadcast: bool = False  # to all buckets
    spread: tuple[int, ...] = ()  # the parts of the key that choose the bucket; none: all


def route(
    batch: pa.RecordBatch, columns: DataColumns, to: Route, buckets: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a batch by bucket, with the hash of their key in front."""
    keys = [evaluate(e, columns, batch.num_rows) for e in to.key]
    if to.columns is not None:
        number = [ARRIVAL_NUMBER] if to.numbered else []
        batch = batch.select([*carried_names(batch), *number, *to.columns])
    missing = null_mask(keys) if to.drop_null else None
    if missing is not None:
        known = pa.array(np.flatnonzero(~missing))
        batch, keys = batch.take(known), [key.take(known) for key in keys]
    if not batch.num_rows:
        return
    hashes = hash_columns(keys, batch.num_rows)
    keyed = pa.RecordBatch.from_arrays([pa.array(hashes), *batch.columns], ["_k", *batch.schema.names])
    if to.broadcast and to.home is None:
        yield from ((bucket, keyed) for bucket in range(buckets))
        return
    if to.home is not None or buckets == 1:
        yield to.home or 0, keyed
        return
    chosen_by = hash_columns([keys[i] for i in to.spread], batch.num_rows) if to.spread else hashes
    places = bucket_of(chosen_by, buckets)
    order = np.argsort(places, kind="stable")
    sorted_rows, bounds = keyed.take(pa.array(order)), np.searchsorted(places[order], np.arange(buckets + 1))
    for bucket in np.flatnonzero(np.diff(bounds)).tolist():
        yield bucket, sorted_rows.slice(bounds[bucket], bounds[bucket + 1] - bounds[bucket])


@dataclass(frozen=True)
class CompiledVersion:
    """A network version without the queries that are withheld, and the dataflow that runs it."""

    version: Version
    flow: Dataflow
    withheld: frozenset[str] = frozenset()


def compile_version(
    deployment: Deployment,
    number: int,
    before: CompiledVersion | None = None,
    withheld: frozenset[str] = frozenset(),
) -> CompiledVersion:
    """A network version ready to run; cheap if an earlier one is given, which lends what has not changed.

    Without some of its queries it is made anew: they failed, and that is rare.
    """
    buckets, budget = len(deployment.settings.labels), deployment.settings.memory
    if withheld:
        version = deployment.versions.without(number, withheld)
        relations = _relations(deployment, version)
        return CompiledVersion(version, Dataflow(version.snapshot, buckets, relations, budget), withheld)
    version, changed = deployment.versions.load(number, before.version if before else None)
    if before is None or changed is None or before.version.relations != version.relations:
        relations = _relations(deployment, version)
        return CompiledVersion(version, Dataflow(version.snapshot, buckets, relations, budget))
    flow = Dataflow(version.snapshot, buckets, before.flow.relations, budget)
    return CompiledVersion(version, flow.follow(before.flow, changed))


def _relations(deployment: Deployment, version: Version) -> RelationFiles:
    cache = cache_of_this_machine(deployment.settings.cache)
    return RelationFiles(deployment.store, version.relations, cache)


_compiled: dict[str, CompiledVersion] = {}
_set_aside_at: tuple[int, int] | None = None  # the dataflow that was set aside, and what it had made by then


def compiled_version(folder: str, number: int, withheld: tuple[str, ...] = ()) -> CompiledVersion:
    """A network version, compiled once in each process; the next one is made from the last.

    What it calls is made with it: where functions have changed nothing is lent.
    """
    if load_functions(store_at(folder)):
        _compiled.clear()
    last, without = _compiled.get(folder), frozenset(withheld)
    if last is None or (last.version.number, last.withheld) != (number, without):
        _compiled.clear()  # one pipeline at a time is at work here
        newer = last is not None and last.version.number < number and not last.withheld
        with rare_collections():
            _compiled[folder] = compile_version(Deployment(folder), number, last if newer else None, without)
    return _compiled[folder]


def set_compiled_aside(here: CompiledVersion) -> None:
    """Leave what was compiled out of garbage collections; most of it is made when rows first come."""
    global _set_aside_at
    mark = id(here.flow), here.flow.made
    if mark != _set_aside_at:
        _set_aside_at = mark
        set_aside()
    else:
        set_aside_after_task()
