"""Symmetric hash join of three inputs or more at once (MJoin), purged by punctuations of all together.

Law: after every step the output so far is {one row of each port | groups agree, a filter holds,
max(_s) < min(_e)} over the input so far, whatever was punctuated and purged in between: see chained_purge.

    SELECT ... FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.y

    new rows of a port ──┬─ probe the other ports, the most constrained first ──> combinations
                         └─ state of the port, by start
    punctuations ──> state of their scheme ──> rows that no later combination can have are purged
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.operators.join.derived_node import DerivedPunctuationsNode
from seine.operators.join.derived_punctuations import PunctuationDerivers, forget_unread
from seine.operators.match.any_of import AnyOf
from seine.operators.multi_join.chained_purge import ChainedPurge, Lasting
from seine.operators.multi_join.combining import CombinationSearch, combined
from seine.operators.multi_join.key_codes import Indexes
from seine.operators.multi_join.multi_join_shape import Arrivals, GroupCodes, Shape, horizon_name
from seine.operators.multi_join.multi_time_bounds import TimeBound
from seine.operators.multi_join.port_rows import Extent
from seine.operators.multi_join.punctuation_purge import PunctuationPurge
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import END, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.coalesce import coalesce
from seine.rows.delta import FOREVER, Delta, DerivedPunctuations

if TYPE_CHECKING:
    from seine.operators.multi_join.multi_join_node import MultiJoinNode

LEAST_ROWS_TO_COMPACT = 1024  # rows; a longer run is written again only if much of it has gone
PENDING = "pending"  # punctuations and rows that came since the last look, and the lows then


@dataclass(frozen=True)
class PurgePace:
    """How often held rows are looked at: a look costs what is held, so what has come should be worth it.

    A look is due when what came is as much as what is held, a punctuation counting as so many rows, and a row
    as so many; where little is held, always; and when what came has come before this step alone.
    """

    punctuation: int
    row: int
    small: int

    def is_due(self, punctuations: int, rows: int, held: int) -> bool:
        return held <= self.small or punctuations * self.punctuation + rows * self.row >= held


EAGER = PurgePace(punctuation=64, row=4, small=4096)
LAZY = PurgePace(punctuation=8, row=1, small=0)


class MultiJoinOperator:
    """One join of many inputs in one bucket."""

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
        """`relations` has the tuples of each of the node's; `derived` are punctuations of its output.

        What these follow from comes behind the ports of the node.
        """
        self._node, self._filters = node, filters
        self._pace = pace or (LAZY if node.lazy else EAGER)
        self._shape = Shape(node, bounds)
        self._relations = Relations([self._shape.static(i, tuples) for i, tuples in enumerate(relations)])
        self._derivers, self._derived_nodes = (
            PunctuationDerivers(derived, node.ports, buckets, indexed=False),
            derived,
        )

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port have to bring."""
        return self._shape.needed(port)

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | DerivedPunctuations]:
        width, ports = self._node.width, len(self._node.ports)
        batches = [[delta.plus for delta in deltas] for deltas in inputs[:ports]]
        rows = [_sorted(self._shape.rows(port, batches[port])) for port in range(width)]
        punctuations = [
            _sorted(self._shape.punctuations(number, came)) for number, came in enumerate(batches[width:])
        ]
        step = MultiJoinStep(self._shape, self._relations, store, rows, punctuations, clock)
        yield from coalesce(step.combinations(self._filters))
        step.retain(self._pace)
        forget_unread(store, self._derived_nodes)
        counts = [sum(d.num_rows for p in ports for d in p) for ports in (inputs[:width], inputs[width:])]
        held, ends = _all_runs(self._shape, store)[:width], [step.end(port) for port in range(width)]
        yield from self._derivers.step(inputs[ports:], (counts[0], counts[1]), held, ends, store)

    def state_rows(self, store: Store) -> int:
        return sum(self.state_by_port(store))

    def state_by_port(self, store: Store) -> list[int]:
        """How much is held of each input: rows, and punctuations that it has made."""
        counts = [runs.rows for runs in _all_runs(self._shape, store)]
        held, punctuations = counts[: self._node.width], counts[self._node.width :]
        for punctuated, count in zip(self._node.punctuated, punctuations, strict=True):
            held[punctuated.port] += count
        return [rows + self._derivers.state_rows(port, store) for port, rows in enumerate(held)]


@dataclass(frozen=True)
class Relations:
    """The relations of a join, and what is made of them once for all steps."""

    extents: Sequence[Extent]
    indexes: Indexes = field(default_factory=dict)
    lasting: Lasting = field(default_factory=Lasting)


class MultiJoinStep:
    """The work of one step: what is held and what came, then what is held after it."""

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
        combining = CombinationSearch(self._shape, self._everything, self._codes, self._relations.indexes)
        for partial in combining.fresh():
            yield Delta(combined(self._shape, self._everything, partial, filters))

    def retain(self, pace: PurgePace) -> None:
        """Keep what came, without what nothing can join any more."""
        keep = self._kept() if self._is_due(pace) else [None] * (self._streams + len(self._punctuations))
        came = [*self._came, *self._punctuations_came]
        ends = [self.end(port) for port in range(self._streams)]
        ends += [self._lows[punctuated.port] for punctuated in self._shape.node.punctuated]
        for runs, new, mask, end in zip(
            [*self._runs, *self._punctuation_runs], came, keep, ends, strict=True
        ):
            _retain(runs, new, mask, end)

    def _is_due(self, pace: PurgePace) -> bool:
        """Whether to look what is finished; if not, what came is counted."""
        punctuations, rows, lows = self._head.get(PENDING, [0, 0, []])
        punctuations_came = sum(came.num_rows for came in self._punctuations_came if came is not None)
        met = sum(came.num_rows for came in self._came if came is not None)
        idle = not punctuations_came and (punctuations or (rows and not met))
        punctuations, rows = punctuations + punctuations_came, rows + met
        news = punctuations or rows or lows != self._lows
        held = sum(extent.rows for extent in (*self._extents, *self._punctuations))
        due = bool(news and held and self._may_help() and (idle or pace.is_due(punctuations, rows, held)))
        self._head[PENDING] = [0, 0, self._lows] if due else [punctuations, rows, lows]
        return due

    def _may_help(self) -> bool:
        """Nothing is closed without a relation, a punctuation, or a row whose time is over."""
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
        """Rows of a port that end by then can meet no later row of any other."""
        return min(low for other, low in enumerate(self._lows) if other != port)

    def _kept(self) -> list[np.ndarray | None]:
        """Which rows and which punctuates stay."""
        shape, codes, lows = self._shape, self._codes, self._all_lows
        purge = ChainedPurge(
            shape, self._everything, self._punctuations, codes, lows, self._relations.lasting
        )
        staying = [_worth_writing(runs, ~purge.finished(port)) for port, runs in enumerate(self._runs)]
        staying += [np.ones(extent.rows, bool) for extent in self._relations.extents]
        forget = PunctuationPurge(shape, self._punctuations, codes, staying, lows)
        needed: dict[int, np.ndarray] = {
            scheme.number: forget.needed(port, scheme)
            for port, schemes in enumerate(self._shape.schemes)
            for scheme in schemes
        }
        return [*staying[: self._streams], *(needed[number] for number in range(len(self._punctuations)))]


def _all_runs(shape: Shape, store: Store) -> list[Runs]:
    """The rows of each port, then the punctuations of each port of punctuations."""
    names = [f"rows{port}" for port in range(shape.node.width)]
    names += [f"punctuations{number}" for number in range(len(shape.node.punctuated))]
    return [Runs(store, name, START) for name in names]


def _sorted(batch: Arrivals) -> Arrivals:
    return None if batch is None else SortedRun.of(batch, START).batch


def _held(runs: Runs) -> list[pa.RecordBatch]:
    return [run.batch for run in runs.overlapping()]


def _retain(runs: Runs, came: Arrivals, mask: np.ndarray | None, end: int) -> None:
    """Forget rows outside the mask (held rows, then new ones), and those that end by an instant."""
    held = runs.rows
    if mask is not None and not mask[:held].all():
        parts = iter(_by_run(runs, mask))
        runs.keep_where(lambda run: next(parts))
    if came is not None:
        if mask is not None and not mask[held:].all():
            came = take_rows(came, np.flatnonzero(mask[held:]))
        runs.add(SortedRun(came).after(end))
    runs.settle(end)


def _by_run(runs: Runs, mask: np.ndarray) -> list[np.ndarray]:
    """The parts of a mask over held rows, run by run; new rows behind them are left out."""
    sizes = [run.rows for run in runs.overlapping()]
    return np.split(mask[: runs.rows], np.cumsum(sizes)[:-1]) if sizes else []


def _worth_writing(runs: Runs, mask: np.ndarray) -> np.ndarray:
    """The mask, but a run of more than a few rows is written again only if an eighth of it goes."""
    for part in _by_run(runs, mask):
        if len(part) >= LEAST_ROWS_TO_COMPACT and np.count_nonzero(part) * 8 > len(part) * 7:
            part[:] = True  # a view of the mask
    return mask
