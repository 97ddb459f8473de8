"""A symmetric multi-way hash join of three inputs or more, whose state is bounded by punctuations.

    SELECT ... FROM r, s, t WHERE r.a = s.a AND s.b = t.b

Columns that equalities make equal are one *group* ({r.a, s.a} and {s.b, t.b}); inputs join where all their
groups agree. They are joined at once because what can be purged of one depends on punctuations of all.

    rows of ports 0 .. width-1 ──────┐
                                     ├─> combine with held rows ─> filters ─> results
    punctuations of these ports ─────┤
                                     └─> now and then: chained purge of rows, then of punctuations
    store: rows0, rows1, ..  punctuations0, ..   (log-structured, sorted by start)

Law: after every step the output so far is {one row of each port | groups agree, a filter holds,
max(_s) < min(_e)} over the input so far, whatever was punctuated and purged in between.

The node of a multi-way join (MJoin) of three inputs or more.

    SELECT ... FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.y

    a rows ──┐
    b rows ──┼─ multijoin (group 0: a.x = b.x, group 1: b.y = c.y) ─── combinations
    c rows ──┤
    punctuations, one port for each scheme that is listened to

It is used where what may be purged depends on all inputs together, which no tree of joins of two can see.

Cites: SAFETY 3.2 (MJoin)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray
from seine.algebra.expressions import Expression
from seine.algebra.types import Type
from seine.graph.node import FilteringNode, NodesView, Signature
from seine.operators.join.derived_punctuations import (
    DerivedPunctuationsNode,
    PunctuationDerivers,
    arrived,
    derived_punctuations_of,
    forget_unread,
    gathered,
)
from seine.operators.match.any_of import AnyOf, any_of
from seine.operators.multi_join.chained_purge import ChainedPurge, Lasting, PunctuationPurge
from seine.operators.multi_join.combining import CombinationSearch, Indexes, combined
from seine.operators.multi_join.multi_join_shape import (
    Arrivals,
    Extent,
    GroupCodes,
    Shape,
    TimeBound,
    bounds_of,
    horizon_name,
)
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import END, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta, DerivedPunctuations, coalesce

NO_START_COLUMN = -1  # among columns of starts: a row of several tuples has none


@dataclass(frozen=True)
class Member:
    """The value that the rows of a port have in one group of equal values."""

    port: int
    group: int
    expression: Expression


@dataclass(frozen=True)
class Punctuated:
    """What a port of punctuations is about: the rows of a port, by the groups that its columns belong to.

    If the values are reused, `partners` are the ports for which they begin anew: rows of the port that come
    after the end of a punctuation join no row of theirs that began before it. With `gathers` they are sent by
    every bucket of a join beneath, and count when all buckets have sent them.
    """

    port: int
    groups: tuple[int, ...]
    partners: tuple[int, ...] = ()
    gathers: bool = False


@dataclass(frozen=True)
class Static:
    """A relation that takes part in a join like an input of which everything has come."""

    relation: str
    types: tuple[Type, ...]


@dataclass(frozen=True)
class MultiJoinNode(FilteringNode, StatefulNode):
    """Joins many inputs at once: what is purged depends on all of them together.

    The first `width` ports bring rows, the others punctuations, each described by one of `punctuated`.
    Relations of `statics` count as ports behind the first ones. Rows are combined where members of one group
    are equal (and not NULL). Filters and `out` address the rows of the first ports, then of relations, side
    by side. No row can end early. `times` are the columns in which rows of the first ports have their start,
    NO_START_COLUMN where rows are of several tuples. `generation` is as of a join of two.
    """

    kind = "multijoin"
    is_join = True
    drops_null_keys = True
    width: int
    members: tuple[Member, ...]
    punctuated: tuple[Punctuated, ...]
    times: tuple[int, ...]
    statics: tuple[Static, ...] = ()
    lazy: bool = False
    purge_batch: int = 0
    generation: int = 0

    def make_operator(self, flow: HostFlow) -> MultiJoinOperator:
        return MultiJoinOperator(
            self,
            any_of(self.filters, flow.tables),
            bounds_of(self, flow.tables),
            [flow.relations.tuples(static.relation) for static in self.statics],
            derived=derived_punctuations_of(self.id, flow),
            buckets=flow.buckets,
        )

    @property
    def row_types(self) -> tuple[tuple[Type, ...], ...]:
        """The types of what stands side by side in a row."""
        return (
            *(port.types for port in self.ports[: self.width]),
            *(static.types for static in self.statics),
        )

    def signature(self, standing: NodesView) -> Signature:
        inputs = [standing.beneath_prefilter(self, port) for port in range(len(self.ports))]
        return multi_join_signature(
            inputs, self.members, self.punctuated, self.statics, self.owner, self.generation
        )

    def first_column(self, port: int) -> int:
        return sum(map(len, self.row_types[:port]))


def multi_join_signature(
    inputs: Sequence[int],
    members: Hashable,
    punctuated: Hashable,
    statics: Hashable,
    owner: str,
    generation: int = 0,
) -> Signature:
    return ("multijoin", tuple(inputs), members, punctuated, statics, owner, generation)


LEAST_ROWS_TO_COMPACT = 1024  # rows; a longer run is rewritten only if much of it is purged
PENDING = "pending"  # head: punctuations and rows since the last purge, and the lows then


@dataclass(frozen=True)
class PurgePace:
    """How often held rows are purged: a purge costs what is held, so enough should have arrived since.

    A purge is due when what arrived, each punctuation counting `punctuation` and each row `row`, is as much
    as what is held; where no more than `small` rows are held, always. (It is also due in a step without
    news, if there was some before.) With a `batch` it is due when so many punctuations have arrived, and
    not before.
    """

    punctuation: int
    row: int
    small: int
    batch: int = 0

    def is_due(self, punctuations: int, rows: int, held: int) -> bool:
        """Whether to purge, given what arrived since the last purge and what is held."""
        if self.batch:
            return punctuations >= self.batch
        return held <= self.small or punctuations * self.punctuation + rows * self.row >= held


EAGER = PurgePace(punctuation=64, row=4, small=4096)
LAZY = PurgePace(punctuation=8, row=1, small=0)


class MultiJoinOperator:
    """The operator of a `MultiJoinNode`."""

    def __init__(
        self,
        node: MultiJoinNode,
        filters: AnyOf,
        bounds: Sequence[TimeBound] = (),
        relations: Sequence[pa.RecordBatch] = (),
        pace: PurgePace | None = None,
        derived: Sequence[DerivedPunctuationsNode] = (),
        buckets: int = 1,
    ) -> None:
        """`relations` has the tuples of each relation of the node; `derived` are its derived punctuations.

        The inputs for derived punctuations come behind the ports of the node.
        """
        self._node, self._filters, self._buckets = node, filters, buckets
        self._pace = pace or (replace(LAZY, batch=node.purge_batch) if node.lazy else EAGER)
        self._shape = Shape(node, bounds)
        self._relations = Relations([self._shape.static(i, tuples) for i, tuples in enumerate(relations)])
        self._derivers, self._derived_nodes = (
            PunctuationDerivers(derived, node.ports, buckets, indexed=False),
            derived,
        )

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port must have."""
        return self._shape.needed(port)

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | DerivedPunctuations]:
        width, ports = self._node.width, len(self._node.ports)
        batches = [[delta.plus for delta in deltas] for deltas in inputs[:width]]
        rows = [_sorted(self._shape.rows(port, batches[port])) for port in range(width)]
        punctuations = [
            _sorted(self._shape.punctuations(number, self._counting(number, inputs[width + number], store)))
            for number in range(len(self._node.punctuated))
        ]
        step = MultiJoinStep(self._shape, self._relations, store, rows, punctuations, clock)
        yield from coalesce(step.combinations(self._filters))
        step.retain(self._pace)
        forget_unread(store, self._derived_nodes)
        counts = [sum(d.num_rows for p in part for d in p) for part in (inputs[:width], inputs[width:])]
        held, ends = _all_runs(self._shape, store)[:width], [step.end(port) for port in range(width)]
        yield from self._derivers.step(inputs[ports:], (counts[0], counts[1]), held, ends, store)

    def _counting(self, number: int, deltas: Sequence[Delta], store: Store) -> list[pa.RecordBatch]:
        """The punctuations of a port that count from this step on."""
        if not self._node.punctuated[number].gathers:
            return [delta.plus for delta in deltas]
        whole = gathered(arrived(deltas), _parts(store, number), self._buckets)
        return [] if whole is None else [whole]

    def state_rows(self, store: Store) -> int:
        return sum(self.state_by_port(store))

    def state_by_port(self, store: Store) -> list[int]:
        """How much is held of each input: rows, and punctuations of it."""
        held = [runs.rows for runs in _all_runs(self._shape, store)[: self._node.width]]
        counts = self._punctuations_held(store)
        for punctuated, count in zip(self._node.punctuated, counts, strict=True):
            held[punctuated.port] += count
        return [count + self._derivers.state_rows(port, store) for port, count in enumerate(held)]

    def punctuation_rows(self, store: Store) -> int:
        """How many punctuations are among what is held."""
        width = self._node.width
        waiting = sum(self._derivers.state_rows(port, store) for port in range(width))
        return waiting + sum(self._punctuations_held(store))

    def _punctuations_held(self, store: Store) -> list[int]:
        """How many punctuations of each scheme are held, those that some buckets have not sent among them."""
        counts = [runs.rows for runs in _all_runs(self._shape, store)[self._node.width :]]
        gathering = [number for number, one in enumerate(self._node.punctuated) if one.gathers]
        for number in gathering:
            counts[number] += _parts(store, number).rows
        return counts


@dataclass(frozen=True)
class Relations:
    """The relations of a join, and indexes over them that are built once for all steps."""

    extents: Sequence[Extent]
    indexes: Indexes = field(default_factory=dict)
    lasting: Lasting = field(default_factory=Lasting)


class MultiJoinStep:
    """One step: combines what is held with what arrived, then decides what is held after it."""

    def __init__(
        self,
        shape: Shape,
        relations: Relations,
        store: Store,
        rows: Sequence[Arrivals],
        punctuations: Sequence[Arrivals],
        clock: Clock,
    ) -> None:
        self._shape, self._relations, self._head = shape, relations, store.head
        runs, self._streams = _all_runs(shape, store), shape.node.width
        self._runs, self._punctuation_runs = runs[: self._streams], runs[self._streams :]
        self._came, self._punctuations_came = rows, punctuations
        self._lows = [clock.low(port.streams) for port in shape.node.ports[: self._streams]]
        self._extents = [Extent(_held(held), came) for held, came in zip(self._runs, rows, strict=True)]
        self._everything = [*self._extents, *relations.extents]
        self._all_lows = [*self._lows, *[FOREVER] * len(relations.extents)]
        self._punctuations = [
            Extent(_held(held), came) for held, came in zip(self._punctuation_runs, punctuations, strict=True)
        ]
        self._codes = GroupCodes(shape, self._everything, self._punctuations)

    def combinations(self, filters: AnyOf) -> Iterator[Delta]:
        """The new results, in chunks."""
        combining = CombinationSearch(self._shape, self._everything, self._codes, self._relations.indexes)
        for partial in combining.fresh():
            yield Delta(combined(self._shape, self._everything, partial, filters))

    def retain(self, pace: PurgePace) -> None:
        """Store what arrived and, if a purge is due, drop what nothing can join any more."""
        keep = self._kept() if self._is_due(pace) else [None] * (self._streams + len(self._punctuations))
        came = [*self._came, *self._punctuations_came]
        ends = [self.end(port) for port in range(self._streams)]
        ends += [
            NEVER if punctuated.partners else self._lows[punctuated.port]
            for punctuated in self._shape.node.punctuated
        ]
        for runs, new, mask, end in zip(
            [*self._runs, *self._punctuation_runs], came, keep, ends, strict=True
        ):
            _retain(runs, new, mask, end)

    def _is_due(self, pace: PurgePace) -> bool:
        """Whether to purge in this step; if not, what arrived is counted."""
        punctuations, rows, lows = self._head.get(PENDING, [0, 0, []])
        new_punctuations = sum(came.num_rows for came in self._punctuations_came if came is not None)
        new_rows = sum(came.num_rows for came in self._came if came is not None)
        idle = not new_punctuations and (punctuations or (rows and not new_rows))
        punctuations, rows = punctuations + new_punctuations, rows + new_rows
        news = punctuations or rows or lows != self._lows
        held = sum(extent.rows for extent in (*self._extents, *self._punctuations))
        idle = idle and not pace.batch
        due = bool(news and held and self._may_help() and (idle or pace.is_due(punctuations, rows, held)))
        self._head[PENDING] = [0, 0, self._lows] if due else [punctuations, rows, lows]
        return due

    def _may_help(self) -> bool:
        """Whether a purge can find anything: a relation, a punctuation, or a row whose time is over."""
        if self._relations.extents or any(extent.rows for extent in self._punctuations):
            return True
        filled = [(port, extent) for port, extent in enumerate(self._extents) if extent.rows]
        if any(int(extent.numbers(END).min()) <= max(self._lows) for _, extent in filled):
            return True
        return any(
            int(extent.numbers(horizon_name(bound.port)).min()) <= self._lows[bound.port]
            for port, extent in filled
            for bound in self._shape.bounds[port]
        )

    def end(self, port: int) -> int:
        """The bound by which rows of a port have ended that can join no later row of any other port."""
        return min(low for other, low in enumerate(self._lows) if other != port)

    def _kept(self) -> list[BoolArray | None]:
        """Masks of the rows of each port, and of the punctuations of each scheme, that stay."""
        shape, codes, lows = self._shape, self._codes, self._all_lows
        purge = ChainedPurge(
            shape, self._everything, self._punctuations, codes, lows, self._relations.lasting
        )
        staying = [_worth_writing(runs, ~purge.finished(port)) for port, runs in enumerate(self._runs)]
        staying += [np.ones(extent.rows, bool) for extent in self._relations.extents]
        forget = PunctuationPurge(shape, self._everything, self._punctuations, codes, staying, lows)
        needed: dict[int, BoolArray] = {
            scheme.number: forget.needed(port, scheme)
            for port, schemes in enumerate(self._shape.schemes)
            for scheme in schemes
        }
        return [*staying[: self._streams], *(needed[number] for number in range(len(self._punctuations)))]


def _all_runs(shape: Shape, store: Store) -> list[Runs]:
    """The held rows of each port, then the held punctuations of each scheme."""
    names = [f"rows{port}" for port in range(shape.node.width)]
    names += [f"punctuations{number}" for number in range(len(shape.node.punctuated))]
    return [Runs(store, name, START) for name in names]


def _parts(store: Store, number: int) -> Runs:
    """Punctuations of a scheme that not all buckets of the join beneath have sent yet."""
    return Runs(store, f"punctuations{number}_parts")


def _sorted(batch: Arrivals) -> Arrivals:
    return None if batch is None else SortedRun.of(batch, START).batch


def _held(runs: Runs) -> list[pa.RecordBatch]:
    return [run.batch for run in runs.overlapping()]


def _retain(runs: Runs, came: Arrivals, mask: BoolArray | None, end: int) -> None:
    """Store new rows; drop rows outside the mask (held rows, then new ones), and those that end by `end`."""
    held = runs.rows
    if mask is not None and not mask[:held].all():
        parts = iter(_by_run(runs, mask))
        runs.keep_where(lambda run: next(parts))
    if came is not None:
        if mask is not None and not mask[held:].all():
            came = take_rows(came, np.flatnonzero(mask[held:]))
        runs.add(SortedRun(came).after(end))
    runs.settle(end)


def _by_run(runs: Runs, mask: BoolArray) -> list[BoolArray]:
    """The parts of a mask over held rows, run by run, as views; new rows behind them are left out."""
    sizes = [run.rows for run in runs.overlapping()]
    return np.split(mask[: runs.rows], np.cumsum(sizes)[:-1]) if sizes else []


def _worth_writing(runs: Runs, mask: BoolArray) -> BoolArray:
    """The mask, changed so that a long run is rewritten only if an eighth of it goes."""
    for part in _by_run(runs, mask):
        if len(part) >= LEAST_ROWS_TO_COMPACT and np.count_nonzero(part) * 8 > len(part) * 7:
            part[:] = True  # a view of the mask
    return mask
