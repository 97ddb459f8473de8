"""Final rows: what `emit = 'final'` emits of groups, and of rows that change, once each.

*Final* emits the final result of each group (in Flink: EMIT ON WINDOW CLOSE, a group being its window).

    SELECT itemid, max(price) FROM bid GROUP BY itemid          WITH (emit = 'final')

The input is the output of an aggregate or DISTINCT: a group's row ends and the next begins, in event time.
Kept of each group is its result at the latest instant at which a tuple joined it: what expiry does to it
later is no longer its result. Law: it is emitted, and forgotten, when the group is final:

- its row ended and none followed: all of its tuples have expired, and a tuple to come starts a new group
  (where its rows are those of groups beneath, they have been taken back instead, and nothing is emitted);
- all streams beneath have punctuated its keys, and every tuple that came before has been counted;
- its key is a time, and no tuple to come has one as early;
- input has ended.

As input of joins and groups such rows are a stream: each begins at the last instant before it is final, which
for a window is its last one.

    changes of groups ──> latest result of each group ──┐
    punctuations of keys ──> waiting for progress ──────┴──> final results, + only

*Settled* emits rows that may end early once they no longer can (in Flink: the append-only rows of a window).

    SELECT b.id, g.m FROM bid b JOIN (SELECT ts DIV 10 AS k, max(price) AS m FROM bid GROUP BY ts DIV 10) g
      ON b.ts DIV 10 = g.k AND b.price = g.m                                         WITH (emit = 'final')

The input is the changelog of a join or UNION ALL with groups in it: rows begin, and end early. Kept are rows
that have begun and not ended. Law: a row is emitted, and forgotten, when each of its parts is final by a
rising column, or when input has ended. One that ends before is never emitted.

    + row, - row ──> rows that are there ──(progress has passed every part)──> final rows, + only
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, IntArray
from seine.algebra.expressions import Expression
from seine.graph.node import NodesView, Signature
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.join.final_time import FinalTime, final_from, passed
from seine.operators.join.join_purge import HeldRows, Punctuators, PurgeRule
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import END, KEY, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.column_arrays import as_column
from seine.rows.delta import FOREVER, NEVER, Delta, concat_batches, data_names, identity_names
from seine.rows.grouping import group_rows


class FinalOperator:
    """One node of final rows in one bucket."""

    def __init__(self, node: FinalNode, buckets: int = 1) -> None:
        self._node = node
        self._names = [KEY, START, END, *data_names(len(node.types))]
        self._rows = HeldRows("rows", -1, tuple(range(len(node.ports[0].key))), node.ports[0])
        self._punctuators = Punctuators(node.ports[0], node.ports[1:], node.purges, node.punctuators, buckets)

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        runs = Runs(store, self._rows.name)
        progress = clock.progress(self._node.streams)
        final = self._advance(inputs[0], runs)
        if self._punctuators.take(inputs[1:], clock.latest_of(self._node.streams), progress, store):
            final += runs.take(lambda run: self._punctuators.finished(run, store))
            self._punctuators.prune(store)
        final += self._by_time(progress, runs)
        if clock.end:
            final += runs.take(lambda run: np.arange(run.rows))
        runs.settle(NEVER)
        for rows in final:
            if rows.num_rows:
                yield Delta(_open(self._begun(rows, progress).select(self._names[1:])))

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return Runs(store, self._rows.name).rows

    def punctuation_rows(self, store: Store) -> int:
        return self._punctuators.rows(store)

    def _begun(self, rows: pa.RecordBatch, progress: int) -> pa.RecordBatch:
        """Rows as of the instant of which they are told: as input of others the last one before they are
        final; else that of their last tuple, not that of its pane.
        """
        if self._node.as_input:
            starts = pa.array(self._last_instants(rows, progress))
        elif self._node.paned:
            starts = rows[f"c{self._node.arrival}"].view(pa.int64())
        else:
            return rows
        return rows.set_column(rows.schema.get_field_index(START), START, starts)

    def _last_instants(self, rows: pa.RecordBatch, progress: int) -> IntArray:
        """Of rows that are final the last instant at which they were not yet.

        It is complete, and was not in the step before: so for who reads these rows they come in time.
        """
        began = rows[START].to_numpy()
        firsts = [final_from(time, self._time_values(rows, time), began) for time in self._node.clocks]
        last: IntArray = np.minimum(np.minimum.reduce(firsts), progress) - 1
        return last

    # ---- groups that end

    def _advance(self, pieces: Sequence[Delta], runs: Runs) -> list[pa.RecordBatch]:
        """Take in what changed; the rows of groups that are over."""
        begun = [piece.plus.select(self._names) for piece in pieces if piece.plus.num_rows]
        ended = [p.minus for p in pieces if p.minus is not None and p.minus.num_rows]
        if not begun and not ended:
            return []
        changed = [*begun, *(rows.select(self._names) for rows in ended)]
        hashes = np.unique(np.concatenate([rows[KEY].to_numpy() for rows in changed]))
        kept = runs.take(lambda run: _with_keys(run, hashes))
        everything = concat_batches([*kept, *changed])
        count, first = sum(rows.num_rows for rows in kept), sum(rows.num_rows for rows in (*kept, *begun))
        groups = self._groups(everything)
        times = everything[START].to_numpy().copy()
        if ended:
            times[first:] = np.concatenate([rows["_d"].to_numpy() for rows in ended])
        lives = RowLives(groups, times, count, first)
        joined = np.arange(first)
        if self._node.arrival is not None and not self._node.paned:
            joined = np.concatenate([np.arange(count), count + self._joined(everything[count:first])])
        over, open_ = lives.last(joined)
        if len(open_):
            runs.add(SortedRun.of(take_rows(everything, open_), KEY))
        return [] if self._node.retracts else [take_rows(everything, over)]

    def _groups(self, rows: pa.RecordBatch) -> AnyArray:
        """The number of the group of each row."""
        columns = [as_column(rows[f"c{index}"]) for index in self._node.group]
        grouping = group_rows(rows[KEY].to_numpy(), columns)
        numbers = np.empty(rows.num_rows, np.int64)
        numbers[grouping.order] = grouping.labels()
        return numbers

    def _joined(self, begun: pa.RecordBatch) -> AnyArray:
        """The rows that begin because a tuple joined their group."""
        latest = begun[f"c{self._node.arrival}"].view(pa.int64())
        return np.flatnonzero(latest.to_numpy(zero_copy_only=False) == begun[START].to_numpy())

    # ---- times

    def _by_time(self, progress: int, runs: Runs) -> list[pa.RecordBatch]:
        """The groups whose time has passed."""
        final: list[pa.RecordBatch] = []
        for time, reached in passed(self._node.clocks, progress):
            final += runs.take(lambda run, t=time, r=reached: self._earlier(run, t, r))  # type: ignore[misc]
        return final

    def _earlier(self, run: SortedRun, time: FinalTime, reached: pa.Scalar) -> AnyArray:
        values = self._time_values(run.batch, time)
        return np.flatnonzero(pc.fill_null(pc.less(values, reached), False).to_numpy(zero_copy_only=False))

    def _time_values(self, rows: pa.RecordBatch, time: FinalTime) -> pa.Array:
        return rows[f"c{time.place}"] if time.of_result else self._rows.values(rows, time.place)


class RowLives:
    """Rows by group and time: those kept, those that begin, and behind `first` those that end.

    A group is over where a row of it ends and none begins.
    """

    def __init__(self, groups: AnyArray, times: AnyArray, kept: int, first: int) -> None:
        ranks = np.unique(times, return_inverse=True)[1].reshape(-1)
        self._width = int(ranks.max()) + 1
        self._groups, self._ranks = groups, ranks
        self._at = groups * self._width + ranks
        self._over = np.unique(np.setdiff1d(self._at[first:], self._at[kept:first]))

    def last(self, rows: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Of these rows the latest of each life: those of lives that are over, and those of others."""
        floor = np.searchsorted(self._over, self._groups[rows] * self._width)
        life = np.searchsorted(self._over, self._at[rows], "right") - floor
        lives = np.searchsorted(self._over, (self._groups[rows] + 1) * self._width) - floor
        order = np.lexsort((self._ranks[rows], life, self._groups[rows]))
        same = (np.diff(self._groups[rows][order]) == 0) & (np.diff(life[order]) == 0)
        latest = order[np.append(~same, True)] if len(order) else order
        over = life[latest] < lives[latest]
        return rows[latest[over]], rows[latest[~over]]


def _with_keys(run: SortedRun, hashes: AnyArray) -> AnyArray:
    places = [places for _, places in run.equal_keys(hashes)]
    return np.concatenate(places) if places else np.zeros(0, np.int64)


def _open(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.set_column(1, END, pa.array(np.full(rows.num_rows, FOREVER)))


@dataclass(frozen=True)
class FinalNode(StatefulNode):
    """Of each group its final result, once: the rows of an aggregate or DISTINCT that nothing will change.

    `group` are the columns that tell groups apart; the first port's key are those that streams punctuate. The
    others bring punctuations: `side` of a purge tells who makes them, and a group is final when all of
    `punctuators` have. `arrival` is the column with the latest start of its tuples, None where none expires.
    One that `retracts` is above rows that change: a group whose row ends is no result, for all its rows have
    been taken back. `as_input`: it is not delivered, but read by joins and groups of a final result.
    """

    kind = "final"
    group: tuple[int, ...]
    purges: tuple[PurgeRule, ...]
    punctuators: int
    clocks: tuple[FinalTime, ...]
    arrival: int | None
    paned: bool = False  # its rows begin with panes; they are told as of `arrival`
    retracts: bool = False
    as_input: bool = False

    def make_operator(self, flow: HostFlow) -> FinalOperator:
        return FinalOperator(self, flow.buckets)

    @property
    def partition_keys(self) -> tuple[frozenset[Expression], ...]:
        return tuple(frozenset((key,)) for key in self.ports[0].key)

    @property
    def passed_columns(self) -> Sequence[int]:
        return range(len(self.types))

    def signature(self, standing: NodesView) -> Signature:
        begins = (self.arrival, self.as_input)
        return (self.kind, self.inputs, self.group, self.purges, self.clocks, *begins, self.owner)


@dataclass(frozen=True)
class SettledNode(SetOperatorNode, StatefulNode):
    """Rows of joins and unions that can end no more.

    A row has a part of each of several items whose rows may end early; `rising` are of each the columns whose
    earlier values the watermark makes final. It is settled when every part is.
    """

    kind = "settled"
    rising: tuple[tuple[FinalTime, ...], ...]

    def make_operator(self, flow: HostFlow) -> SettledOperator:
        return SettledOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)


HELD = "rows"  # the rows that are there


class SettledOperator:
    """One node of settled rows in one bucket."""

    def __init__(self, node: SettledNode) -> None:
        self._streams, self._rising = node.streams, node.rising
        self._identity = identity_names(node.ports[0].identities)
        self._emitted = [START, END, *data_names(len(node.types))]

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        runs = Runs(store, HELD)
        self._take(inputs[0], runs)
        progress = clock.progress(self._streams)
        if clock.end:
            final = runs.take(lambda run: np.arange(run.rows))
        else:
            final = runs.take(lambda run: self._settled(run, progress))
        runs.settle(NEVER)
        for rows in final:
            if rows.num_rows:
                yield Delta(rows.select(self._emitted))

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return Runs(store, HELD).rows

    def _take(self, pieces: list[Delta], runs: Runs) -> None:
        """Keep rows that begin, and forget those that end; one may do both in a step."""
        begun = [delta.plus for delta in pieces if delta.plus.num_rows]
        ended = [delta.minus for delta in pieces if delta.minus is not None and delta.minus.num_rows]
        if begun:
            names = [KEY, *self._emitted, *self._identity]
            runs.add(SortedRun.of(concat_batches([rows.select(names) for rows in begun]), KEY))
        if ended:
            ends = concat_batches([rows.select([KEY, *self._identity]) for rows in ended])
            runs.discard(lambda run: self._same(run, ends))

    def _same(self, run: SortedRun, ended: pa.RecordBatch) -> AnyArray:
        """The places of the rows that end."""
        places = [np.zeros(0, np.int64)]
        for at, stored in run.equal_keys(ended[KEY].to_numpy()):
            same = np.ones(len(at), bool)
            for name in self._identity:
                same &= ended[name].to_numpy()[at] == run.batch[name].to_numpy()[stored]
            places.append(stored[same])
        return np.concatenate(places)

    def _settled(self, run: SortedRun, progress: int) -> AnyArray:
        """The places of rows of which every part is final."""
        settled = np.ones(run.rows, bool)
        for times in self._rising:
            final = np.zeros(run.rows, bool)
            for time, reached in passed(times, progress):
                below = pc.fill_null(pc.less(run.batch[f"c{time.place}"], reached), False)
                final |= below.to_numpy(zero_copy_only=False)
            settled &= final
        return np.flatnonzero(settled)
