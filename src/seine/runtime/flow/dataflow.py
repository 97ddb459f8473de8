"""The network at work: pushes rows from a node through everything stateless behind it.

Rows end up at ports of stateful nodes, as parcels by stage and bucket, or are delivered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from itertools import chain
from typing import Protocol

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, columns_of
from seine.evaluate.data_columns import DataColumns
from seine.graph.nodes import (
    JOINS,
    AggregateNode,
    DerivedPunctuationsNode,
    JoinNode,
    LimitedNode,
    LookupNode,
    MultiJoinNode,
    Node,
    PunctuationsNode,
    RegroupNode,
    SourceNode,
)
from seine.graph.snapshot import Snapshot
from seine.operators.group.aggregate import AggregateOperator
from seine.operators.group.having_count import least_rows
from seine.operators.join.join import JoinOperator
from seine.operators.join.lookup import LookupOperator
from seine.operators.join.relation_index import RelationIndex
from seine.operators.join.time_bounds import reaches
from seine.operators.limited.limited_join import LimitedOperator
from seine.operators.match.any_of import AnyOf
from seine.operators.match.filters import any_of
from seine.operators.multi_join.multi_join import MultiJoinOperator
from seine.operators.multi_join.multi_time_bounds import bounds_of
from seine.operators.state.operator import Operator
from seine.rows.arrays import Bools
from seine.rows.delta import Delta, Parts
from seine.runtime.flow.consumers import ArrivedDelta, Consumer, PrefilterStep, consumer
from seine.runtime.flow.emission import Emission
from seine.runtime.flow.registry import make_operator


class Lookups(Protocol):
    """Access to relations: what looks them up for a node, and their tuples by a key."""

    def __call__(self, node: LookupNode, filters: AnyOf) -> LookupOperator: ...

    def index(self, relation: str, key: tuple[Expression, ...]) -> RelationIndex: ...

    def tuples(self, relation: str) -> pa.RecordBatch: ...


class Dataflow:
    """A network version compiled for running; shared by all tasks of a worker process.

    What follows a node is compiled when rows first come to it.
    """

    def __init__(self, snapshot: Snapshot, buckets: int, lookups: Lookups, budget: int | None = None) -> None:
        """`budget` is what all joins within a memory may hold together, in tuples."""
        self.nodes = snapshot.nodes
        self.tables = snapshot.tables
        self.buckets = buckets
        self.lookups = lookups
        self.budget = budget
        self.sources = {node.stream: node for node in self.nodes.values() if isinstance(node, SourceNode)}
        self.punctuations: dict[str, list[PunctuationsNode]] = defaultdict(list)
        self._following: dict[int, list[tuple[Node, int]]] = defaultdict(list)
        self._regrouping: dict[int, list[tuple[Node, int]]] = defaultdict(list)
        self._stages: dict[int, list[Node]] = defaultdict(list)
        self._tells: dict[int, list[DerivedPunctuationsNode]] = defaultdict(list)
        for node in sorted(self.nodes.values(), key=lambda node: node.id):
            if isinstance(node, DerivedPunctuationsNode):
                self._tells[node.inputs[0]].append(node)
                self._following[node.inputs[1]].append((node, 1))
                continue
            for port, input_ in enumerate(node.ports):
                following = self._regrouping if isinstance(node, RegroupNode) else self._following
                following[input_.node].append((node, port))
            if isinstance(node, PunctuationsNode):
                self.punctuations[node.stream].append(node)
            if node.stateful:
                self._stages[node.stage].append(node)
        self.numbered = {i for node in self._limited for i in self._sources_of(node)}
        self._consumers: dict[tuple[int, int], Consumer] = {}
        self._operators: dict[int, Operator] = {}
        self._read: dict[int, frozenset[str] | None] = {}

    def follow(self, before: Dataflow, changed: Set[int]) -> Dataflow:
        """Take over from an earlier version what was compiled for nodes that have not changed.

        An aggregate is compiled anew also if what follows it has changed, for that says what it emits.
        """
        same = self.nodes.keys() - changed - self._telling(changed) - before._telling(changed)
        self._consumers = {key: made for key, made in before._consumers.items() if key[0] in same}
        self._operators = {
            i: made
            for i, made in before._operators.items()
            if i in same
            and not (isinstance(made, AggregateOperator) and self._reads_anew(i, before, changed))
        }
        return self

    def _telling(self, changed: Set[int]) -> set[int]:
        """The joins whose listeners have changed: a join derives the punctuations that its listeners want."""
        return {
            join for join, listeners in self._tells.items() if any(node.id in changed for node in listeners)
        }

    def tells(self, join: int) -> Sequence[DerivedPunctuationsNode]:
        """The nodes that want punctuations of a join's output, which the join derives."""
        return self._tells.get(join, ())

    def _reads_anew(self, node_id: int, before: Dataflow, changed: Set[int]) -> bool:
        """Do others follow a node than before, or do they ask for something else?"""
        now, then = ({node.id for node, _ in flow._following.get(node_id, ())} for flow in (self, before))
        return now != then or bool(now & changed)

    def stateful(self, stage: int, bucket: int) -> Iterator[Node]:
        """The stateful nodes of a stage that live in a bucket."""
        for node in self._stages[stage]:
            if node.ports[0].key or self.home(node) == bucket:
                yield node

    def home(self, node: Node) -> int:
        """The one bucket of a node whose rows have no routing key; those that share a budget are together."""
        if self.budget is not None and isinstance(node, LimitedNode):
            return 0
        return node.id % self.buckets

    def operator(self, node: Node) -> Operator:
        if node.id not in self._operators:
            self._operators[node.id] = self._make_operator(node)
        return self._operators[node.id]

    def _make_operator(self, node: Node) -> Operator:
        match node:
            case AggregateNode():
                above = (following for following, _ in self._following.get(node.id, ()))
                return AggregateOperator(node, least=least_rows(node, above, self.tables))
            case JoinNode():
                filters, tells = any_of(node.filters, self.tables), self.tells(node.id)
                return JoinOperator(node, filters, reaches(node, self.tables), tells, self.buckets)
            case LimitedNode():
                return LimitedOperator(node, self.lookups.index)
            case MultiJoinNode():
                return MultiJoinOperator(
                    node,
                    any_of(node.filters, self.tables),
                    bounds_of(node, self.tables),
                    [self.lookups.tuples(static.relation) for static in node.statics],
                    tells=self.tells(node.id),
                    buckets=self.buckets,
                )
        return make_operator(node)

    @property
    def _limited(self) -> list[Node]:
        return [node for node in self.nodes.values() if isinstance(node, LimitedNode)]

    def _sources_of(self, node: Node) -> list[int]:
        """The sources beneath a node's prefilters."""
        return [self.nodes[prefilter].inputs[0] for prefilter in node.inputs]

    def lookup(self, node: LookupNode) -> LookupOperator:
        return self.lookups(node, any_of(node.filters, self.tables))

    def needed(self, node: Node, port: int) -> tuple[str, ...] | None:
        """The data columns that a stateful node needs at a port; None if all."""
        if node.kind not in JOINS:  # others may need what only their stage has, users' aggregates
            return None
        operator = self.operator(node)
        assert isinstance(operator, JoinOperator | LimitedOperator | MultiJoinOperator)
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
        output: Delta | Parts,
        emission: Emission,
        to: Callable[[Node], bool] | None = None,
    ) -> None:
        """Send a node's output to all that follow from it without state, or to some of them.

        Parts go to those who regroup them.
        """
        following = (self._regrouping if isinstance(output, Parts) else self._following)[node_id]
        if to is not None:
            following = [(node, port) for node, port in following if to(node)]
        if not following or (isinstance(output, Delta) and not output.num_rows):
            return
        consumers = [self._consumer(node, port) for node, port in following]
        delta = Delta(output.make(partial(_wanted_by, consumers))) if isinstance(output, Parts) else output
        if not delta.num_rows:
            return
        arrived = ArrivedDelta.of(delta)
        for one in consumers:
            one(self, arrived, emission)

    def _consumer(self, node: Node, port: int) -> Consumer:
        if (node.id, port) not in self._consumers:
            self._consumers[node.id, port] = consumer(self, node, port)
        return self._consumers[node.id, port]


def _wanted_by(consumers: Sequence[Consumer], keys: pa.RecordBatch) -> Bools | None:
    """The groups, by their keys, of which somebody wants the parts; None if all."""
    columns = DataColumns(keys)
    masks = [step.wants(columns, keys.num_rows) for step in consumers if isinstance(step, PrefilterStep)]
    known = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(known) if len(known) == len(masks) else None
