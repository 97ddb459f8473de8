"""Derived punctuations: what a join punctuates of its own output, so that joins above it can purge.

An input of the join has punctuated that no more of its rows have certain values. As long as rows with these
values are held, new pairs with them may come; when the last one has gone, none can.

Law: once all buckets that got a punctuation have emitted it, no row that the join gives later has the
values in the columns of that input. It is emitted in the step in which the last such row goes, or in a
later one.

Rows are compared by hash: where two values have the same, a punctuation is emitted later, never too early.

Cites: SAFETY 5.2 (safe plans of binary joins)
Differs: SAFETY does not say how a join beneath another lets it know; here it punctuates when it holds no
more.

A barrier over buckets: a punctuation that every bucket of a join sends counts when the last has.

Derived punctuations: what a join can punctuate of its own output, from punctuations of an input.

    bid punctuated: itemid 7 ──> the join holds no more bids of item 7 ──> its output punctuated: itemid 7

Law: a punctuation of an input's values is one of the output's, once the join holds no row of that input with
these values: then no combination to come has them. The join works it out, beside the rows that it holds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Column
from seine.graph.node import Node, NodesView, Port, Signature
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import END, KEY, START, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow
from seine.rows.delta import NEVER, Delta, DerivedPunctuations, concat_batches
from seine.rows.hashing import hash_columns

SINCE = "since_derived"  # rows and punctuations since the last look, and what time and held rows were then
WAITING, PARTS = "derived", "_parts"  # punctuations that wait: before and behind the id of the node
ROWS_LOOKED_AT_A_STEP = 4096  # rows; so many are looked at in each step
PUNCTUATION, ROW = 64, 4  # a look at all rows is worth it if what has come, weighed so, is as much


class PunctuationDeriver:
    """The derived punctuations of one node."""

    def __init__(self, node: DerivedPunctuationsNode, port: Port, buckets: int, indexed: bool) -> None:
        """`port` brings the rows that they are about; held rows may be indexed by its key."""
        self.node, self.side = node, node.side
        self._names = [f"c{column}" for column in node.columns]
        self._width, self._buckets = len(node.columns), buckets
        key = tuple(Column(column, port.types[column]) for column in node.columns)
        self.by_key = indexed and bool(key) and key == port.key

    def waiting(self, store: Store) -> Runs:
        return Runs(store, f"{WAITING}{self.node.id}")

    def gathering(self, store: Store) -> Runs:
        return Runs(store, f"{WAITING}{self.node.id}{PARTS}")

    def take(self, pieces: Sequence[Delta], store: Store) -> None:
        """Punctuations that came wait for a look."""
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

    def releasable(self, held: Runs, bound: int, store: Store) -> pa.RecordBatch | None:
        """The punctuations whose values no held row of use after the bound has; they wait no more."""
        waiting = self.waiting(store)
        wanted = [*waiting.overlapping()]
        still = [np.zeros(run.rows, bool) for run in wanted]
        for rows, alive in held.alive(bound):
            for punctuations, is_held in zip(wanted, still, strict=True):
                is_held[self._held(punctuations, rows, alive)] = True
        if all(is_held.all() for is_held in still):
            return None
        releasable = [
            take_rows(run.plain(), np.flatnonzero(~f)) for run, f in zip(wanted, still, strict=True)
        ]
        masks = iter(still)
        waiting.keep_where(lambda _: next(masks))
        return self._rows(pa.concat_batches(releasable), store.bucket)

    def _held(self, punctuations: SortedRun, rows: SortedRun, alive: AnyArray) -> AnyArray:
        """The punctuations of which a run has rows."""
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


def forget_unread(store: Store, nodes: Sequence[DerivedPunctuationsNode]) -> None:
    """Drop punctuations that wait for nobody: who listened is gone, and others may not come."""
    names = {f"{WAITING}{node.id}{part}" for node in nodes for part in ("", PARTS)}
    for name in [name for name in store.head if name.startswith(WAITING) and name not in names]:
        Runs(store, name).clear()
        del store.head[name]


class PunctuationDerivers:
    """All derived punctuations of one join."""

    def __init__(
        self,
        nodes: Sequence[DerivedPunctuationsNode],
        ports: Sequence[Port],
        buckets: int,
        indexed: bool = True,
    ) -> None:
        self._derivers = [PunctuationDeriver(node, ports[node.side], buckets, indexed) for node in nodes]

    def needed(self, side: int) -> set[int]:
        """The columns that rows of an input have to bring."""
        return {c for deriver in self._derivers if deriver.side == side for c in deriver.node.columns}

    def state_rows(self, side: int, store: Store) -> int:
        """Punctuations of an input that wait; one that every bucket has is counted in the first."""
        of_side = [t for t in self._derivers if t.side == side and (store.bucket == 0 or not t.node.by_all)]
        return sum(t.waiting(store).rows + t.gathering(store).rows for t in of_side)

    def step(
        self,
        pieces: Sequence[Sequence[Delta]],
        came: tuple[int, int],
        held: Sequence[Runs],
        bounds: Sequence[int],
        store: Store,
    ) -> Iterator[DerivedPunctuations]:
        """What can be emitted at the end of a step that brought so many rows and punctuations."""
        for deriver, arrived_pieces in zip(self._derivers, pieces, strict=True):
            deriver.take(arrived_pieces, store)
        waiting = [deriver for deriver in self._derivers if deriver.waiting(store).rows]
        if not self._is_due(waiting, came, held, bounds, store):
            return
        for deriver in waiting:
            releasable = deriver.releasable(held[deriver.side], bounds[deriver.side], store)
            if releasable is not None:
                yield DerivedPunctuations(deriver.node.id, releasable)

    @staticmethod
    def _is_due(
        waiting: Sequence[PunctuationDeriver],
        came: tuple[int, int],
        held: Sequence[Runs],
        bounds: Sequence[int],
        store: Store,
    ) -> bool:
        """Whether to look; a look reads all rows of an input unless punctuations are about its whole key."""
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


def arrived(pieces: Sequence[Delta]) -> pa.RecordBatch | None:
    """The punctuations that came by a port, with the columns that they brought."""
    batches = [delta.plus for delta in pieces if delta.plus.num_rows]
    if not batches:
        return None
    names = [KEY, START, END, *(name for name in batches[0].schema.names if name[0] == "c")]
    return concat_batches([batch.select(names) for batch in batches])


def gathered(came: pa.RecordBatch | None, waiting: Runs, buckets: int) -> pa.RecordBatch | None:
    """The punctuations that all buckets have sent by now, each once; others wait.

    The last column of a punctuation is the number of the bucket that sends it. To send it again says nothing.
    """
    if came is None:
        return None
    whole = concat_batches([*(run.plain() for run in waiting.overlapping()), came])
    names = [name for name in whole.schema.names if name[0] == "c"]
    kinds, count = _kinds([whole[name] for name in names[:-1]], whole.num_rows)
    sent = np.unique(kinds * buckets + whole[names[-1]].to_numpy())
    complete = np.bincount(sent // buckets, minlength=count) == buckets
    if not complete.any():
        waiting.add(SortedRun.of(came, KEY))
        waiting.settle(NEVER)
        return None
    waiting.clear()
    waiting.add(SortedRun.of(take_rows(whole, np.flatnonzero(~complete[kinds])), KEY))
    _, firsts = np.unique(kinds, return_index=True)
    return take_rows(whole.drop_columns(names[-1:]), firsts[complete])


def _kinds(columns: Sequence[pa.Array], rows: int) -> tuple[AnyArray, int]:
    """For each row the number of its values, from 0 on, and how many numbers there are.

    >>> _kinds([pa.array(["a", None, "a"]), pa.array([1, 1, 1])], 3)[0].tolist()
    [0, 1, 0]
    """
    kinds, count = np.zeros(rows, np.int64), 1
    for column in columns:
        encoded = column.dictionary_encode("encode")
        codes = encoded.indices.to_numpy().astype(np.int64)
        distinct, kinds = np.unique(kinds * len(encoded.dictionary) + codes, return_inverse=True)
        count = len(distinct)
    return kinds, count


@dataclass(frozen=True)
class DerivedPunctuationsNode(Node):
    """Punctuations of a join's output: an input has punctuated values, and no row is held with them.

    The first port is the join, the second brings punctuations of its input `side`; they have the values of
    `columns` of that input's rows. The join works on them, where its own rows are; so no reader may come to
    listen when it has run. A row has these values and, behind them, the number of the bucket that sends it: a
    punctuation that went to every bucket is sent by each. One that `gathers` has come like that itself.
    """

    kind = "derived"
    is_punctuation = True
    side: int
    columns: tuple[int, ...]
    gathers: bool = False

    @property
    def by_all(self) -> bool:
        """Whether every bucket of the join sends each punctuation."""
        return self.ports[1].broadcast

    @property
    def work_at(self) -> int:
        return self.inputs[0]

    @property
    def receiving(self) -> Sequence[int]:
        return (1,)

    def signature(self, standing: NodesView) -> Signature:
        return derived_signature(self.inputs, self.side, self.columns)


def derived_signature(inputs: Sequence[int], side: int, columns: Hashable) -> Signature:
    return ("derived", tuple(inputs), side, columns)


def derived_punctuations_of(join: int, flow: HostFlow) -> list[DerivedPunctuationsNode]:
    """The derived punctuations of a join that are read."""
    return [node for node in flow.listeners(join) if isinstance(node, DerivedPunctuationsNode)]
