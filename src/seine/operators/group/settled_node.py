"""The node of settled rows: of rows that change, those that nothing will change any more, once.

    SELECT b.id, g.m FROM bid b JOIN (SELECT ts DIV 10 AS k, max(price) AS m FROM bid GROUP BY ts DIV 10) g
      ON b.ts DIV 10 = g.k AND b.price = g.m                                         WITH (emit = 'final')

Its operator is `settled.py`.

Emits rows that may end early once, when they no longer can (in Flink: the append-only rows of a window).

The input is the changelog of a join or UNION ALL with groups in it: rows begin, and end early. Kept are rows
that have begun and not ended. Law: a row is emitted, and forgotten, when each of its parts is final by a
rising column, or when input has ended. One that ends before is never emitted.

    + row, - row ──> rows that are there ──(progress has passed every part)──> final rows, + only
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.join.final_time import FinalTime, passed
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import END, KEY, START, SortedRun
from seine.operators.state.store import Store
from seine.operators.step.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import NEVER, Delta, concat_batches, data_names, identity_names


@dataclass(frozen=True)
class SettledNode(SetOperatorNode, StatefulNode):
    """Rows of joins and unions that can end no more.

    A row has a part of each of several items whose rows may end early; `rising` are of each the columns whose
    earlier values the watermark makes final. It is settled when every part is.
    """

    kind = "settled"
    reason = "same final rows"
    rising: tuple[tuple[FinalTime, ...], ...]

    def make_operator(self, flow: HostFlow) -> SettledOperator:
        return SettledOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    def describe(self, words: NodeWords) -> str:
        return "the rows that nothing will change, once"


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
