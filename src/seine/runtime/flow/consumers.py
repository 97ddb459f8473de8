"""What follows a node: its prefilters, lookups, fans and delivers at work on one delta after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, Parameter, walk
from seine.evaluate.data_columns import DataColumns
from seine.graph.nodes import (
    AggregateNode,
    DeliverNode,
    DerivedPunctuationsNode,
    FanNode,
    Form,
    JoinNode,
    LimitedNode,
    LookupNode,
    MergeNode,
    MultiJoinNode,
    Node,
    PrefilterNode,
)
from seine.graph.parameter_table import ParameterTable
from seine.operators.join.lookup import LookupOperator
from seine.operators.match.box_index import Pairs
from seine.operators.match.filters import Tables, any_of, selection_of, table_columns
from seine.operators.match.selection import SelectionGroup
from seine.rows.arrays import Bools, Ints
from seine.rows.delta import Delta
from seine.runtime.flow.emission import Emission
from seine.runtime.flow.guards import Checked, Guards
from seine.runtime.flow.parcels import Parcel
from seine.runtime.flow.routing import Route, route
from seine.runtime.flow.stateless import computed, merged
from seine.runtime.flow.unchanged import ChangedRows, changed
from seine.runtime.output.results import Chosen

if TYPE_CHECKING:
    from seine.runtime.flow.dataflow import Dataflow


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


class Consumer(Protocol):
    """One input of a node at work; it knows the flow only while it works, so it can outlive a version."""

    def __call__(self, flow: Dataflow, arrived: ArrivedDelta, emission: Emission) -> None: ...


def consumer(flow: Dataflow, node: Node, port: int) -> Consumer:
    """What a node does with the rows of one of its inputs."""
    match node:
        case PrefilterNode():
            return PrefilterStep(node, flow.tables)
        case FanNode():
            return FanStep(node, flow.tables)
        case DeliverNode():
            return DeliverStep(node, flow.tables, flow.nodes[node.ports[0].node])
        case MergeNode():
            return MergeStep(node, port)
        case LookupNode():
            return LookupStep(node, flow.lookup(node))
        case DerivedPunctuationsNode():
            return Send(node, port, flow, flow.nodes[node.inputs[0]])
    if not node.stateful:
        raise TypeError(f"node {node.id} of kind {node.kind} cannot follow another")
    return Send(node, port, flow)


class PrefilterStep:
    """Lets pass what any of its filters wants."""

    def __init__(self, node: PrefilterNode, tables: Tables) -> None:
        self._node = node
        self._filters = any_of(node.filters, tables)

    def __call__(self, flow: Dataflow, arrived: ArrivedDelta, emission: Emission) -> None:
        read = flow.read_of(self._node.id)
        flow.push(self._node.id, arrived.each(partial(self._passed, read)), emission)

    def wants(self, columns: DataColumns, num_rows: int) -> Bools | None:
        """Which rows pass; None if all."""
        return self._filters.holds(columns, num_rows)

    def _passed(self, read: Set[str] | None, batch: pa.RecordBatch, columns: DataColumns) -> pa.RecordBatch:
        mask = self.wants(columns, batch.num_rows)
        if mask is None or mask.all():
            return batch
        if read is not None:
            batch = batch.select([name for name in batch.schema.names if name[0] == "_" or name in read])
        return batch.take(pa.array(np.flatnonzero(mask)))


class LookupStep:
    """Joins with a relation."""

    def __init__(self, node: LookupNode, operator: LookupOperator) -> None:
        self._node = node
        self._operator = operator

    def __call__(self, flow: Dataflow, arrived: ArrivedDelta, emission: Emission) -> None:
        for piece in self._operator.apply(arrived.delta):
            flow.push(self._node.id, piece, emission)


class MergeStep:
    """Passes rows on with the identity of the merged output."""

    def __init__(self, node: MergeNode, port: int) -> None:
        self._node, self._port = node, port

    def __call__(self, flow: Dataflow, arrived: ArrivedDelta, emission: Emission) -> None:
        delta = arrived.each(lambda batch, _: merged(self._node, self._port, batch))
        flow.push(self._node.id, delta, emission)


def matched(selection: SelectionGroup, arrived: ArrivedDelta) -> tuple[Pairs, Pairs | None]:
    """The pairs of rows that begin with what they satisfy, and those of rows that end early, if some may."""
    plus = selection.match(arrived.plus, arrived.delta.plus.num_rows)
    if arrived.delta.minus is None or arrived.minus is None:
        return plus, None
    return plus, selection.match(arrived.minus, arrived.delta.minus.num_rows)


class FanStep:
    """Sends rows on once for each tag whose condition they satisfy."""

    def __init__(self, node: FanNode, tables: Tables) -> None:
        self._node = node
        self._selection = selection_of(node.filter, tables)
        self._constants = table_columns(tables[node.filter.table])
        self._read = _parameters(node.expressions) | {len(self._constants) - 1}  # the last is the tag

    def __call__(self, flow: Dataflow, arrived: ArrivedDelta, emission: Emission) -> None:
        plus, minus = matched(self._selection, arrived)
        if not (len(plus[0]) or (minus is not None and len(minus[0]))):
            return
        begun, ended = self._fanned(arrived.delta.plus, arrived.plus, plus), None
        if arrived.delta.minus is not None and arrived.minus is not None and minus is not None:
            ended = self._fanned(arrived.delta.minus, arrived.minus, minus)
        flow.push(self._node.id, Delta(begun, ended), emission)

    def _fanned(self, batch: pa.RecordBatch, columns: DataColumns, pairs: Pairs) -> pa.RecordBatch:
        rows, picks = pairs
        at = pa.array(picks)
        constants = [column.take(at) if i in self._read else None for i, column in enumerate(self._constants)]
        tags = constants[-1] if self._node.tagged else None
        return computed(batch, columns, rows, self._node.expressions, constants, tags)


class DeliverStep:
    """Gives each query its records: what a row matches first, how it is written then."""

    def __init__(self, node: DeliverNode, tables: Tables, below: Node) -> None:
        table = tables[node.filter.table]
        selected = node.filter.shape.columns if node.filter.shape is not None else frozenset()
        *constants, forms, rows = table_columns(table)
        self._selection = SelectionGroup(node.filter.shape, constants, len(table))
        self._writers: list[RecordWriter] = []
        self._writer_of = np.zeros(len(table), np.int64)  # of each row of the table
        self._row = np.zeros(len(table), np.int64)  # in the tables of its writer
        numbers, places = forms.to_numpy(), rows.to_numpy()
        for i, (read, alike) in enumerate(_alike(node.forms, below, selected)):
            self._writers.append(RecordWriter(alike, tables, read))
            first = 0
            for form in alike:
                known = np.fromiter(tables[form.table].rows, np.int64, len(tables[form.table]))
                rows_of_form = numbers == form.table
                self._writer_of[rows_of_form] = i
                self._row[rows_of_form] = first + np.searchsorted(known, places[rows_of_form])
                first += len(known)
        self._queries = Queries(table)

    def __call__(self, flow: Dataflow, arrived: ArrivedDelta, emission: Emission) -> None:
        delta = arrived.delta
        plus, minus = matched(self._selection, arrived)
        for i in self._hit(plus, minus):
            begun, ended = self._pairs_of(i, plus), None if minus is None else self._pairs_of(i, minus)
            if ended is not None and arrived.minus is not None and len(ended[0]):
                begun, ended = self._writers[i].changed(arrived, begun, ended)
            records = self._chosen(i, delta.plus, arrived.plus, begun)
            ends = None
            if delta.minus is not None and arrived.minus is not None and ended is not None:
                ends = self._chosen(i, delta.minus, arrived.minus, ended)
            if len(records.picks) or (ends is not None and len(ends.picks)):
                emission.results.deliver(self._writers[i].form, self._queries.names, records, ends)

    def _hit(self, plus: Pairs, minus: Pairs | None) -> list[int]:
        """The writers that a row was matched for."""
        picks = plus[1] if minus is None else np.concatenate([plus[1], minus[1]])
        if len(self._writers) == 1:
            return [0] if len(picks) else []
        hit: list[int] = np.unique(self._writer_of[picks]).tolist()
        return hit

    def _pairs_of(self, i: int, pairs: Pairs) -> Pairs:
        """What was matched for one writer."""
        if len(self._writers) == 1:
            return pairs
        mine = np.flatnonzero(self._writer_of[pairs[1]] == i)
        return pairs[0][mine], pairs[1][mine]

    def _chosen(self, i: int, batch: pa.RecordBatch, columns: DataColumns, pairs: Pairs) -> Chosen:
        rows, picks = pairs
        answers, kept = self._writers[i].answers(batch, columns, rows, self._row[picks])
        return self._queries.of(answers, picks if kept is None else picks[kept])


class RecordWriter:
    """Forms that differ in checks alone, at work: checks what is matched, and computes its records."""

    def __init__(self, forms: Sequence[Form], tables: Tables, read: tuple[int, ...] | None) -> None:
        """`read` are the columns that count if a row below may change in others too."""
        self.form = forms[0]
        self._read = read
        self._outputs = _outputs(self.form)
        constants = [table_columns(tables[form.table]) for form in forms]
        self._constants = constants[0] if len(forms) == 1 else []
        self._read_parameters = _parameters(self._outputs)
        self._guards = Guards(
            [
                Checked(form.checks, values, len(tables[form.table]))
                for form, values in zip(forms, constants, strict=True)
            ]
        )

    def changed(self, arrived: ArrivedDelta, begun: Pairs, ended: Pairs) -> tuple[Pairs, Pairs]:
        """Without rows that end and begin anew as they were, as far as these queries see them."""
        if self._read is None or arrived.minus is None or arrived.delta.minus is None:
            return begun, ended
        plus = ChangedRows(arrived.plus, arrived.delta.plus["_s"].to_numpy(), *begun)
        minus = ChangedRows(arrived.minus, arrived.delta.minus["_d"].to_numpy(), *ended)
        first, last = changed(plus, minus, self._read)
        return (begun[0][first], begun[1][first]), (ended[0][last], ended[1][last])

    def answers(
        self, batch: pa.RecordBatch, columns: DataColumns, rows: Ints, places: Ints
    ) -> tuple[pa.RecordBatch, Ints | None]:
        """The records of rows, each with the constants at a place, and which of them passed the checks."""
        kept = self._guards.kept(columns, rows, places)
        if kept is not None:
            rows, places = rows[kept], places[kept]
        return computed(batch, columns, rows, self._outputs, self._picked(places)), kept

    def _picked(self, places: Ints) -> list[pa.Array | None]:
        if not self._read_parameters:
            return []
        at = pa.array(places)
        used = self._read_parameters
        return [column.take(at) if i in used else None for i, column in enumerate(self._constants)]


def _parameters(expressions: Iterable[Expression]) -> set[int]:
    """The parameters that expressions read."""
    return {e.index for one in expressions for e in walk(one) if isinstance(e, Parameter)}


Alike = tuple[tuple[int, ...] | None, list[Form]]


def _outputs(form: Form) -> tuple[Expression, ...]:
    """What is computed for each record: its values, and its importance if it has one."""
    return form.expressions if form.importance is None else (*form.expressions, form.importance)


def _alike(forms: Sequence[Form], below: Node, selected: frozenset[int]) -> Iterable[Alike]:
    """The forms by what their records are like, with the columns that count; one with constants is alone."""
    groups: dict[Hashable, Alike] = {}
    for form in forms:
        read = _partly_read(below, form, selected)
        fixed = not _parameters(_outputs(form))
        key = (read, replace(form, table=0, checks=())) if fixed else form.table
        groups.setdefault(key, (read, []))[1].append(form)
    return groups.values()


def _partly_read(below: Node, form: Form, selected: frozenset[int]) -> tuple[int, ...] | None:
    """The columns of an aggregate that a form reads, keys included; None if these are all there are."""
    if not isinstance(below, AggregateNode):
        return None
    keys = range(len(below.ports[0].key))
    read = selected.union(keys, *(e.columns for e in (*form.checks, *form.expressions)))
    return None if len(read) == len(below.types) else tuple(sorted(read))


class Queries:
    """The queries of the rows of a table, by position; mostly one each."""

    def __init__(self, table: ParameterTable) -> None:
        claims = table.claims.values()
        self.names = [query for row in claims for query in row]
        self._counts = np.fromiter((len(row) for row in claims), np.int64, len(table))
        self._firsts = np.cumsum(self._counts) - self._counts
        self._single = bool((self._counts == 1).all())

    def of(self, answers: pa.RecordBatch, picks: Ints) -> Chosen:
        """Each answer once for every query of its row."""
        if self._single:
            return Chosen(answers, picks)
        counts = self._counts[picks]
        places = np.repeat(np.arange(len(picks)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return Chosen(answers.take(pa.array(places)), self._firsts[picks][places] + within)


class Send:
    """Sends rows to a stateful node, by stage and bucket."""

    def __init__(self, node: Node, port: int, flow: Dataflow, at: Node | None = None) -> None:
        """`at` is the node that works on the rows, if it is another."""
        target, at = node.ports[port], at or node
        is_join = isinstance(at, JoinNode | MultiJoinNode)
        home = None if at.ports[0].key else flow.home(at)
        needed, numbered = flow.needed(node, port), isinstance(node, LimitedNode)
        self._route = Route(at.stage, home, target.key, is_join, needed, numbered, target.broadcast)
        self._address = ((node.id, port),)
        self._buckets = flow.buckets

    def __call__(self, flow: Dataflow, arrived: ArrivedDelta, emission: Emission) -> None:
        delta = arrived.delta
        pieces = ((True, delta.plus, arrived.plus), (False, delta.minus, arrived.minus))
        for plus, batch, columns in pieces:
            if batch is not None and columns is not None and batch.num_rows:
                for bucket, piece in route(batch, columns, self._route, self._buckets):
                    emission.parcels[self._route.stage, bucket].append(Parcel(self._address, plus, piece))
