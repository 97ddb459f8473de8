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

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.rank_plan import ROW_NUMBER
from seine.operators.rank.live_rows import BEGUN, ENDS, DueRows
from seine.operators.rank.outlived import outlived
from seine.operators.rank.partitions import PartitionOperator
from seine.operators.rank.row_order import RowOrder
from seine.operators.rank.shown_changes import EntryEvents, Ranking, shown_changes
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, Delta

if TYPE_CHECKING:
    from seine.operators.rank.rank_node import RankNode

WANTED = "c1"  # the column that says how many rows of a partition are wanted


class RankOperator(PartitionOperator):
    """The ranks of one node in one bucket."""

    def __init__(self, node: RankNode, buckets: int = 1) -> None:
        super().__init__(node, buckets, {}, node.with_number)
        self._ranking = Ranking(node.function, node.with_number, node.lasting)
        self._prunes = not node.lasting and not node.ports[0].identities and node.function == ROW_NUMBER

    def _answer(self, due: DueRows, store: Store) -> Iterator[Delta]:
        hashes = due.hashes
        before = self._shown.of(hashes, store)
        held = self._live.held(hashes, store)
        lasting = before if self._ranking.forgets else held
        parts = [lasting, due.begins, *([] if self._ranking.forgets else [before])]
        rows, order = self._ordered(parts)
        wanted = rows[WANTED].to_numpy()
        of_held, of_begun, of_before = _split(order.entry, lasting.num_rows, due.begins.num_rows)
        ends = self._live.end_times(held, due)
        count = np.bincount(of_held, minlength=len(order.firsts))
        entry = np.concatenate([of_held, of_begun])
        events = _events(entry[len(entry) - len(ends) :], due.begins[BEGUN].to_numpy(), ends)
        begun, ended = shown_changes(self._ranking, order, wanted[order.firsts], count, events)
        of_shown = of_held if self._ranking.forgets else of_before
        yield from self._shown.change(before, of_shown, begun, ended, rows, order.firsts, store)
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
