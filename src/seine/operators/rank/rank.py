"""The first n rows of each partition, as rows come and go: ROW_NUMBER, RANK, DENSE_RANK, ORDER BY ... LIMIT.

Law: at every instant the rows that have begun and not ended are those of the live rows whose number in their
partition is at most n, with that number if it is asked for.

    SELECT * FROM bid ORDER BY price DESC LIMIT 10

    rows ──> begins (_s), ends (_e or _d) ──(progress)──> live rows by partition ──> changes of the first n

What is kept of a partition: of rows that never end the first n, for no other can be among them again; of rows
that expire those that fewer than n better ones outlive (all, with the ties of RANK and DENSE_RANK); of rows
that may end early all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.rank_plan import ROW_NUMBER
from seine.operators.group.group_release import Releasing
from seine.operators.rank.live_rows import BEGUN, ENDS, DueRows, LiveRows
from seine.operators.rank.outlived import outlived
from seine.operators.rank.row_order import RowOrder, RowOrdering
from seine.operators.rank.shown_changes import EntryEvents, Ranking, shown_changes
from seine.operators.rank.shown_rows import ShownRows
from seine.operators.state.keyed_table import HASH
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, data_names

if TYPE_CHECKING:
    from seine.operators.rank.rank_node import RankNode

WANTED = "c1"  # the column that says how many rows of a partition are wanted
Finished = Callable[[pa.RecordBatch], AnyArray]  # the places of the keys that are final


class RankOperator:
    """The ranks of one node in one bucket."""

    def __init__(self, node: RankNode, buckets: int = 1) -> None:
        port = node.ports[0]
        self._streams = node.streams
        data = data_names(len(port.types))
        types = {name: type_.arrow() for name, type_ in zip(data, port.types, strict=True)}
        partition = tuple(f"c{index}" for part in port.key for index in part.columns)
        self._ordering = RowOrdering(partition, node.order, BEGUN if node.timed else None, tuple(data))
        self._ranking = Ranking(node.function, node.with_number, node.lasting)
        self._prunes = not node.lasting and not port.identities and node.function == ROW_NUMBER
        self._live = LiveRows(types, port.identities)
        self._shown = ShownRows(types, node.with_number)
        self._partition = partition
        self._compared = [HASH, BEGUN, *data]
        releases = node.releases
        self._releasing = Releasing(port, node.ports[1:], releases, buckets) if releases else None

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        progress = clock.progress(self._streams)
        arrived = sum(delta.plus.num_rows for delta in inputs[0])
        due = self._live.due(inputs[0], progress, store)
        if due is not None:
            yield from self._change(due, store)
        if self._releasing:
            self._releasing.step(inputs[1:], arrived, clock, self._streams, store, self)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return self._live.size(store) + self._shown.size(store)

    def punctuation_rows(self, store: Store) -> int:
        return self._releasing.punctuation_rows(store) if self._releasing else 0

    def size(self, store: Store) -> int:
        """About how many rows there are."""
        return self.group_rows(store)

    def release(self, finished: Finished, store: Store) -> int:
        """Forget the rows of partitions that nothing will change; how many rows stay."""
        stay = 0
        for rows in (self._live, self._shown):
            held = rows.everything(store)
            keys = [held[name] for name in self._partition]
            places = finished(pa.RecordBatch.from_arrays(keys, [f"k{i}" for i in range(len(keys))]))
            rows.forget(held.take(pa.array(places)), store)
            stay += held.num_rows - len(places)
        return stay

    def _change(self, due: DueRows, store: Store) -> Iterator[Delta]:
        hashes = due.hashes
        before = self._shown.of(hashes, store)
        held = self._live.held(hashes, store)
        lasting = before if self._ranking.forgets else held
        parts = [lasting, due.begins, *([] if self._ranking.forgets else [before])]
        rows = pa.concat_batches([part.select(self._compared) for part in parts])
        order = self._ordering.of(rows, rows[HASH].to_numpy())
        wanted = rows[WANTED].to_numpy()
        of_held, of_begun, of_before = _split(order.entry, lasting.num_rows, due.begins.num_rows)
        ends = self._live.end_times(held, due)
        count = np.bincount(of_held, minlength=len(order.firsts))
        entry = np.concatenate([of_held, of_begun])
        events = _events(entry[len(entry) - len(ends) :], due.begins[BEGUN].to_numpy(), ends)
        begun, ended = shown_changes(self._ranking, order, wanted[order.firsts], count, events)
        of_shown = of_held if self._ranking.forgets else of_before
        example = rows.take(pa.array(order.firsts))
        yield from self._shown.change(before, of_shown, begun, ended, example, store)
        if not self._ranking.forgets:
            kept = ends == FOREVER
            if self._prunes:
                kept[kept] = ~self._outlived(held, due, kept, entry[kept], order, wanted)
            self._live.settle(held, due, kept, store)

    def _outlived(
        self,
        held: pa.RecordBatch,
        due: DueRows,
        kept: BoolArray,
        entry: IntArray,
        order: RowOrder,
        wanted: IntArray,
    ) -> BoolArray:
        """Which of the kept rows are never among the first again."""
        ends = np.concatenate([held[ENDS].to_numpy(), due.begins[ENDS].to_numpy()])[kept]
        best = np.lexsort((-ends, entry))
        ranked = outlived(order.partition[entry[best]], ends[best], wanted[: len(kept)][kept][best])
        never = np.empty(len(entry), bool)
        never[best] = ranked
        return never


def _split(entry: IntArray, held: int, begun: int) -> tuple[IntArray, IntArray, IntArray]:
    return entry[:held], entry[held : held + begun], entry[held + begun :]


def _events(entry: IntArray, starts: IntArray, ends: IntArray) -> EntryEvents:
    """That rows begin, the last ones, and that some of all end."""
    begins, over = entry[len(entry) - len(starts) :], np.flatnonzero(ends < FOREVER)
    weights = np.concatenate([np.ones(len(starts), np.int64), np.full(len(over), -1)])
    return EntryEvents(np.concatenate([begins, entry[over]]), np.concatenate([starts, ends[over]]), weights)
