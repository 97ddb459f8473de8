"""The base class of the nodes of the shared network: a physical plan node as data, hash-consed.

A node is frozen, knows its inputs by id, and prints to JSON and back by the types of its fields: the running
pipeline reads it, Spark's plan never depends on it. Stateless nodes (prefilter, lookup, fan, merge, deliver)
run where their input appears; a stateful one has a stage, one above its highest input (ARGUS calls it
JoinLevel), and receives each input by a port. One whose input is spread over buckets as it needs it is
chained to that: it works in the same stage and bucket, behind it (`network/site/placing.py`).

A row is as wide as everything combined in it, and sparse: `types` are all of its columns, `out` are those
that somebody needs. Conditions address the row by position, so a query that needs one more column changes
nothing for the others (ARGUS calls it projection enrichment).

A kind of node is one subclass of `Node`, beside the operator or step that does its work: its fields, its
signature and how to make what runs it. `operators/kinds.py` lists them, `network/show` has their words.

A node computes its signature from the view of the network (`NodesView`): hash-consing.

Two nodes that do the same to the same inputs are one node. A prefilter belongs to its join, a
fan to its pipeline breaker, so they have no signature of their own.

Cites: ARGUS 4 (minimum projection, projection enrichment), 6 (JoinLevel order)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from seine.algebra.expressions import Expression, columns_of
from seine.algebra.types import Type
from seine.graph.parameter_table import ParameterTable

Signature = tuple[Hashable, ...]


@dataclass(frozen=True)
class Port:
    """What arrives at one input of a node, and the key that routes it to a bucket.

    `streams` are the streams beneath; `identities` counts the identity columns, zero meaning that rows of
    this input never end early; an empty `key` puts all rows in the one bucket of the node. `broadcast` sends
    them to all of the node's buckets instead; with `spread` those parts of the key alone choose the bucket.
    """

    node: int
    types: tuple[Type, ...]
    streams: tuple[str, ...]
    identities: int = 0
    key: tuple[Expression, ...] = ()
    broadcast: bool = False
    spread: tuple[int, ...] = ()

    @property
    def key_columns(self) -> tuple[int, ...]:
        """The columns that its key reads."""
        return tuple(sorted({column for part in self.key for column in part.columns}))


class TablePart(Protocol):
    """A part of a node that comes and goes with its parameter table; it is a frozen dataclass."""

    @property
    def table(self) -> int: ...


@dataclass(frozen=True)
class Filter:
    """Conditions of one shape; each row of the parameter table makes one of them.

    `shape` is a conjunction with parameters, None if every row satisfies it. `checks` have parameters of the
    same table: conditions in the words of the query, for what the shape only comes close to.
    """

    shape: Expression | None
    table: int
    checks: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Node(ABC):
    """Base of all kinds of nodes: their common fields, and what a kind has to say about itself.

    `types` are the output's columns, `out` the positions of those that exist, and `identities` counts its
    identity columns. Of `streams`, all streams beneath, `hold` are those whose progress must pass an instant
    before the output up to it is final: retractable ones, and all beneath an aggregate or set operator.
    `owner` names the query that shares it with no other; mostly nobody.
    """

    kind: ClassVar[str]  # its name, in JSON and in `explain`
    # what its host asks
    is_leaf: ClassVar[bool] = False  # rows enter the network here
    stateful: ClassVar[bool] = False  # it has a stage and an operator with state
    is_join: ClassVar[bool] = False  # it holds rows of inputs and combines them; it knows its columns
    drops_null_keys: ClassVar[bool] = False  # rows with a NULL in their key are of no use to it
    numbered: ClassVar[bool] = False  # rows come to it with their arrival numbers
    most_buckets: ClassVar[int | None] = None  # it lives in so many buckets at most; None: in all
    budgeted: ClassVar[bool] = False  # such nodes share the memory budget of the pipeline
    reads_parts: ClassVar[bool] = False  # it reads the partial aggregates of its input instead of its rows
    asks_readers: ClassVar[bool] = False  # its operator depends on the nodes that read it
    is_punctuation: ClassVar[bool] = False  # its rows are punctuations
    is_metered: ClassVar[bool] = True  # what it emits is not just a part of its input, so it counts
    is_delivery: ClassVar[bool] = False  # records leave here

    id: int
    ports: tuple[Port, ...]
    types: tuple[Type, ...]
    out: tuple[int, ...]
    streams: tuple[str, ...]
    hold: tuple[str, ...]
    identities: int
    stage: int
    owner: str

    @property
    def inputs(self) -> tuple[int, ...]:
        return tuple(port.node for port in self.ports)

    # ---- parameter tables

    @property
    def tables(self) -> tuple[int, ...]:
        """The numbers of its parameter tables."""
        return ()

    @property
    def conditions(self) -> tuple[Filter, ...]:
        """The filters whose table rows are conditions of queries."""
        return ()

    @property
    def computed(self) -> tuple[tuple[int, tuple[Expression, ...]], ...]:
        """What it computes with the rows of its tables, by table."""
        whole = ((one.table, (one.shape, *one.checks)) for one in self.conditions)
        return tuple((table, tuple(part for part in parts if part is not None)) for table, parts in whole)

    @property
    def parts(self) -> tuple[TablePart, ...]:
        """Its parts that come and go with the first and last row of their table."""
        return ()

    def with_parts(self, parts: Sequence[TablePart]) -> Self:
        """The node with other such parts."""
        if parts:
            raise TypeError(f"a {self.kind} has no such parts")
        return self

    # ---- sharing

    @abstractmethod
    def signature(self, standing: NodesView) -> Signature | None:
        """What it does to which inputs; None if it belongs to the one node that reads it.

        Two nodes of one signature are one node. Constants in conditions are no part of it: these are rows
        of tables.
        """

    def family(self, standing: NodesView) -> Family | None:
        """The family that builders find it in, among nodes that differ in little; None if it is in none."""
        return None

    # ---- what its host asks

    @property
    def work_at(self) -> int:
        """The node whose operator works on what arrives at its ports; mostly its own."""
        return self.id

    @property
    def receiving(self) -> Sequence[int]:
        """The ports by which rows arrive."""
        return range(len(self.ports))

    @property
    def steps_unasked(self) -> bool:
        """Whether it has output before anything has arrived."""
        return False

    @property
    def partition_keys(self) -> tuple[frozenset[Expression], ...]:
        """Of each part of its ports' key all that equals it in a row of its output; none if that is unknown.

        Rows that agree in one of each were sent to the same bucket.
        """
        return ()

    @property
    def passed_columns(self) -> Sequence[int]:
        """Columns that a row has from the row of its first input, at the same places; it may have others."""
        return ()

    @property
    def group_columns(self) -> Sequence[int] | None:
        """The columns that tell its groups apart if its rows are results of groups; else None.

        Rows of one group are in one bucket: what a reader does not see change in a group, it may pass over.
        """
        return None

    @property
    def input_filters(self) -> tuple[Filter, ...] | None:
        """Filters of which a row of its input must satisfy one to be of use; None if it may use any row."""
        return None

    def first_column(self, port: int) -> int | None:
        """Where a port's row begins in its own row, if queries' conditions are about that; else None."""
        return None


@dataclass(frozen=True)
class FilteringNode(Node):
    """A node that lets a row (or a pair) pass if any row of any of its filters' tables holds for it."""

    filters: tuple[Filter, ...]

    @property
    def tables(self) -> tuple[int, ...]:
        return tuple(filter_.table for filter_ in self.filters)

    @property
    def conditions(self) -> tuple[Filter, ...]:
        return self.filters

    @property
    def parts(self) -> tuple[TablePart, ...]:
        return self.filters

    def with_parts(self, parts: Sequence[Any]) -> Self:
        return replace(self, filters=tuple(parts))

    @property
    def tested(self) -> frozenset[int]:
        """The positions that its filters read."""
        shapes = [filter_.shape for filter_ in self.filters]
        if None in shapes:
            return frozenset()
        return frozenset(i for shape in shapes if shape is not None for i in columns_of(shape))


@dataclass(frozen=True)
class SelectingNode(Node):
    """A node that sends a row on once for each row of its filter's table that it satisfies.

    The filter has all conditions of the block of selections and joins beneath.
    """

    filter: Filter

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.filter.table,)

    @property
    def conditions(self) -> tuple[Filter, ...]:
        return (self.filter,)

    @property
    def input_filters(self) -> tuple[Filter, ...]:
        return (self.filter,)


class Family(NamedTuple):
    """Nodes that builders compare with one another, found by `key`; `compared` distinguishes them."""

    key: Hashable
    compared: Any = None


class NodesView(Protocol):
    """The nodes that are in a network now, and their tables; the site implements it."""

    @property
    def nodes(self) -> Mapping[int, Node]: ...

    @property
    def tables(self) -> Mapping[int, ParameterTable]: ...

    def beneath_prefilter(self, node: Node, port: int) -> int:
        """The node whose rows arrive at a port, prefilters apart."""
        ...


class StatePlace(NamedTuple):
    """A node that keeps state, and of its ports the one that is meant; None for the node as a whole.

    With `punctuations` only the punctuations are meant that the node holds, of all of its ports; with
    `groups` its groups.
    """

    node: int
    port: int | None = None
    punctuations: bool = False
    groups: bool = False


Holding = tuple[StatePlace, ...]  # where a query, or a stream of it, has rows
