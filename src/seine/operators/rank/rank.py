"""The node of ranks: the first n rows of each partition, n being a column of the rows.

    SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM bid)
    WHERE rn <= 10

    bid ── fan [T: n -> tag, n, columns] ── rank by (tag, auction) ── deliver

How many are wanted is a constant of the fan: a thousand of them are rows of its table.

The first n rows of each partition, as rows come and go: ROW_NUMBER, RANK, DENSE_RANK, ORDER BY ... LIMIT.

Law: at every instant the rows that have begun and not ended are those of the live rows whose number in their
partition is at most n, with that number if it is asked for.

    SELECT * FROM bid ORDER BY price DESC LIMIT 10

    rows ──> begins (_s), ends (_e or _d) ──(progress)──> live rows by partition ──> changes of the first n

What is kept of a partition: of rows that never end the first n, for no other can be among them again; of rows
that expire those that fewer than n better ones outlive (all, with the ties of RANK and DENSE_RANK); of rows
that may end early all.

Rows that can never be among the first n again: n better ones live at least as long.

    row (best first)   ends at
    a                  9
    b                  5
    c                  9          of n = 1 outlived by a; of n = 2 kept
    d                  4          outlived by a, b and c

Counting for each row the better ones that outlive it takes a merge sort, all partitions at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.rank_plan import ROW_NUMBER, Ordering
from seine.operators.group.group_release import Releases
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.rank.live_rows import BEGUN, ENDS, DueRows
from seine.operators.rank.partitions import PartitionOperator
from seine.operators.rank.shown_changes import EntryEvents, Ranking, RowOrder, shown_changes
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.delta import FOREVER, Delta


@dataclass(frozen=True)
class RankNode(SetOperatorNode, StatefulNode):
    """Columns of a row are its tag, how many are wanted of its partition, its data, and perhaps its number.

    The port's key is the tag and the partition. `timed`: whether ties go by the start of rows; `lasting`:
    whether rows never end.
    """

    kind = "rank"
    function: str
    order: tuple[Ordering, ...]
    with_number: bool
    timed: bool
    lasting: bool
    releases: Releases | None = None

    @property
    def group_columns(self) -> tuple[int, ...]:
        return (1, *self.ports[0].key_columns)  # how many are wanted is the same in all rows of a tag

    def make_operator(self, flow: HostFlow) -> RankOperator:
        return RankOperator(self, flow.buckets)

    @property
    def row_inputs(self) -> int:
        return len(self.ports) - (len(self.releases.purges) if self.releases else 0)

    @property
    def operation(self) -> Hashable:
        return (self.kind, self.function, self.order, self.with_number, self.timed, self.lasting)


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


def outlived(partition: IntArray, ends: IntArray, wanted: IntArray) -> BoolArray:
    """Which rows n better ones outlive; rows are given by partition, ascending, and in it the best first.

    >>> one = np.zeros(4, np.int64)
    >>> outlived(one, np.array([9, 5, 9, 4]), one + 2).tolist()
    [False, False, False, True]
    """
    values, codes = np.unique(ends, return_inverse=True)
    # Rows of earlier partitions have smaller values, so that they count for nothing.
    reach = np.searchsorted(np.unique(partition), partition) * len(values) + codes
    return _larger_before(reach, int(wanted.max(initial=0))) >= wanted


def _larger_before(values: IntArray, most: int) -> IntArray:
    """How many values before each one are at least as large: by pairs of blocks of doubling size."""
    if most == 1:
        best = np.maximum.accumulate(values)
        before = np.append(-1, best[:-1])[: len(values)]
        return (before >= values).astype(np.int64)
    places = np.arange(len(values))
    counts = np.zeros(len(values), np.int64)
    width = 1
    while width < len(values):
        pair, right = places // (2 * width), (places // width) % 2
        order = np.lexsort((right, -values, pair))
        lefts = np.cumsum(right[order] == 0)
        before = (pair * width)[order]  # every earlier pair has a full left block
        counts[order] += np.where(right[order] == 1, lefts - before, 0)
        width *= 2
    return counts
