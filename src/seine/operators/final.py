"""Tells the final result of each group, once.

The input is what an aggregate or DISTINCT tells: a group's row ends and the next begins, in event time. Kept
of each group is its result at the latest instant at which a tuple joined it: what expiry does to it later
is no longer its result. It is told, and forgotten, when the group is final:

- its row ended and none followed: all of its tuples have expired, and a tuple to come starts a new group;
- all streams beneath have promised its keys, and every tuple that came before has been counted;
- its key is a time, and no tuple to come has one as early;
- input has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Column, Expression, walk
from seine.network.nodes import FinalNode
from seine.operators.clock import Clock
from seine.operators.delta import FOREVER, NEVER, Delta, concat, data_names
from seine.operators.evaluate import evaluate
from seine.operators.grouping import group_rows
from seine.operators.plain import plain
from seine.operators.purging import Held, covered
from seine.operators.runs import Runs
from seine.operators.sorted_run import END, KEY, START, SortedRun, take_rows
from seine.operators.store import Store
from seine.operators.waiting import Waiting

READY = "_r"  # of a promise: every tuple before it started at this instant or earlier


class FinalOperator:
    """One node of final rows in one bucket."""

    def __init__(self, node: FinalNode) -> None:
        self._node = node
        self._names = [KEY, START, END, *data_names(len(node.types))]
        self._rows = Held("rows", -1, tuple(range(len(node.ports[0].key))), node.ports[0])
        self._promises = [
            Held(f"promises{i}", purge.side, purge.places, port)
            for i, (purge, port) in enumerate(zip(node.purges, node.ports[1:], strict=True))
        ]

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        runs = Runs(store, self._rows.name)
        progress = clock.progress(self._node.streams)
        told = self._advance(inputs[0], runs)
        told += self._by_promises(self._due(inputs[1:], clock, progress, store), store, runs)
        told += self._by_time(progress, runs)
        if clock.end:
            told += runs.take(lambda run: np.arange(run.rows))
        runs.settle(NEVER)
        for rows in told:
            if rows.num_rows:
                yield Delta(_open(rows.select(self._names[1:])))

    def state_rows(self, store: Store) -> int:
        return 0

    # ---- groups that end

    def _advance(self, pieces: Sequence[Delta], runs: Runs) -> list[pa.RecordBatch]:
        """Take in what changed; the rows of groups that are over."""
        begun = [piece.plus.select(self._names) for piece in pieces if piece.plus.num_rows]
        ended = [p.minus for p in pieces if p.minus is not None and p.minus.num_rows]
        if not begun and not ended:
            return []
        told = [*begun, *(rows.select(self._names) for rows in ended)]
        hashes = np.unique(np.concatenate([rows[KEY].to_numpy() for rows in told]))
        kept = runs.take(lambda run: _with_keys(run, hashes))
        everything = concat([*kept, *told])
        count, first = sum(rows.num_rows for rows in kept), sum(rows.num_rows for rows in (*kept, *begun))
        groups = self._groups(everything)
        times = everything[START].to_numpy().copy()
        if ended:
            times[first:] = np.concatenate([rows["_d"].to_numpy() for rows in ended])
        lives = Lives(groups, times, count, first)
        joined = np.arange(first)
        if self._node.arrival is not None:
            joined = np.concatenate([np.arange(count), count + self._joined(everything[count:first])])
        over, open_ = lives.last(joined)
        if len(open_):
            runs.add(SortedRun.of(take_rows(everything, open_), KEY))
        return [take_rows(everything, over)]

    def _groups(self, rows: pa.RecordBatch) -> np.ndarray:
        """The number of the group of each row."""
        columns = [plain(rows[f"c{index}"]) for index in self._node.group]
        found = group_rows(rows[KEY].to_numpy(), columns)
        numbers = np.empty(rows.num_rows, np.int64)
        numbers[found.order] = found.labels()
        return numbers

    def _joined(self, begun: pa.RecordBatch) -> np.ndarray:
        """The rows that begin because a tuple joined their group."""
        latest = begun[f"c{self._node.arrival}"].view(pa.int64())
        return np.flatnonzero(latest.to_numpy(zero_copy_only=False) == begun[START].to_numpy())

    # ---- promises

    def _due(
        self, pieces: Sequence[list[Delta]], clock: Clock, progress: int, store: Store
    ) -> list[SortedRun | None]:
        """The promises of each port before which every tuple has been counted."""
        now = max(clock.now.values(), default=NEVER)
        found: list[SortedRun | None] = []
        for held, deltas in zip(self._promises, pieces, strict=True):
            batches = [delta.plus for delta in deltas if delta.plus.num_rows]
            arrived = None
            if batches:
                whole = concat(batches)
                arrived = whole.append_column(READY, pa.array(np.full(whole.num_rows, now)))
            due = Waiting(store, f"{held.name}_waiting", READY).release(arrived, progress)
            found.append(None if due is None else SortedRun.of(due.drop_columns([READY]), KEY))
        return found

    def _by_promises(self, due: Sequence[SortedRun | None], store: Store, runs: Runs) -> list[pa.RecordBatch]:
        """The groups that all members have promised; what has been promised by some is remembered."""
        if not any(due):
            return []
        if self._node.members == 1:
            fresh = [(held, [run]) for held, run in zip(self._promises, due, strict=True) if run]
            return runs.take(lambda run: np.flatnonzero(self._covered(run, fresh)))
        made: list[tuple[Held, list[SortedRun]]] = []
        for held, run in zip(self._promises, due, strict=True):
            known = Runs(store, held.name)
            if run:
                known.add(run)
                known.settle(NEVER)
            made.append((held, list(known.overlapping())))

        def final(run: SortedRun) -> np.ndarray:
            by_member = [
                self._covered(run, [(held, known) for held, known in made if held.side == member])
                for member in range(self._node.members)
            ]
            return np.flatnonzero(np.logical_and.reduce(by_member))

        return runs.take(final)

    def _covered(self, run: SortedRun, promises: Sequence[tuple[Held, list[SortedRun]]]) -> np.ndarray:
        mask = np.zeros(run.rows, bool)
        for cover, made in promises:
            for known in made:
                for places in covered(self._rows, run, cover, known):
                    mask[places] = True
        return mask

    # ---- times

    def _by_time(self, progress: int, runs: Runs) -> list[pa.RecordBatch]:
        """The groups whose time has passed."""
        if not self._node.clocks or progress in (NEVER, FOREVER):
            return []
        told: list[pa.RecordBatch] = []
        for place, expression in ((t.place, t.expression) for t in self._node.clocks):
            column = next(iter(_columns(expression)))
            reached = evaluate(expression, [pa.array([progress]).view(column.type.arrow())], 1)
            if reached.null_count == 0:
                told += runs.take(lambda run, p=place, r=reached[0]: self._earlier(run, p, r))  # type: ignore[misc]
        return told

    def _earlier(self, run: SortedRun, place: int, reached: pa.Scalar) -> np.ndarray:
        values = self._rows.values(run.batch, place)
        return np.flatnonzero(pc.fill_null(pc.less(values, reached), False).to_numpy(zero_copy_only=False))


class Lives:
    """Rows by group and time: those kept, those that begin, and behind `first` those that end.

    A group is over where a row of it ends and none begins.
    """

    def __init__(self, groups: np.ndarray, times: np.ndarray, kept: int, first: int) -> None:
        ranks = np.unique(times, return_inverse=True)[1].reshape(-1)
        self._width = int(ranks.max()) + 1
        self._groups, self._ranks = groups, ranks
        self._at = groups * self._width + ranks
        self._over = np.unique(np.setdiff1d(self._at[first:], self._at[kept:first]))

    def last(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of these rows the latest of each life: those of lives that are over, and those of others."""
        floor = np.searchsorted(self._over, self._groups[rows] * self._width)
        life = np.searchsorted(self._over, self._at[rows], "right") - floor
        lives = np.searchsorted(self._over, (self._groups[rows] + 1) * self._width) - floor
        order = np.lexsort((self._ranks[rows], life, self._groups[rows]))
        same = (np.diff(self._groups[rows][order]) == 0) & (np.diff(life[order]) == 0)
        latest = order[np.append(~same, True)] if len(order) else order
        over = life[latest] < lives[latest]
        return rows[latest[over]], rows[latest[~over]]


def _columns(expression: Expression) -> Iterator[Column]:
    return (part for part in walk(expression) if isinstance(part, Column))


def _with_keys(run: SortedRun, hashes: np.ndarray) -> np.ndarray:
    found = [places for _, places in run.equal_keys(hashes)]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _open(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.set_column(1, END, pa.array(np.full(rows.num_rows, FOREVER)))
