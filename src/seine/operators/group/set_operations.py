"""Set operations on the rows that are alive: UNION, DISTINCT, EXCEPT, INTERSECT, and those of bags.

Law of merge (UNION ALL): its output is the concatenation of its inputs. Without state: where rows may end
early, the identity of a row tells its input and tag, so that rows of two inputs are never taken for one
another.

Law of distinct (DISTINCT, UNION): at every instant the output has each row once that is alive in any input.

Law of except: it has each row once that is alive in the first input and not in the second.

Law of multiset (EXCEPT ALL, INTERSECT [ALL], semi and anti joins over the pairs of a join): it has each row
f(m, n) times, where m and n are how often it is alive in the first and in the second input.

    SELECT a FROM s INTERSECT ALL SELECT b FROM t               f = min(m, n)
    SELECT a FROM s ANTI JOIN t ON s.k = t.k                    f = m if n = 0, else 0

    rows ──> events ──(progress)──> groups by all columns: counts of each input
                                    ──> + when a row begins to be there, - when it no longer is
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Expression
from seine.algebra.plan import SetKind
from seine.graph.node import Node, NodesView, Signature
from seine.operators.group.copies import Copies
from seine.operators.group.group_release import Releases, Releasing
from seine.operators.group.grouped import SECOND, Grouped
from seine.operators.match.fan import FanNode
from seine.operators.state.event_queue import EventColumns, EventTimes
from seine.operators.state.keyed_table import HASH
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import (
    AnyOutput,
    ArrivedDelta,
    HostFlow,
    Pushing,
    StatefulNode,
    StatelessNode,
)
from seine.rows.clock import Clock
from seine.rows.delta import Delta, PartialAggregates, data_names, identity_names
from seine.rows.grouping import normalise


@dataclass(frozen=True)
class SetOperatorNode(Node):
    """A pipeline breaker of whole rows: its columns are those of its inputs, tag first."""

    @property
    @abstractmethod
    def row_inputs(self) -> int:
        """How many of its ports bring rows; the others, behind them, bring punctuations."""

    @property
    def partition_keys(self) -> tuple[frozenset[Expression], ...]:
        return tuple(frozenset((key,)) for key in self.ports[0].key)

    @property
    def passed_columns(self) -> Sequence[int]:
        return self.ports[0].key_columns

    @property
    def operation(self) -> Hashable:
        """What it does to its rows, where nodes of one kind differ in that."""
        return self.kind

    def signature(self, standing: NodesView) -> Signature:
        return breaker_signature(self, [standing.nodes[i] for i in self.inputs[: self.row_inputs]])


def breaker_signature(node: SetOperatorNode, inputs: Sequence[Node]) -> Signature:
    """A set operator with the fans that feed it."""
    keys = tuple(port.key for port in node.ports[: len(inputs)])
    return (node.operation, keys, tuple(map(_feeding, inputs)), node.owner)


def _feeding(node: Node) -> Hashable:
    if not isinstance(node, FanNode):
        return node.id
    return (node.inputs, node.filter.shape, node.filter.checks, node.expressions, node.tagged)


@dataclass(frozen=True)
class MergeNode(SetOperatorNode, StatelessNode):
    """All rows of all inputs. With identities, the first tells input and tag."""

    kind = "merge"

    def make_step(self, port: int, flow: HostFlow) -> MergeStep:
        return MergeStep(self, port)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)


class MergeStep:
    """One input of a union at work."""

    def __init__(self, node: MergeNode, port: int) -> None:
        self._node, self._port = node, port

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        delta = arrived.each(lambda batch, _: merged(self._node, self._port, batch))
        flow.push(self._node.id, delta, emission)


def merged(node: SetOperatorNode, port: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give the rows of one input the identity of the merged output: input and tag, then that of the row."""
    if not node.identities:
        return batch
    names = batch.schema.names
    parts_of_row = [batch[name] for name in names if name.startswith("_i")]
    tags = batch["c0"].to_numpy()
    parts = [pa.array(tags * len(node.ports) + port), *parts_of_row]
    parts += [pa.array(np.full(batch.num_rows, -1))] * (node.identities - len(parts))
    lives = [name for name in names if name[0] == "_" and not name.startswith("_i")]
    data = [name for name in names if name[0] == "c"]
    return pa.RecordBatch.from_arrays(
        [*(batch[name] for name in lives), *parts, *(batch[name] for name in data)],
        [*lives, *identity_names(node.identities), *data],
    )


@dataclass(frozen=True)
class DistinctNode(SetOperatorNode, StatefulNode):
    """The distinct rows of all its inputs together (DISTINCT; UNION with several ports)."""

    kind = "distinct"
    releases: Releases | None = None

    def make_operator(self, flow: HostFlow) -> DistinctOperator:
        return DistinctOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)


class DistinctOperator:
    """Groups by all columns; a group's result is the row itself."""

    _second = False

    def __init__(self, node: DistinctNode | ExceptNode | MultisetNode, buckets: int = 1) -> None:
        self._streams = node.streams
        self._width = len(node.types)
        releases = node.releases
        self._inputs = len(node.ports) - (len(releases.purges) if releases else 0)
        punctuations = node.ports[self._inputs :]
        self._releasing = Releasing(node.ports[0], punctuations, releases, buckets) if releases else None
        self._grouped = self._rows_by_value(node)

    def _rows_by_value(self, node: DistinctNode | ExceptNode | MultisetNode) -> Grouped | Copies:
        """What is kept of each row, and what is emitted of it."""
        sleeps = self._second and not node.releases
        return Grouped([t.arrow() for t in node.types], [], [], self._second, sleeps=sleeps)

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | PartialAggregates]:
        arrived = EventTimes([], [])
        for port, deltas in enumerate(inputs[: self._inputs]):
            for delta in deltas:
                arrived.take(delta, partial(self._columns, port))
        progress = clock.progress(self._streams)
        yield from self._grouped.advance(arrived, progress, store)
        if self._releasing:
            count = sum(batch.num_rows for batch in arrived.events)
            self._releasing.step(inputs[self._inputs :], count, clock, self._streams, store, self._grouped)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return self._grouped.size(store)

    def punctuation_rows(self, store: Store) -> int:
        return self._releasing.punctuation_rows(store) if self._releasing else 0

    def _columns(self, port: int, rows: pa.RecordBatch) -> EventColumns:
        row = [normalise(rows[name]) for name in data_names(self._width)]
        return [
            (HASH, rows[HASH]),
            *((f"k{i}", array) for i, array in enumerate(row)),
            *self._side(rows, port),
        ]

    def _side(self, rows: pa.RecordBatch, port: int) -> EventColumns:
        """Which input a row came by, where that matters."""
        return []


@dataclass(frozen=True)
class ExceptNode(SetOperatorNode, StatefulNode):
    """The distinct rows that are alive in the first input and not in the second."""

    kind = "except"
    releases: Releases | None = None

    def make_operator(self, flow: HostFlow) -> ExceptOperator:
        return ExceptOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)


class ExceptOperator(DistinctOperator):
    """The distinct rows that are alive in the first input and not in the second."""

    _second = True

    def _side(self, rows: pa.RecordBatch, port: int) -> EventColumns:
        return [(SECOND, pa.array(np.full(rows.num_rows, port, np.int8)))]


@dataclass(frozen=True)
class MultisetNode(SetOperatorNode, StatefulNode):
    """Rows of the first input, each as often as its rule makes of its counts in both inputs."""

    kind = "multiset"
    rule: str = SetKind.ANTI.value
    releases: Releases | None = None

    def make_operator(self, flow: HostFlow) -> MultisetOperator:
        return MultisetOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)

    @property
    def operation(self) -> str:
        return self.rule


Multiplicity = Callable[[IntArray, IntArray], IntArray]

MULTIPLICITIES: dict[SetKind, Multiplicity] = {
    SetKind.EXCEPT_ALL: lambda m, n: np.maximum(m - n, 0),
    SetKind.INTERSECT: lambda m, n: ((m > 0) & (n > 0)).astype(np.int64),
    SetKind.INTERSECT_ALL: np.minimum,
    SetKind.SEMI: lambda m, n: np.where(n > 0, m, 0),
    SetKind.ANTI: lambda m, n: np.where(n == 0, m, 0),
}


class MultisetOperator(ExceptOperator):
    """Each row as often as the node's rule makes of its counts in both inputs."""

    def __init__(self, node: MultisetNode, buckets: int = 1) -> None:
        self._multiplicity = MULTIPLICITIES[SetKind(node.rule)]
        super().__init__(node, buckets)

    def _rows_by_value(self, node: DistinctNode | ExceptNode | MultisetNode) -> Copies:
        return Copies([type_.arrow() for type_ in node.types], self._multiplicity)
