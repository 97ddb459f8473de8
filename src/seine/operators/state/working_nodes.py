"""The interface of a stateful operator.

Executable nodes: stateful ones make an operator, stateless ones a step for each of their ports.

    rows of a node ──> step ──> step ──> parcels for a stateful node's stage ──> its operator ──> rows ...
                        │
                        └──> records

A host implements `HostFlow` (to compile a node), `Pushing` and `TaskOutput` (for a step at work); a step
knows the latter only while it works, so it can outlive a version of the network.

A delta between stateless nodes, with the expression values computed over it so far.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Expression
from seine.algebra.types import Type
from seine.evaluate.data_columns import DataColumns
from seine.graph.node import Node
from seine.graph.parameter_table import ParameterTable
from seine.operators.state.relation_index import RelationIndex
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import Delta, DerivedPunctuations, PartialAggregates


class Operator(Protocol):
    """The code of one stateful node; its state, one for each bucket, is in the store it is given.

    The task that runs it (its host) makes the operator from its node alone and may use it for any bucket:
    nothing is kept in the object between steps. `step` is called once a micro-batch, also when nothing
    arrived, with the deltas that came by each input port (in any order) and yields what follows from them.
    Input batches have the key hash `_k` and the port's columns; output batches have no `_k`.

        ports 0, 1, ..  ->  step(inputs, clock, store)  ->  deltas, parts, derived punctuations
                                       |
                                  store: head + runs

    Law: the concatenation of all outputs depends on the concatenation of all inputs alone, not
    on how they were cut into steps.
    """

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | PartialAggregates | DerivedPunctuations]: ...

    def state_rows(self, store: Store) -> int:
        """How many rows are held to be joined later; queued rows, groups and relations do not count."""
        ...


@runtime_checkable
class GroupingOperator(Operator, Protocol):
    """An operator that holds groups: of an aggregate, of a set operator, or of rows that wait to be final."""

    def group_rows(self, store: Store) -> int:
        """How many groups are held, about: of one that changed, several versions may wait to be merged."""
        ...


@runtime_checkable
class PunctuatedOperator(Operator, Protocol):
    """An operator that holds punctuations: they are state like tuples, and may grow by themselves."""

    def punctuation_rows(self, store: Store) -> int:
        """How many punctuations are held; those of joins are among `state_rows`, those of groups are not."""
        ...


@runtime_checkable
class PruningOperator(Operator, Protocol):
    """An operator that knows which columns it reads: no others travel to it."""

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port have to bring."""
        ...


@dataclass(frozen=True)
class Form:
    """How records of one or more queries are checked, computed and written; its table has the constants.

    `checks` are conditions that the shape of the node's filter only comes close to. A changelog's records
    have an instant and no end. `importance` is that of a record, where it has one.
    """

    table: int
    checks: tuple[Expression, ...]
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]
    changelog: bool
    domain: str
    limit: int
    importance: Expression | None = None
    in_time: bool = False

    @property
    def outputs(self) -> tuple[Expression, ...]:
        """What is computed for each record: its values, and its importance if it has one."""
        return self.expressions if self.importance is None else (*self.expressions, self.importance)

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(expression.type for expression in self.expressions)


class RecordRows(NamedTuple):
    """Computed rows with their lives, and for each the position of the query that it is for."""

    batch: pa.RecordBatch
    picks: AnyArray


class RecordOutlet(Protocol):
    """Where the records of one task go."""

    def deliver(
        self, form: Form, queries: list[str], plus: RecordRows, minus: RecordRows | None = None
    ) -> None:
        """The records of queries that follow from new rows and from rows that end early."""
        ...


class RelationAccess(Protocol):
    """The relations of a version of the network."""

    def index(self, relation: str, key: tuple[Expression, ...]) -> RelationIndex:
        """A relation's tuples by a key."""
        ...

    def tuples(self, relation: str) -> pa.RecordBatch: ...


class HostFlow(Protocol):
    """A version of the network: what a node needs to make its operator or step."""

    @property
    def nodes(self) -> Mapping[int, Node]: ...

    @property
    def tables(self) -> Mapping[int, ParameterTable]: ...

    @property
    def relations(self) -> RelationAccess: ...

    @property
    def buckets(self) -> int: ...

    def readers(self, node_id: int) -> Iterable[Node]:
        """The nodes to which the rows of a node go."""
        ...

    def listeners(self, node_id: int) -> Sequence[Node]:
        """The nodes whose input a node's operator works on, behind its own ports."""
        ...


class TaskOutput(Protocol):
    """What one task produces."""

    @property
    def results(self) -> RecordOutlet: ...


AnyOutput = TypeVar("AnyOutput", bound=TaskOutput)
PushedOutput = TypeVar("PushedOutput", bound=TaskOutput, contravariant=True)


class Pushing(Protocol[PushedOutput]):
    """A version of the network at work."""

    def push(self, node_id: int, output: Delta, emission: PushedOutput) -> None:
        """Send a node's output to all that follow from it."""
        ...

    def read_of(self, node_id: int) -> frozenset[str] | None:
        """The data columns of a node's output that stateful nodes behind it read; None if that may be all."""
        ...


class Step(Protocol):
    """One input of a stateless node at work."""

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None: ...


@dataclass(frozen=True)
class StatefulNode(Node):
    """A node with an operator that keeps state: it has a stage, and rows come by the hash of their key."""

    stateful: ClassVar[bool] = True

    @abstractmethod
    def make_operator(self, flow: HostFlow) -> Operator: ...


@dataclass(frozen=True)
class StatelessNode(Node):
    """A node whose output follows from one delta at a time; it runs where its input appears."""

    @abstractmethod
    def make_step(self, port: int, flow: HostFlow) -> Step: ...


class ArrivedDelta(NamedTuple):
    """A delta, and what is computed over its columns, once for all who read it."""

    delta: Delta
    plus: DataColumns
    minus: DataColumns | None

    @staticmethod
    def of(delta: Delta) -> ArrivedDelta:
        return ArrivedDelta(
            delta, DataColumns(delta.plus), None if delta.minus is None else DataColumns(delta.minus)
        )

    def each(self, change: Callable[[pa.RecordBatch, DataColumns], pa.RecordBatch]) -> Delta:
        """The delta with both of its batches changed."""
        plus = change(self.delta.plus, self.plus)
        if self.delta.minus is None or self.minus is None:
            return Delta(plus)
        return Delta(plus, change(self.delta.minus, self.minus))
