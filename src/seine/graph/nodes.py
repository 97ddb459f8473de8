"""The nodes of the shared network: what runs, as data.

A node is frozen, knows its inputs by id, and prints to JSON and back (node_json.py): the running
pipeline reads it, Spark's plan never depends on it. Stateless nodes (gate, lookup, fan,
merge, deliver) run where their input appears; a stateful one has a stage of its own, one
above its highest input (ARGUS calls it JoinLevel), and receives each input by a port.

A row is as wide as everything combined in it, and sparse: `types` are all of its columns,
`out` are those that somebody needs. Conditions address the row by position, so a query that
needs one more column changes nothing for the others (ARGUS calls it projection enrichment).

Cites: ARGUS 4 (minimum projection, projection enrichment), 6 (JoinLevel order)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seine.algebra.expressions import Expression, columns_of
from seine.algebra.memory_limit import MemoryLimit
from seine.algebra.plan import AggregateCall
from seine.algebra.star import Star
from seine.algebra.types import Type


@dataclass(frozen=True)
class Port:
    """What arrives at one input of a node, and the key that routes it to a bucket.

    `streams` are the streams beneath; `identities` counts the identity columns, zero
    meaning that rows of this input never end early; an empty `key` puts all rows in the
    one bucket of the node. `broadcast` sends them to all of the node's buckets instead.
    """

    node: int
    types: tuple[Type, ...]
    streams: tuple[str, ...]
    identities: int = 0
    key: tuple[Expression, ...] = ()
    broadcast: bool = False


@dataclass(frozen=True)
class Filter:
    """Conditions of one shape; each row of the parameter table makes one of them.

    `shape` is a conjunction with parameters, None if every row satisfies it. `checks` have parameters
    of the same table: conditions in the words of the query, for what the shape only comes close to.
    """

    shape: Expression | None
    table: int
    checks: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Node:
    """Base of all nodes.

    `types` are the output's columns, `out` the positions of those that exist, and `identities` counts
    its identity columns. Of `streams`, all streams beneath, `hold` are those whose progress must pass an
    instant before the output up to it is final: retractable ones, and all streams beneath an aggregate
    or set operator. `owner` names the query that shares it with no other; mostly nobody.
    """

    kind: ClassVar[str]
    stateful: ClassVar[bool] = False

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

    @property
    def tables(self) -> tuple[int, ...]:
        """The numbers of its parameter tables."""
        return ()


@dataclass(frozen=True)
class SourceNode(Node):
    """The admitted tuples of a stream. Of a retractable one, deletions are not resolved yet."""

    kind = "source"
    stream: str


@dataclass(frozen=True)
class PunctuationsNode(Node):
    """The promises of one punctuation scheme of a stream: a row for each accepted punctuation.

    Its columns are the scheme's, and it lives from the punctuation's time to its limit, FOREVER if it never
    lapses: no tuple that arrives after it and starts before the limit has these values. Tuples that
    arrived before it have come to every port when it does: in its entry or in an earlier one.
    """

    kind = "punctuations"
    stream: str
    scheme: int


@dataclass(frozen=True)
class ResolveNode(Node):
    """Finds for each negative tuple of a retractable stream the tuple that it deletes.

    Its one identity column is the arrival number of the tuple. `window` is the stream's; tuples
    that agree in the columns of the port's key are alike.
    """

    kind = "resolve"
    stateful = True
    stream: str
    window: int | None


@dataclass(frozen=True)
class FilteringNode(Node):
    """A node that lets a row (or a pair) pass if any row of any of its filters' tables holds for it."""

    filters: tuple[Filter, ...]

    @property
    def tables(self) -> tuple[int, ...]:
        return tuple(filter_.table for filter_ in self.filters)

    @property
    def tested(self) -> frozenset[int]:
        """The positions that its filters read."""
        shapes = [filter_.shape for filter_ in self.filters]
        if None in shapes:
            return frozenset()
        return frozenset(i for shape in shapes if shape is not None for i in columns_of(shape))


@dataclass(frozen=True)
class PrefilterNode(FilteringNode):
    """In front of one join: keeps out what no query can use there."""

    kind = "prefilter"


@dataclass(frozen=True)
class RegroupNode(PrefilterNode):
    """In front of an aggregate that regroups: keeps out the parts of tags that no coarser group is made of.

    Its input is the finer aggregate. Of that one's rows it has the keys.
    """

    kind = "regroup"


@dataclass(frozen=True)
class LookupNode(FilteringNode):
    """Joins each row with the relation's tuples on equal keys.

    Filters and `out` address the row followed by the tuple.
    `relation_key` are expressions over the relation's columns, one for each of `row_key`.
    """

    kind = "lookup"
    relation: str
    relation_types: tuple[Type, ...]
    row_key: tuple[Expression, ...]
    relation_key: tuple[Expression, ...]


@dataclass(frozen=True)
class Purge:
    """What the promises of one port of a join say: a side sends no more rows with some values of the key.

    The port's key has these values, one for each of `places`, which are places in the join's key. What
    `gathers` is told by every bucket of a join, and counts when all have told it.
    """

    side: int
    places: tuple[int, ...]
    gathers: bool = False


@dataclass(frozen=True)
class JoinNode(FilteringNode):
    """Joins two inputs on their ports' keys (equal and not NULL).

    Filters and `out` address the left row followed by the right. A row of the output
    lives where both live; its identity is the left's followed by the right's. Its first two ports are its
    inputs; each further one brings promises, and has a purge that tells what they are about. A lazy join
    lets promises gather before it frees what they finish. `times` are the places of the columns in which a
    side's rows have their start, None where they have more than one tuple of a stream. Joins that differ in
    their `generation` alone do the same, but the elder had run when somebody wanted to be told by it.
    """

    kind = "join"
    stateful = True
    purges: tuple[Purge, ...] = ()
    lazy: bool = False
    times: tuple[int | None, int | None] = (None, None)
    generation: int = 0


@dataclass(frozen=True)
class DerivedPunctuationsNode(Node):
    """What a join promises of its own rows: an input has promised some values, and none is held with them.

    The first port is the join, the second brings promises of its input `side`; they tell the values of
    `columns` of that input's rows. The join works on them, where its own rows are; so nobody may come to
    listen when it has run. A row has these values and, behind them, the number of the bucket that tells
    it: a promise that went to every bucket is told by each. What `gathers` has come like that itself.
    """

    kind = "derived"
    side: int
    columns: tuple[int, ...]
    gathers: bool = False

    @property
    def by_all(self) -> bool:
        """Whether every bucket of the join tells each promise."""
        return self.ports[1].broadcast


@dataclass(frozen=True)
class LimitedNode(Node):
    """Joins streams, directly or through relations, within a memory; all of it is in one bucket.

    Each port is a stream of the star, and has a window that holds an equal share of the memory. `out`
    addresses all items side by side.
    """

    kind = "limited"
    stateful = True
    star: Star
    memory: MemoryLimit


@dataclass(frozen=True)
class Member:
    """What the rows of a port have in one group of equal values."""

    port: int
    group: int
    expression: Expression


@dataclass(frozen=True)
class Punctuated:
    """What a port of promises tells of: the rows of a port, by the groups that its columns belong to."""

    port: int
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Static:
    """A relation that takes part in a join like an input of which everything has come."""

    relation: str
    types: tuple[Type, ...]


@dataclass(frozen=True)
class MultiJoinNode(FilteringNode):
    """Joins many inputs at once: what is purged depends on all of them together.

    The first `width` ports bring rows, the others promises, each described by one of `promised`. Relations
    of `statics` count as ports behind the first ones. Rows are combined where members of one group are equal
    (and not NULL). Filters and `out` address the rows of the first ports, then of relations, side by side. No
    row can end early. `times` are the columns in which rows of the first ports have their start.

    Cites: SAFETY 3.2 (MJoin)
    """

    kind = "multijoin"
    stateful = True
    width: int
    members: tuple[Member, ...]
    punctuated: tuple[Punctuated, ...]
    times: tuple[int, ...]
    statics: tuple[Static, ...] = ()
    lazy: bool = False
    generation: int = 0  # as of a join of two

    @property
    def row_types(self) -> tuple[tuple[Type, ...], ...]:
        """The types of what stands side by side in a row."""
        return (
            *(port.types for port in self.ports[: self.width]),
            *(static.types for static in self.statics),
        )


@dataclass(frozen=True)
class FanNode(Node):
    """Rows for a fence: what satisfies a row of the table goes on, computed, with that row's tag in front.

    So queries that differ in constants share the fence, each with tags of its own. The
    expressions may have parameters too; the tag is the table's last column. An untagged fan has one row.
    """

    kind = "fan"
    filter: Filter
    expressions: tuple[Expression, ...]
    tagged: bool

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.filter.table,)


@dataclass(frozen=True)
class MergeNode(Node):
    """All rows of all inputs. With identities, the first tells input and tag."""

    kind = "merge"


@dataclass(frozen=True)
class FinalTime:
    """A place of a group's key that is a function of the stream's time (column 0) which never falls."""

    place: int
    expression: Expression


@dataclass(frozen=True)
class Releases:
    """What frees groups: the promises that come by the last ports of their node, and keys that are times.

    `purges` say who promises which keys.
    """

    purges: tuple[Purge, ...] = ()
    punctuators: int = 0
    clocks: tuple[FinalTime, ...] = ()


@dataclass(frozen=True)
class AggregateNode(Node):
    """Groups by its port's key (NULL is a group); output is the keys followed by the calls' results.

    A result row lives from the instant at which the group got it until the instant at which
    it changes (an early end); its one identity column is unique for ever.

    One that `regroups` gets the parts of a finer aggregate instead of rows. The row that its calls address
    is that one's keys and, behind them, the row that that one addresses: of this there are only
    parts, of the calls that the finer one has in `carried`.
    """

    kind = "aggregate"
    stateful = True
    calls: tuple[AggregateCall, ...]
    generation: int = 0  # of those with the same groups; below zero if its calls are fixed
    carried: tuple[AggregateCall, ...] = ()  # what it tells the parts of to coarser aggregates
    regroups: bool = False
    releases: Releases | None = None


@dataclass(frozen=True)
class DistinctNode(Node):
    """The distinct rows of all its inputs together (DISTINCT; UNION with several ports)."""

    kind = "distinct"
    stateful = True
    releases: Releases | None = None


@dataclass(frozen=True)
class ExceptNode(Node):
    """The distinct rows that are alive in the first input and not in the second."""

    kind = "except"
    stateful = True
    releases: Releases | None = None


@dataclass(frozen=True)
class FinalNode(Node):
    """Of each group its final result, once: the rows of an aggregate or DISTINCT that nothing will change.

    `group` are the columns that tell groups apart; the first port's key are those that streams promise. The
    others bring promises: `side` of a purge tells who makes them, and a group is final when all of
    `promisers` have. `arrival` is the column with the latest start of its tuples, None where none expires.
    """

    kind = "final"
    stateful = True
    group: tuple[int, ...]
    purges: tuple[Purge, ...]
    punctuators: int
    clocks: tuple[FinalTime, ...]
    arrival: int | None


@dataclass(frozen=True)
class ChangelogNode(Node):
    """Turns the natural end of each row into an early end, told when it is reached."""

    kind = "changelog"
    stateful = True


@dataclass(frozen=True)
class Form:
    """How records of some queries are checked, computed and written; its table has the constants for it.

    `checks` are conditions that the shape of the node's filter only comes close to. A changelog's
    records have an instant and no end. `importance` is that of a record, where it has one.
    """

    table: int
    checks: tuple[Expression, ...]
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]
    changelog: bool
    domain: str
    limit: int
    importance: Expression | None = None

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(expression.type for expression in self.expressions)


@dataclass(frozen=True)
class DeliverNode(Node):
    """Where records leave: a row that satisfies row i of the table is a result of the queries of row i.

    The last two columns of the table tell how: a form, by its table, and a row of that table.
    """

    kind = "deliver"
    filter: Filter
    forms: tuple[Form, ...]

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.filter.table, *(form.table for form in self.forms))


JOINS = frozenset({JoinNode.kind, MultiJoinNode.kind, LimitedNode.kind})
