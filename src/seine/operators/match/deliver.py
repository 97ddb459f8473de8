"""The root of the network: selects and projects rows, and says for which queries each is a result (a sink).

    SELECT a, b FROM s WHERE v > 5        row of the table: 5, form (a, b), query q1
    SELECT a    FROM s WHERE v > 7        row of the table: 7, form (a),    query q2

Law: a row that satisfies row i of the table is a record of each of the queries of row i. Without state.

The step of a deliver: rows are matched with its parameter table, then written in each query's form.

Retractions that cancel out: a group changed, but in no column that a query reads.

Queries that want different functions of the same groups share an aggregate. When a function
of another query changes, the row ends and begins anew at one instant; a query that reads only what is the
same before and after must get neither the end nor the beginning.

Guards (overflow checks) of delivered rows: decided for a whole batch by its extremes, else row by row.

Most checks keep a sum of times from leaving the calendar: a column is compared with a constant that is far
away. If every row is on the right side of the most demanding constant, nothing else has to be asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.expressions import Call, Column, Expression, Parameter
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import truth
from seine.evaluate.kernels.ordinals import VALUE_CODES, codes_of, has_own_codes
from seine.graph.node import Node, NodesView, SelectingNode, Signature, TablePart
from seine.graph.parameter_table import ParameterTable
from seine.operators.match.any_of import Tables, table_columns
from seine.operators.match.residual import Pairs
from seine.operators.match.selection import Picked, SelectionGroup, computed, matched, parameters_in
from seine.operators.state.working_nodes import (
    AnyOutput,
    ArrivedDelta,
    Form,
    HostFlow,
    Pushing,
    RecordRows,
    StatelessNode,
)
from seine.rows.grouping import group_rows
from seine.rows.hashing import hash_columns


@dataclass(frozen=True)
class DeliverNode(SelectingNode, StatelessNode):
    """Where records leave: a row that satisfies row i of the table is a result of the queries of row i.

    The last two columns of the table tell how: a form, by its table, and a row of that table.
    """

    kind = "deliver"
    is_delivery = True
    forms: tuple[Form, ...]

    def make_step(self, port: int, flow: HostFlow) -> DeliverStep:
        return DeliverStep(self, flow.tables, flow.nodes[self.inputs[0]])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.filter.table, *(form.table for form in self.forms))

    @property
    def computed(self) -> tuple[tuple[int, tuple[Expression, ...]], ...]:
        forms = ((form.table, (*form.checks, *form.outputs)) for form in self.forms)
        return (*super().computed, *forms)

    @property
    def parts(self) -> tuple[TablePart, ...]:
        return self.forms

    def with_parts(self, parts: Sequence[Any]) -> Self:
        return replace(self, forms=tuple(parts))

    def signature(self, standing: NodesView) -> Signature:
        return deliver_signature(self.inputs[0], self.filter.shape, self.owner)


def deliver_signature(row: int, shape: object, owner: str) -> Signature:
    return ("deliver", row, shape, owner)


class DeliverStep:
    """Gives each query its records: what a row matches first, how it is written then."""

    def __init__(self, node: DeliverNode, tables: Tables, below: Node) -> None:
        """`below` is the node whose rows arrive."""
        table = tables[node.filter.table]
        *constants, forms, rows = table_columns(table)
        self._selection = SelectionGroup(node.filter.shape, constants, len(table))
        self._writers: list[RecordWriter] = []
        self._writer_of = np.zeros(len(table), np.int64)  # of each row of the table
        self._row = np.zeros(len(table), np.int64)  # in the tables of its writer
        numbers, places = forms.to_numpy(), rows.to_numpy()
        for i, (read, alike) in enumerate(_alike(node.forms, below)):
            self._writers.append(RecordWriter(alike, tables, read))
            first = 0
            for form in alike:
                known = np.fromiter(tables[form.table].rows, np.int64, len(tables[form.table]))
                of_form = numbers == form.table
                self._writer_of[of_form] = i
                self._row[of_form] = first + np.searchsorted(known, places[of_form])
                first += len(known)
        self._queries = Queries(table)

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        delta = arrived.delta
        plus, minus = matched(self._selection, arrived)
        for i in self._hit(plus, minus):
            begun, ended = self._matched_by(i, plus), None if minus is None else self._matched_by(i, minus)
            if ended is not None and arrived.minus is not None and len(ended[0]):
                begun, ended = self._writers[i].changed(arrived, begun, ended)
            records = self._chosen(i, delta.plus, arrived.plus, begun)
            ends = None
            if delta.minus is not None and arrived.minus is not None and ended is not None:
                ends = self._chosen(i, delta.minus, arrived.minus, ended)
            if len(records.picks) or (ends is not None and len(ends.picks)):
                emission.results.deliver(self._writers[i].form, self._queries.names, records, ends)

    def _hit(self, plus: Pairs, minus: Pairs | None) -> list[int]:
        """The writers of which a row was matched."""
        picks = plus[1] if minus is None else np.concatenate([plus[1], minus[1]])
        if len(self._writers) == 1:
            return [0] if len(picks) else []
        hit: list[int] = np.unique(self._writer_of[picks]).tolist()
        return hit

    def _matched_by(self, i: int, pairs: Pairs) -> Pairs:
        """What was matched for one writer."""
        if len(self._writers) == 1:
            return pairs
        places = np.flatnonzero(self._writer_of[pairs[1]] == i)
        return pairs[0][places], pairs[1][places]

    def _chosen(self, i: int, batch: pa.RecordBatch, columns: DataColumns, pairs: Pairs) -> RecordRows:
        rows, picks = pairs
        answers, kept = self._writers[i].answers(batch, columns, rows, self._row[picks])
        return self._queries.of(answers, picks if kept is None else picks[kept])


class RecordWriter:
    """Forms that differ in checks alone, at work: checks what is matched, and computes its records."""

    def __init__(self, forms: Sequence[Form], tables: Tables, read: tuple[int, ...] | None) -> None:
        """`read` are the columns that count if a row below may change in others too."""
        self.form = forms[0]
        self._read = read
        self._outputs = self.form.outputs
        constants = [table_columns(tables[form.table]) for form in forms]
        self._constants = constants[0] if len(forms) == 1 else []
        self._parameters = parameters_in(self._outputs)
        self._guards = Guards(
            [
                FormChecks(form.checks, columns, len(tables[form.table]))
                for form, columns in zip(forms, constants, strict=True)
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
        self, batch: pa.RecordBatch, columns: DataColumns, rows: AnyArray, places: AnyArray
    ) -> tuple[pa.RecordBatch, AnyArray | None]:
        """The records of rows, each with the constants at a place, and which of them passed the checks."""
        kept = self._guards.kept(columns, rows, places)
        if kept is not None:
            rows, places = rows[kept], places[kept]
        return computed(batch, columns, rows, self._outputs, self._picked(places)), kept

    def _picked(self, places: AnyArray) -> list[pa.Array | None]:
        if not self._parameters:
            return []
        at = pa.array(places)
        return [
            column.take(at) if i in self._parameters else None for i, column in enumerate(self._constants)
        ]


Alike = tuple[tuple[int, ...] | None, list[Form]]


def _alike(forms: Sequence[Form], below: Node) -> Iterable[Alike]:
    """The forms by what their records are like, with the columns that count; one with constants is alone."""
    groups: dict[Hashable, Alike] = {}
    for form in forms:
        read = _partly_read(below, form)
        fixed = not parameters_in(form.outputs)
        key = (read, replace(form, table=0, checks=())) if fixed else form.table
        groups.setdefault(key, (read, []))[1].append(form)
    return groups.values()


def _partly_read(below: Node, form: Form) -> tuple[int, ...] | None:
    """The columns of groups' results that a form reads, keys included; None if nothing else changes them."""
    if below.group_columns is None:
        return None
    read = {*below.group_columns}.union(*(e.columns for e in (*form.checks, *form.expressions)))
    return None if len(read) == len(below.types) else tuple(sorted(read))


class Queries:
    """The queries of the rows of a table, by position; mostly one each.

    One that claims a row twice has two branches of a UNION ALL that are the same: it gets each answer twice.
    """

    def __init__(self, table: ParameterTable) -> None:
        claims = table.claims.values()
        self.names = [query for row in claims for query, times in row.items() for _ in range(times)]
        self._counts = np.fromiter((sum(row.values()) for row in claims), np.int64, len(table))
        self._firsts = np.cumsum(self._counts) - self._counts
        self._single = bool((self._counts == 1).all())

    def of(self, answers: pa.RecordBatch, picks: AnyArray) -> RecordRows:
        """Each answer once for every query of its row."""
        if self._single:
            return RecordRows(answers, picks)
        counts = self._counts[picks]
        places = np.repeat(np.arange(len(picks)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return RecordRows(answers.take(pa.array(places)), self._firsts[picks][places] + within)


class ChangedRows(NamedTuple):
    """Rows of a batch and the selections that they satisfy, with the instants of their change."""

    columns: DataColumns
    times: IntArray
    rows: IntArray
    picks: IntArray


def changed(plus: ChangedRows, minus: ChangedRows, read: Sequence[int]) -> tuple[IntArray, IntArray]:
    """The places in both whose row does not end and begin at one instant, equal in all columns of `read`."""
    numbers = [_both(plus.times[plus.rows], minus.times[minus.rows]), _both(plus.picks, minus.picks)]
    columns = [
        pa.concat_arrays(
            [plus.columns[i].take(pa.array(plus.rows)), minus.columns[i].take(pa.array(minus.rows))]
        )
        for i in read
    ]
    count, begun = len(numbers[0]), len(plus.rows)
    everything = [*numbers, *columns]
    groups = group_rows(hash_columns(everything, count), everything)
    label = np.empty(count, np.int64)
    label[groups.order] = groups.labels()
    begins, ends = np.bincount(label[:begun]), np.bincount(label[begun:])
    size = max(len(begins), len(ends))
    void = np.minimum(_padded(begins, size), _padded(ends, size))
    return (
        np.flatnonzero(_rank(label[:begun]) >= void[label[:begun]]),
        np.flatnonzero(_rank(label[begun:]) >= void[label[begun:]]),
    )


def _both(one: IntArray, other: IntArray) -> pa.Array:
    return pa.array(np.concatenate([one, other]), pa.int64())


def _padded(counts: IntArray, size: int) -> IntArray:
    return np.pad(counts, (0, size - len(counts)))


def _rank(labels: IntArray) -> IntArray:
    """For each place, how many before it have the same label."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    first = np.searchsorted(ordered, ordered)
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels)) - first
    return rank


_COMPARE = {"le": np.less_equal, "lt": np.less, "ge": np.greater_equal, "gt": np.greater}


class FormChecks(NamedTuple):
    """The checks of one form, and the constants of its table."""

    checks: tuple[Expression, ...]
    constants: list[pa.Array]
    size: int


class Guards:
    """The checks of forms whose tables stand one after the other; a place is a row of that one table."""

    def __init__(self, forms: Sequence[FormChecks]) -> None:
        self._forms = forms
        self._ends = np.cumsum([form.size for form in forms])
        self._any = any(form.checks for form in forms)
        self._worst = _worst(forms)

    def kept(self, columns: DataColumns, rows: IntArray, places: IntArray) -> IntArray | None:
        """Which of the rows, each with the constants at a place, pass; None if all do."""
        if not self._any or not len(rows) or self._surely(columns, rows):
            return None
        which = np.searchsorted(self._ends, places, "right")
        good = np.ones(len(rows), bool)
        for number in np.unique(which).tolist():
            mine = np.flatnonzero(which == number)
            first = int(self._ends[number]) - self._forms[number].size
            good[mine] = _checked(self._forms[number], columns, rows[mine], places[mine] - first)
        return np.flatnonzero(good)

    def _surely(self, columns: DataColumns, rows: IntArray) -> bool:
        """Do all rows pass, whichever constants they are checked with?"""
        if self._worst is None:
            return False
        for (name, column), constant in self._worst.items():
            codes, valid = columns.codes(column, VALUE_CODES, rows)
            if not (valid is None or valid.all()) or not _COMPARE[name](codes, constant).all():
                return False
        return True


def _checked(form: FormChecks, columns: DataColumns, rows: IntArray, places: IntArray) -> BoolArray:
    at, picked = pa.array(places), Picked(columns, rows)
    constants = [column.take(at) for column in form.constants]
    good = np.ones(len(rows), bool)
    for check in form.checks:
        good &= truth(check, picked, len(rows), constants)
    return good


def _worst(forms: Sequence[FormChecks]) -> dict[tuple[str, Column], int] | None:
    """For each comparison of a column the most demanding constant; None if there are other checks."""
    worst: dict[tuple[str, Column], int] = {}
    for form in forms:
        for check in form.checks:
            match check:
                case Call(name, (Column() as column, Parameter(index))) if name in _COMPARE:
                    constants = form.constants[index]
                case _:
                    return None
            if constants.null_count or not len(constants) or not has_own_codes(column.type):
                return None
            known = [worst[name, column]] if (name, column) in worst else []
            most = min if name in ("le", "lt") else max
            worst[name, column] = most([*known, *codes_of(constants).tolist()])
    return worst
