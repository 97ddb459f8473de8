"""Which queries a fault is put down to: those that use the nodes at fault, the heaviest first.

Law: the choice depends on the network version, the entry and the fault alone. The weight of a query at a
node is the product, over the inputs of that node down to streams, of the rows of the entry that its own
conditions let pass there; those with at least half of the largest weight fail. If that was not enough the
next try tells, and the next ones fail. Where calls of a function were at fault, those fail who make such
calls there. An error has no weights: all who use the node fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

import pyarrow as pa

from seine.algebra.aggregates import lookup
from seine.algebra.expressions import Call, Expression, Parameter, walk
from seine.algebra.plan import AggregateCall
from seine.algebra.types import Type
from seine.algebra.user_functions import PREFIX, calls_user_code
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.kernels.spending import Called, TooMuchWork, call_text, constant_text, planning
from seine.graph.node import Filter
from seine.graph.parameter_table import ParameterTable
from seine.intake.journal import Entry
from seine.network.network import Network
from seine.operators.match.any_of import any_of
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.stream.resolve import ResolveNode
from seine.operators.stream.source import SourceNode
from seine.runtime.flow.admitted_rows import source_delta
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure, Fault
from seine.runtime.folder.versions import Version

_SHARE_OF_HEAVIEST = 0.5  # queries that weigh at least as much of the heaviest one fail with it


class Culprits:
    """The queries that the faults of one entry are put down to."""

    def __init__(self, deployment: Deployment, number: int) -> None:
        self._entry = deployment.journal.load(number)
        self._network, version = network_of(deployment, self._entry)
        self._weights = Weights(self._network, version, self._entry)

    def of(self, faults: Iterable[Fault]) -> dict[str, Failure]:
        """Who fails of these faults; nobody if they are nobody's.

        A fault at a node that serves a query which fails already is left for the next try: the node may do
        without that one. So many who ask too much, each of its own nodes, fail at once.
        """
        failures: dict[str, Failure] = {}
        for fault in faults:
            if not self._users(fault) & failures.keys():
                failures.update(self._of(fault))
        return failures

    def _of(self, fault: Fault) -> dict[str, Failure]:
        users, nodes, words = sorted(self._users(fault)), self._nodes(fault), "it"
        if nodes:
            words = " and ".join(f"{self._network.nodes[i].kind} #{i}" for i in nodes)
        if nodes and fault.kind not in ("error", "function") and len(users) > 1:
            users = heaviest({name: max(self._weights.of(name, i) for i in nodes) for name in users})
        reason = f"{fault.reason}, at {words}" if fault.kind == "function" else f"{words} {fault.reason}"
        failure = Failure(fault.entry, fault.kind, f"{reason} (entry {fault.entry})")
        return dict.fromkeys(users, failure)

    def _users(self, fault: Fault) -> set[str]:
        if fault.queries:
            return {*fault.queries} - {*self._entry.withheld}
        if fault.kind == "function":
            return {name for i in self._nodes(fault) for name in self._users_of_function(i, fault.calls[0])}
        users = {name for i in self._nodes(fault) for name in served_queries(self._network, i)}
        for made in (_is_made, _has_the_form, _has_the_name) if fault.calls else ():
            callers = {name for i in self._nodes(fault) for name in self._callers(i, fault.calls, made)}
            if users & callers:
                return users & callers
        return users

    def _callers(self, node_id: int, calls: Sequence[Called], made: IsMade) -> Iterator[str]:
        """The queries with a condition or a form at a node that makes one of some calls."""
        for table_id, parts in self._network.nodes[node_id].computed:
            table = self._network.tables[table_id]
            mine = [call for part in parts for call in walk(part) if isinstance(call, Call)]
            for number, row in table.rows.items() if mine else ():
                if any(made(call, row, wanted) for call in mine for wanted in calls):
                    yield from table.claims[number]

    def _users_of_function(self, node_id: int, called: Called) -> set[str]:
        """The queries that a node serves and that call a user's function there, or all that it serves."""
        callers = queries_that_call(self._network, node_id, called.function)
        return served_queries(self._network, node_id) if callers is None else callers

    def _nodes(self, fault: Fault) -> list[int]:
        nodes = self._network.nodes
        return [i for i in fault.nodes if i in nodes and not isinstance(nodes[i], SourceNode)]


def served_queries(network: Network, node_id: int) -> set[str]:
    """The queries that a node serves; one that no query claims serves whoever reads it."""
    users = {*network.users(node_id)}
    if users:
        return users
    readers = (node.id for node in network.nodes.values() if node_id in node.inputs)
    return users.union(*(served_queries(network, reader) for reader in readers))


def queries_that_call(network: Network, node_id: int, function: str | None = None) -> set[str] | None:
    """The queries that a node serves and that call a user's function there, or any without one.

    None if no part of the node calls it.
    """
    users, tables = served_queries(network, node_id), {*calling_tables(network.nodes[node_id], function)}
    if not tables:
        return None
    if None in tables:
        return users
    claims = [network.tables[i].claims.values() for i in tables if i is not None]
    return users & set[str]().union(*(queries for rows in claims for queries in rows))


IsMade = Callable[[Call, Sequence[object], Called], bool]


def _has_the_name(call: Call, row: Sequence[object], wanted: Called) -> bool:
    return call.name == wanted.function


def _has_the_form(call: Call, row: Sequence[object], wanted: Called) -> bool:
    return call.name == wanted.function and call_text(call) == wanted.call


def _is_made(call: Call, row: Sequence[object], wanted: Called) -> bool:
    """Whether a call, whose parameters are those of a row, is of this form and has these constants."""
    if not _has_the_form(call, row, wanted):
        return False
    given = (
        row[arg.index] if isinstance(arg, Parameter) else getattr(arg, "value", None) for arg in call.args
    )
    return {*map(constant_text, given)} >= {*wanted.constants}


def network_of(deployment: Deployment, entry: Entry) -> tuple[Network, Version]:
    """The network that an entry runs with: that of its version, without the queries that are withheld."""
    network, (version, _) = (
        deployment.versions.network(entry.network),
        deployment.versions.load(entry.network),
    )
    for name in entry.withheld:
        if name in network.queries:
            network.remove(name)
    return network, version


def heaviest(weights: Mapping[str, int]) -> list[str]:
    """The queries that weigh at least half of what the heaviest one does.

    >>> heaviest({"a": 10, "b": 4, "c": 5})
    ['a', 'c']
    """
    most = max(weights.values())
    return [name for name, weight in weights.items() if weight >= most * _SHARE_OF_HEAVIEST]


def calling_tables(value: object, function: str | None, table: int | None = None) -> Iterator[int | None]:
    """The parameter tables whose conditions or forms of records call a user's function, or any, in a node.

    None stands for what the node itself calls, for all who use it.
    """
    if isinstance(value, tuple):
        for part in value:
            yield from calling_tables(part, function, table)
    elif isinstance(value, Call):
        if any(isinstance(one, Call) and _is_users_function(one, function) for one in walk(value)):
            yield table
    elif isinstance(value, AggregateCall) and _is_users_aggregate(value, function):
        yield table
    elif is_dataclass(value) and not isinstance(value, (Expression, Type)):
        for field in fields(value):
            yield from calling_tables(getattr(value, field.name), function, getattr(value, "table", table))


def _is_users_function(call: Call, function: str | None) -> bool:
    return call.name.startswith(PREFIX) if function is None else call.name == PREFIX + function.lower()


def _is_users_aggregate(call: AggregateCall, function: str | None) -> bool:
    return lookup(call.function) is not None if function is None else call.function == function.lower()


class Weights:
    """How much each query, or all of them (None), brings to a node in one entry."""

    def __init__(self, network: Network, version: Version, entry: Entry) -> None:
        self.network, self.version, self.entry = network, version, entry
        self._known: dict[tuple[str | None, int], int] = {}
        self._rows_of: dict[int, pa.RecordBatch] = {}  # by source
        self._claims: dict[int, dict[str, list[int]]] = {}  # by table: the rows that each query claims

    def of(self, query: str | None, node_id: int) -> int:
        """The product of the rows of this query, or of all, at the inputs of a node."""
        if (query, node_id) not in self._known:
            self._known[query, node_id] = self._of(query, node_id)
        return self._known[query, node_id]

    def _of(self, query: str | None, node_id: int) -> int:
        node, weight = self.network.nodes[node_id], 1
        if isinstance(node, SourceNode):
            return max(1, self.entry.rows.get(node.stream, 0))
        if isinstance(node, PrefilterNode) and (source := self._source(node.inputs[0])) is not None:
            return max(1, self._passing(query, node.filters, source))
        for below in node.inputs:
            weight *= self.of(query, below)
        return weight

    def _source(self, node_id: int) -> SourceNode | None:
        """The stream whose tuples a node gives as they are."""
        node = self.network.nodes[node_id]
        if isinstance(node, ResolveNode):
            node = self.network.nodes[node.inputs[0]]
        return node if isinstance(node, SourceNode) else None

    def _passing(self, query: str | None, filters: Iterable[Filter], source: SourceNode) -> int:
        """The rows of a stream that the conditions of one query, or of any, let pass."""
        batch = self.entry.batch(source.stream)
        if batch is None:
            return 0
        known = {filter_: self._claimed(filter_.table, query) for filter_ in filters}
        claimed = {filter_: table for filter_, table in known.items() if len(table)}
        if not claimed or any(map(_calls_user_code, claimed)):
            return int(batch.num_rows)
        rows = self._rows(batch, source)
        any_row = any_of([*claimed], {filter_.table: table for filter_, table in claimed.items()})
        try:
            with planning().counting():
                mask = any_row.holds(DataColumns(rows), rows.num_rows)
        except TooMuchWork:
            return int(rows.num_rows)
        return rows.num_rows if mask is None else int(mask.sum())

    def _rows(self, batch: pa.RecordBatch, source: SourceNode) -> pa.RecordBatch:
        if source.id not in self._rows_of:
            stream = self.version.streams[source.stream]
            self._rows_of[source.id] = source_delta(stream, batch, source, self.entry.epoch).plus
        return self._rows_of[source.id]

    def _claimed(self, table_id: int, query: str | None) -> ParameterTable:
        """The rows of a table that a query claims; all of it without one."""
        table = self.network.tables[table_id]
        if query is None:
            return table
        if table_id not in self._claims:
            self._claims[table_id] = _by_query(table)
        return table.part(self._claims[table_id].get(query, ()))


def _calls_user_code(filter_: Filter) -> bool:
    parts = (filter_.shape, *filter_.checks)
    return any(part is not None and calls_user_code(part) for part in parts)


def _by_query(table: ParameterTable) -> dict[str, list[int]]:
    """The numbers of the rows that each query claims: a look at all of them once, not once for each query."""
    numbers: dict[str, list[int]] = {}
    for number, claims in table.claims.items():
        for query in claims:
            numbers.setdefault(query, []).append(number)
    return numbers
