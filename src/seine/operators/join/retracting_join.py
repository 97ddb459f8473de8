"""A join of rows that may end early, in event time.

Law: with W the progress of the streams held for, the output so far is, of all pairs (l, r) of rows
with key(l) = key(r), residual(l, r) and max(_s) < min(min(_e), W, D), where D is the earlier early
end of the two: plus with the natural end, and minus at D if D < min(min(_e), W).
Rows and ends at or after W wait, so a pair that an end makes void is never emitted.

A row is kept until no pair with it can begin or end: its life is over; or it is settled, and no row of the
other side that could join it will begin or end (`settled_rows.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.operators.join.join_pairs import LEFT, RIGHT, SIDES, JoinPairs
from seine.operators.join.settled_rows import SettledRows
from seine.operators.state.retractable_rows import RetractableRows
from seine.operators.state.sorted_run import EARLY, END, KEY, START, SortedRun
from seine.operators.state.store import Store
from seine.operators.state.waiting_rows import RowBuffer
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, identity_names

if TYPE_CHECKING:
    from seine.operators.join.join_node import JoinNode

State = list[RetractableRows]


class RetractingJoin:
    """What arrives waits for W; then ends of stored pairs are emitted, then new pairs are formed."""

    def __init__(self, node: JoinNode, pairs: JoinPairs, settling: Sequence[SettledRows] = ()) -> None:
        self._pairs = pairs
        self._hold = node.hold
        self._settling = settling
        self._promises = settling[0].promises if settling else None

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        horizon = clock.progress(self._hold)
        state = self._state(store)
        if self._promises:
            self._promises.take(inputs[len(SIDES) :], clock, horizon, store)
        new = [self._released(side, inputs[side], horizon, store) for side in SIDES]
        ended = [list(state[side].end(self._ended(side, inputs[side], horizon, store))) for side in SIDES]
        for side in SIDES:
            for rows in ended[side]:
                yield from self._end_pairs(side, rows, state)
        yield from self._new_pairs(new, state)
        for side in SIDES:
            bound = FOREVER if clock.end else min(clock.low(self._pairs.ports[1 - side].streams), horizon)
            if run := new[side]:
                state[side].add(run.after(bound))
            state[side].settle(bound)
            if self._settling and not clock.end:
                self._settling[side].free(state[side].runs, bound, horizon, store)
        if self._promises and all(side.has_seen(store) for side in self._settling):
            self._promises.forget(store)

    def state_by_port(self, store: Store) -> list[int]:
        return [side.runs.rows for side in self._state(store)]

    def punctuation_rows(self, store: Store) -> int:
        return self._promises.rows(store) if self._promises else 0

    def _state(self, store: Store) -> State:
        names = ("left", "right")
        return [
            RetractableRows(store, names[s], self._pairs.ports[s].identities, self._pairs.by) for s in SIDES
        ]

    def _released(self, side: int, pieces: list[Delta], horizon: int, store: Store) -> SortedRun | None:
        rows = self._pairs.arrivals([delta.plus for delta in pieces], self._pairs.carried(side))
        due = RowBuffer(store, f"waiting{side}", START).release(rows, horizon)
        return None if due is None else SortedRun.of(due, self._pairs.by)

    def _ended(self, side: int, pieces: list[Delta], horizon: int, store: Store) -> pa.RecordBatch | None:
        names = [KEY, START, END, EARLY, *identity_names(self._pairs.ports[side].identities)]
        minus = [delta.minus for delta in pieces if delta.minus is not None]
        rows = self._pairs.arrivals(minus, names)
        return RowBuffer(store, f"ending{side}", EARLY).release(rows, horizon)

    def _end_pairs(self, side: int, rows: SortedRun, state: State) -> Iterator[Delta]:
        """Stored rows end now: so does each pair with a stored row that has not ended before.

        Of two rows that end at the same instant, the left one ends the pair.
        """
        early = rows.batch[EARLY].to_numpy()
        for run in state[1 - side].runs.near(rows):
            for pairs in self._pairs.matches(side, rows, run):
                at = early[pairs.probe]
                other = state[1 - side].early_ends(run.batch, pairs.run)
                ends = (at < pairs.end) & (at <= other if side == LEFT else at < other)
                pairs, at = pairs.where(ends), at[ends]
                minus = self._pairs.joined(side, rows, run, pairs, at)
                yield Delta(
                    self._pairs.joined(side, rows, run, pairs.where(np.zeros(pairs.size, bool))), minus
                )

    def _new_pairs(self, new: list[SortedRun | None], state: State) -> Iterator[Delta]:
        left, right = new
        if left:
            runs = chain([right] if right else [], state[RIGHT].runs.near(left))
            yield from self._meet(LEFT, left, runs, state)
        if right:
            yield from self._meet(RIGHT, right, state[LEFT].runs.near(right), state)

    def _meet(self, side: int, probe: SortedRun, runs: Iterable[SortedRun], state: State) -> Iterator[Delta]:
        for run in runs:
            for pairs in self._pairs.matches(side, probe, run):
                ours = state[side].early_ends(probe.batch, pairs.probe)
                early = np.minimum(ours, state[1 - side].early_ends(run.batch, pairs.run))
                real = early > pairs.start
                pairs, early = pairs.where(real), early[real]
                short = early < pairs.end
                minus = self._pairs.joined(side, probe, run, pairs.where(short), early[short])
                yield Delta(self._pairs.joined(side, probe, run, pairs), minus)
