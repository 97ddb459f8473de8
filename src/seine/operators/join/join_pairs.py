"""The pairs of a join: which rows of its two inputs meet, and the rows that they become."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.evaluate.data_columns import DataColumns
from seine.operators.join.combination import GatheredRows, PairProjection
from seine.operators.match.any_of import AnyOf
from seine.operators.state.sorted_run import END, KEY, START, SortedRun
from seine.rows.delta import concat_batches, identity_names
from seine.rows.grouping import Pairs

if TYPE_CHECKING:
    from seine.operators.join.join_node import JoinNode

LEFT, RIGHT = 0, 1
SIDES = (LEFT, RIGHT)


class JoinPairs:
    """What append-only and retracting joins share. A side that probes may be the left or the right."""

    def __init__(self, node: JoinNode, filters: AnyOf, compared: Sequence[Iterable[int]] = ((), ())) -> None:
        """`compared` are the columns of each side that are looked at for other reasons than its pairs."""
        left, right = node.ports[:2]
        self.ports = (left, right)
        self.by = KEY if left.key else START
        self._compared = [frozenset(columns) for columns in compared]
        self._combination = PairProjection(
            left.types, right.types, (left.key, right.key), filters, node.tested, node.out
        )
        self._output_names = {f"c{i}" for i in node.out}

    def carried(self, side: int) -> list[str]:
        """The columns that a row of a side needs from arrival on."""
        identity = identity_names(self.ports[side].identities)
        columns = sorted(self._compared[side].union(self._combination.needed(side)))
        return [KEY, START, END, *identity, *(f"c{i}" for i in columns)]

    @staticmethod
    def arrivals(batches: Sequence[pa.RecordBatch], names: list[str]) -> pa.RecordBatch | None:
        """The rows that came by a port, with these columns; None if there are none.

        A row with a NULL in its key is not sent.
        """
        batches = [batch.select(names) for batch in batches if batch.num_rows]
        return concat_batches(batches) if batches else None

    def matches(self, side: int, probe: SortedRun, run: SortedRun) -> Iterator[Pairs]:
        """The pairs of a side's rows with a run of the other side that satisfy all conditions."""
        for pairs in run.matches(probe):
            if pairs.size:
                yield self.wanted(side, probe, run, pairs)

    def wanted(self, side: int, probe: SortedRun, run: SortedRun, pairs: Pairs) -> Pairs:
        """Of pairs with equal hashes those that satisfy all conditions."""
        columns = self._combination.columns(*self._oriented(side, probe, run, pairs))
        mask = self._combination.holds(columns, pairs.size)
        return pairs if mask is None or mask.all() else pairs.where(mask)

    def satisfying(self, joined: pa.RecordBatch) -> pa.RecordBatch:
        """Of rows that were joined untested those that satisfy all conditions."""
        mask = self._combination.holds(DataColumns(joined), joined.num_rows)
        if mask is not None and not mask.all():
            joined = joined.take(pa.array(np.flatnonzero(mask)))
        return joined.select(
            [name for name in joined.schema.names if name[0] == "_" or name in self._output_names]
        )

    def joined(
        self,
        side: int,
        probe: SortedRun,
        run: SortedRun,
        pairs: Pairs,
        early: AnyArray | None = None,
        untested: bool = False,
    ) -> pa.RecordBatch:
        """The rows that pairs become; of `minus` if `early`; `untested` if conditions are checked later."""
        left, right = self._oriented(side, probe, run, pairs)
        named = [("_s", pa.array(pairs.start)), ("_e", pa.array(pairs.end))]
        if early is not None:
            named.append(("_d", pa.array(early)))
        named += self._identity(left, right)
        named += self._combination.output(self._combination.columns(left, right), untested)
        return pa.RecordBatch.from_arrays([a for _, a in named], names=[n for n, _ in named])

    def _identity(self, left: GatheredRows, right: GatheredRows) -> list[tuple[str, pa.Array]]:
        ours = [left.column(name) for name in identity_names(self.ports[LEFT].identities)]
        theirs = [right.column(name) for name in identity_names(self.ports[RIGHT].identities)]
        return list(zip(identity_names(len(ours) + len(theirs)), ours + theirs, strict=True))

    @staticmethod
    def _oriented(
        side: int, probe: SortedRun, run: SortedRun, pairs: Pairs
    ) -> tuple[GatheredRows, GatheredRows]:
        ours, theirs = GatheredRows(probe.batch, pairs.probe), GatheredRows(run.batch, pairs.run)
        return (ours, theirs) if side == LEFT else (theirs, ours)
