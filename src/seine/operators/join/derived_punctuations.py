"""What a join promises of its own rows, so that joins above it can free theirs.

An input of the join has promised that no more of its rows have certain values. As long as rows with these
values are held, new pairs with them may come; when the last one has gone, none can.

Law: once all buckets that got a promise have told it, no row that the join gives later has the values in
the columns of that input. It is told in the step in which the last such row goes, or in a later one.

Rows are compared by hash: where two values have the same, a promise is told later, never too early.

Cites: SAFETY 5.2 (safe plans of binary joins)
Differs: SAFETY does not say how a join beneath another lets it know; here it promises when it holds no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Column
from seine.graph.node import Port
from seine.operators.join.bucket_consensus import arrived, gathered
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import END, KEY, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.rows.delta import NEVER, Delta, DerivedPunctuations
from seine.rows.hashing import hash_columns

if TYPE_CHECKING:
    from seine.operators.join.derived_node import DerivedPunctuationsNode

SINCE = "since_told"  # rows and promises that came since the last look, and what time and held rows were
UNTOLD, PARTS = "untold", "_parts"  # promises that wait: before and behind the id of the node
ROWS_LOOKED_AT_A_STEP = 4096  # rows; so many are looked at in each step
PUNCTUATION, ROW = 64, 4  # a look at all rows is worth it if what has come, weighed so, is as much


class Teller:
    """The promises of one kind."""

    def __init__(self, node: DerivedPunctuationsNode, port: Port, buckets: int, indexed: bool) -> None:
        """`port` brings the rows that they are about; held rows may be indexed by its key."""
        self.node, self.side = node, node.side
        self._names = [f"c{column}" for column in node.columns]
        self._width, self._buckets = len(node.columns), buckets
        key = tuple(Column(column, port.types[column]) for column in node.columns)
        self.by_key = indexed and bool(key) and key == port.key

    def waiting(self, store: Store) -> Runs:
        return Runs(store, f"{UNTOLD}{self.node.id}")

    def gathering(self, store: Store) -> Runs:
        return Runs(store, f"{UNTOLD}{self.node.id}{PARTS}")

    def take(self, pieces: Sequence[Delta], store: Store) -> None:
        """Promises that came wait for a look."""
        came = arrived(pieces)
        if self.node.gathers:
            came = gathered(came, self.gathering(store), self._buckets)
        if came is not None:
            values = [came[f"c{i}"] for i in range(self._width)]
            hashes = pa.array(hash_columns(values, came.num_rows))
            names = [KEY, START, END, *(f"c{i}" for i in range(self._width))]
            batch = pa.RecordBatch.from_arrays([hashes, came[START], came[END], *values], names)
            waiting = self.waiting(store)
            waiting.add(SortedRun.of(batch, KEY))
            waiting.settle(NEVER)

    def told(self, held: Runs, bound: int, store: Store) -> pa.RecordBatch | None:
        """The promises whose values no row has that is held and of use after the bound; they wait no more."""
        waiting = self.waiting(store)
        wanted = [*waiting.overlapping()]
        still = [np.zeros(run.rows, bool) for run in wanted]
        for rows, alive in held.alive(bound):
            for punctuations, found in zip(wanted, still, strict=True):
                found[self._found(punctuations, rows, alive)] = True
        if all(found.all() for found in still):
            return None
        told = [take_rows(run.plain(), np.flatnonzero(~f)) for run, f in zip(wanted, still, strict=True)]
        masks = iter(still)
        waiting.keep_where(lambda _: next(masks))
        return self._rows(pa.concat_batches(told), store.bucket)

    def _found(self, punctuations: SortedRun, rows: SortedRun, alive: np.ndarray) -> np.ndarray:
        """The promises of which a run has rows."""
        if self.by_key and punctuations.rows < rows.rows:
            pairs = [(at, place) for at, place in rows.equal_keys(punctuations.keys)]
            return np.concatenate([at[alive[place]] for at, place in pairs] or [np.zeros(0, np.int64)])
        places = np.flatnonzero(alive)
        columns = [rows.batch[name] for name in self._names]
        hashes = rows.keys if self.by_key else hash_columns(columns, rows.rows)
        pairs = list(punctuations.equal_keys(hashes.take(places)))
        return np.concatenate([at for _, at in pairs] or [np.zeros(0, np.int64)])

    def _rows(self, punctuations: pa.RecordBatch, bucket: int) -> pa.RecordBatch:
        batch = punctuations.drop_columns([KEY])
        return batch.append_column(f"c{self._width}", pa.array(np.full(batch.num_rows, bucket)))


def forget_untold(store: Store, nodes: Sequence[DerivedPunctuationsNode]) -> None:
    """Drop promises that wait for nobody: who listened is gone, and others may not come."""
    names = {f"{UNTOLD}{node.id}{part}" for node in nodes for part in ("", PARTS)}
    for name in [name for name in store.head if name.startswith(UNTOLD) and name not in names]:
        Runs(store, name).clear()
        del store.head[name]


class Telling:
    """All that one join tells."""

    def __init__(
        self,
        nodes: Sequence[DerivedPunctuationsNode],
        ports: Sequence[Port],
        buckets: int,
        indexed: bool = True,
    ) -> None:
        self._tellers = [Teller(node, ports[node.side], buckets, indexed) for node in nodes]

    def needed(self, side: int) -> set[int]:
        """The columns that rows of an input have to bring."""
        return {c for teller in self._tellers if teller.side == side for c in teller.node.columns}

    def state_rows(self, side: int, store: Store) -> int:
        """Promises of an input that wait; one that every bucket has is counted in the first."""
        own = [t for t in self._tellers if t.side == side and (store.bucket == 0 or not t.node.by_all)]
        return sum(t.waiting(store).rows + t.gathering(store).rows for t in own)

    def step(
        self,
        pieces: Sequence[Sequence[Delta]],
        came: tuple[int, int],
        held: Sequence[Runs],
        bounds: Sequence[int],
        store: Store,
    ) -> Iterator[DerivedPunctuations]:
        """What can be told at the end of a step that brought so many rows and promises."""
        for teller, own in zip(self._tellers, pieces, strict=True):
            teller.take(own, store)
        waiting = [teller for teller in self._tellers if teller.waiting(store).rows]
        if not self._is_due(waiting, came, held, bounds, store):
            return
        for teller in waiting:
            told = teller.told(held[teller.side], bounds[teller.side], store)
            if told is not None:
                yield DerivedPunctuations(teller.node.id, told)

    @staticmethod
    def _is_due(
        waiting: Sequence[Teller],
        came: tuple[int, int],
        held: Sequence[Runs],
        bounds: Sequence[int],
        store: Store,
    ) -> bool:
        """Whether to look; a look reads all rows of an input unless promises are about its whole key."""
        if not waiting:
            store.head.pop(SINCE, None)
            return False
        rows, punctuations, then = store.head.get(SINCE, [0, 0, []])
        rows, punctuations = rows + came[0], punctuations + came[1]
        read = sum(held[t.side].rows for t in waiting if not t.by_key)
        now = [*bounds, *(runs.rows for runs in held)]
        idle = not came[1] and (punctuations or not came[0])
        worth = read <= ROWS_LOOKED_AT_A_STEP or punctuations * PUNCTUATION + rows * ROW >= read
        due = bool((punctuations or rows or then != now) and (idle or worth))
        store.head[SINCE] = [0, 0, now] if due else [rows, punctuations, then]
        return due
