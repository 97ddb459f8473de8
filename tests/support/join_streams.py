"""Random rows with lives, cut into steps with legal watermarks: what tests of joins share."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Column, Expression, columns_of, split_shape
from seine.algebra.types import Type
from seine.graph.node import Filter, Port
from seine.graph.parameter_table import ParameterTable
from seine.operators.join.join import JoinNode, JoinOperator
from seine.operators.match.any_of import any_of
from seine.operators.state.store import MemoryStore
from seine.operators.state.working_nodes import Operator
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta, data_names, identity_names
from seine.rows.hashing import hash_columns


@dataclass(frozen=True)
class Row:
    """A row of an input: its life, its early end if it has one, its identity and its values."""

    start: int
    end: int
    values: tuple[Any, ...]
    identity: tuple[int, ...] = ()
    early: int | None = None


@dataclass(frozen=True)
class Side:
    """One input of a join: the types of its columns and which are its key."""

    types: tuple[Type, ...]
    key: tuple[Expression, ...]
    identities: int = 0

    def port(self, node: int) -> Port:
        return Port(node, self.types, (stream(node),), self.identities, self.key)

    def batch(self, rows: Sequence[Row], early: bool = False) -> pa.RecordBatch:
        columns = [pa.array([r.values[i] for r in rows], t.arrow()) for i, t in enumerate(self.types)]
        keys = [columns[e.index] for e in self.key if isinstance(e, Column)]
        named: list[tuple[str, pa.Array]] = [("_k", pa.array(hash_columns(keys, len(rows))))]
        named += [("_s", _times([r.start for r in rows])), ("_e", _times([r.end for r in rows]))]
        if early:
            named.append(("_d", _times([r.early for r in rows])))
        for i, name in enumerate(identity_names(self.identities)):
            named.append((name, _times([r.identity[i] for r in rows])))
        named += zip(data_names(len(columns)), columns, strict=True)
        return pa.RecordBatch.from_arrays([a for _, a in named], names=[n for n, _ in named])

    def sent(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that are sent to a join: NULL joins nothing."""
        read = sorted(set[int]().union(*map(columns_of, self.key)))
        return [row for row in rows if all(row.values[i] is not None for i in read)]

    def delta(self, plus: Sequence[Row], minus: Sequence[Row] = ()) -> Delta:
        return Delta(self.batch(plus), self.batch(minus, early=True) if self.identities else None)


def stream(node: int) -> str:
    return f"s{node}"


def _times(values: Sequence[int | None]) -> pa.Array:
    return pa.array(np.array(values, np.int64))


def condition_filters(
    conditions: Sequence[Expression | None],
) -> tuple[tuple[Filter, ...], dict[int, ParameterTable]]:
    """Filters of which each is one condition, and their tables of one row; None always holds."""
    filters, tables = [], {}
    for number, condition in enumerate(conditions):
        shape, constants = (None, ()) if condition is None else split_shape(condition)
        filters.append(Filter(shape, number))
        tables[number] = ParameterTable([constant.type for constant in constants])
        tables[number].claim(constants, "q")
    return tuple(filters), tables


def joining(
    left: Side, right: Side, condition: Expression | None, out: Sequence[int], hold: Sequence[str] = ()
) -> JoinOperator:
    """The operator of a join of two sides; pairs have to satisfy the condition."""
    filters, tables = condition_filters([condition])
    node = JoinNode(
        id=9,
        ports=(left.port(0), right.port(1)),
        types=left.types + right.types,
        out=tuple(sorted(out)),
        streams=(stream(0), stream(1)),
        hold=tuple(hold),
        identities=left.identities + right.identities,
        stage=1,
        owner="",
        filters=filters,
    )
    return JoinOperator(node, any_of(filters, tables))


def drive(
    operator: Operator, steps: Iterator[tuple[list[list[Delta]], Clock]]
) -> tuple[Counter, Counter, list[int]]:
    """Run an operator over steps, its memory passing through JSON; its plus, its minus, its state's sizes."""
    store, plus, minus, sizes = MemoryStore(), Counter(), Counter(), []
    for inputs, clock in steps:
        store.head = json.loads(json.dumps(store.head))
        for delta in operator.step(inputs, clock, store):
            plus.update(tuples(delta.plus))
            minus.update(tuples(delta.minus) if delta.minus is not None else [])
        sizes.append(operator.state_rows(store))
    return plus, minus, sizes


def tuples(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    """Rows as tuples; NaN, which equals nothing, as a word."""
    return [tuple("NaN" if value != value else value for value in row.values()) for row in batch.to_pylist()]


def cuts(rng: random.Random, count: int, steps: int) -> list[slice]:
    """A cut of a sequence into steps, some of them empty."""
    places = sorted(rng.randint(0, count) for _ in range(steps - 1))
    return [slice(a, b) for a, b in zip([0, *places], [*places, count], strict=True)]


def shuffled(rng: random.Random, rows: list[Row], lateness: int) -> list[Row]:
    """Rows in order of time, but for what lateness allows."""
    return sorted(rows, key=lambda row: row.start + rng.randint(0, lateness))


def watermark(later: Sequence[Row], rng: random.Random) -> int:
    """A legal watermark before these rows: at most their earliest start."""
    if not later:
        return FOREVER
    return min(row.start for row in later) - rng.choice([0, 0, 1, 5])


def append_steps(
    rng: random.Random, sides: Sequence[Side], rows: Sequence[list[Row]], steps: int
) -> Iterator[tuple[list[list[Delta]], Clock]]:
    """Rows that only append, cut into steps for each side on its own, in several pieces."""
    plans = [cuts(rng, len(side_rows), steps) for side_rows in rows]
    for number in range(steps):
        inputs, marks = [], {}
        for i, side in enumerate(sides):
            part = plans[i][number]
            came = side.sent(rows[i][part])
            middle = rng.randint(0, len(came))
            inputs.append([side.delta(came[:middle]), side.delta(came[middle:])])
            marks[stream(i)] = watermark(rows[i][part.stop :], rng) if part.stop else NEVER
        yield inputs, Clock(marks)


@dataclass(frozen=True)
class Event:
    """A row that begins (early is None in it counts for nothing) or, with `ends`, ends early."""

    row: Row
    ends: bool = False

    @property
    def time(self) -> int:
        return self.row.early if self.ends and self.row.early is not None else self.row.start


def events(rng: random.Random, rows: Sequence[Row], lateness: int) -> list[Event]:
    """Beginnings and early ends in order of time but for lateness; no row ends before it has come."""
    timed = []
    for row in rows:
        came = row.start + rng.randint(0, lateness)
        timed.append((came, Event(row)))
        if row.early is not None:
            timed.append((max(came, row.early + rng.randint(0, lateness)), Event(row, ends=True)))
    return [event for _, event in sorted(timed, key=lambda pair: pair[0])]


def event_steps(
    rng: random.Random, sides: Sequence[Side], queues: Sequence[list[Event]], steps: int
) -> Iterator[tuple[list[list[Delta]], Clock]]:
    """Events cut into steps for each side on its own; the last step is the end of all input."""
    plans = [cuts(rng, len(queue), steps) for queue in queues]
    now = NEVER
    for number in range(steps):
        inputs, marks = [], {}
        for i, (side, queue) in enumerate(zip(sides, queues, strict=True)):
            part = plans[i][number]
            came = queue[part]
            plus, minus = (side.sent([e.row for e in came if e.ends is ends]) for ends in (False, True))
            inputs.append([side.delta(plus, minus)] if plus or minus else [])
            now = max([now, *(e.time for e in came)])
            later = min((e.time for e in queue[part.stop :]), default=FOREVER)
            marks[stream(i)] = NEVER if not part.stop else later - (later < FOREVER) * rng.choice([0, 1, 4])
        yield inputs, Clock(marks, {"plain": now})
    ended = {stream(i): FOREVER for i in range(len(sides))}
    yield [[] for _ in sides], Clock(ended, {"plain": now}, end=True)
