"""The best of the trees that are alive: SEARCH ... TOP k, a changelog.

Law: at every instant the rows that have begun and not ended are the k best of the trees alive then.

    trees ──> events (+ at _s, - at _e or _d) ──(progress)──> trees alive, by tag ──> changes of the first k

Trees of one start and equal text are told apart by nothing, so they are counted. Instants are gone through
one by one, for the tags that something happened to.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from seine.operators.search.tree_ranks import COUNT, DATA, EDGES, MATCHES, TAG, TUPLES, sizes_of
from seine.operators.state.event_queue import TIME, WEIGHT, EventColumns, EventQueue, EventTimes
from seine.operators.state.identified_rows import take_identities
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import EARLY, END, KEY, START, SortedRun
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta
from seine.rows.hashing import hash_columns

if TYPE_CHECKING:
    from seine.operators.search.alive_top_node import AliveTopNode

_TYPES = (pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.string(), pa.string())
_BEGUN = "_begun"  # the start of a tree, where START is another time
_SIZE = "_size"
_IDENTITY = "_i0"
Rank = tuple[int, int, str, str, str]  # size, - start, and the texts: the smaller the better
Change = tuple[int, int, Rank]  # tag, how many are wanted, and which tree


class AliveTopOperator:
    """One node of the best trees alive, in one bucket."""

    def __init__(self, node: AliveTopNode) -> None:
        self._streams = node.streams

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        arrived = EventTimes([], [])
        for delta in inputs[0]:
            arrived.take(delta, _carried)
        due = EventQueue(store, "events").advance(arrived.events, clock.progress(self._streams))
        if due is None or not due.num_rows:
            return
        keys = np.unique(hash_columns([due[TAG]], due.num_rows))
        rankings = _Rankings(Runs(store, "alive"), Runs(store, "shown"), keys)
        for event in due.to_pylist():
            rankings.happen(event)
        rankings.close()
        yield from rankings.changes(store)
        rankings.keep()

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return Runs(store, "alive").rows


def _carried(rows: pa.RecordBatch) -> EventColumns:
    return [(_BEGUN, rows[START]), (_SIZE, sizes_of(rows[EDGES])), *((name, rows[name]) for name in DATA)]


@dataclass
class _Ranking:
    """The trees of one tag that are alive, the better ones first, and which of them are shown."""

    wanted: int
    alive: Counter[Rank] = field(default_factory=Counter)
    order: list[Rank] = field(default_factory=list)
    shown: Counter[Rank] = field(default_factory=Counter)

    def add(self, rank: Rank, weight: int) -> None:
        if rank not in self.alive:
            insort(self.order, rank)
        self.alive[rank] += weight
        if not self.alive[rank]:
            del self.alive[rank]
            del self.order[bisect_left(self.order, rank)]

    def best(self) -> Counter[Rank]:
        best: Counter[Rank] = Counter()
        room = self.wanted
        for rank in self.order:
            if room <= 0:
                break
            if self.alive[rank] > 0:
                best[rank] = min(room, self.alive[rank])
                room -= best[rank]
        return best


class _Rankings:
    """The rankings of the tags that something happens to, and what changes in them, instant by instant."""

    def __init__(self, alive: Runs, shown: Runs, keys: Any) -> None:
        self._runs = alive, shown
        self._rankings: dict[int, _Ranking] = {}
        self._touched: set[int] = set()
        self._now: int | None = None
        self._identities: dict[tuple[int, Rank], list[tuple[int, int]]] = {}  # identity and start, by tree
        self._plus: list[tuple[int, Change]] = []
        self._minus: list[tuple[int, Change]] = []
        for row in _taken(alive, keys):
            self._of(row).add(_rank(row), row["_n"])
        for row in _taken(shown, keys):
            self._of(row).shown[_rank(row)] += 1
            place = self._identities.setdefault((row[TAG], _rank(row)), [])
            place.append((row[_IDENTITY], row[START]))

    def happen(self, event: dict[str, Any]) -> None:
        if event[TIME] != self._now:
            self.close()
            self._now = event[TIME]
        self._of(event).add(_rank(event), event[WEIGHT])
        self._touched.add(event[TAG])

    def close(self) -> None:
        """Note what this instant has changed."""
        for tag in sorted(self._touched):
            ranking = self._rankings[tag]
            best = ranking.best()
            assert self._now is not None
            for rank in sorted((ranking.shown - best).elements()):
                self._minus.append((self._now, (tag, ranking.wanted, rank)))
            for rank in sorted((best - ranking.shown).elements()):
                self._plus.append((self._now, (tag, ranking.wanted, rank)))
            ranking.shown = best
        self._touched.clear()

    def changes(self, store: Store) -> Iterator[Delta]:
        """Rows that begin, then rows that end; one may do both."""
        identities = take_identities(store, len(self._plus)).tolist()
        for identity, (at, (tag, _, rank)) in zip(identities, self._plus, strict=True):
            self._identities.setdefault((tag, rank), []).append((identity, at))
        plus = _rows(self._plus, [at for at, _ in self._plus], identities)
        ended = [self._identities[tag, rank].pop(0) for _, (tag, _, rank) in self._minus]
        minus = _rows(self._minus, [start for _, start in ended], [identity for identity, _ in ended])
        early = pa.array([at for at, _ in self._minus], pa.int64())
        if plus.num_rows or minus.num_rows:
            yield Delta(plus, minus.add_column(2, EARLY, early))

    def keep(self) -> None:
        """Write back what is alive and what is shown."""
        alive, shown = self._runs
        held = [
            (tag, ranking.wanted, rank, ranking.alive[rank])
            for tag, ranking in self._rankings.items()
            for rank in ranking.order
        ]
        rows = _rows([(0, one[:3]) for one in held], [-rank[1] for _, _, rank, _ in held], [0] * len(held))
        rows = rows.drop_columns([_IDENTITY]).append_column("_n", pa.array([n for *_, n in held], pa.int64()))
        _put(alive, rows)
        kept = [
            ((0, (tag, self._rankings[tag].wanted, rank)), start, identity)
            for (tag, rank), places in self._identities.items()
            for identity, start in places
        ]
        rows = _rows([one for one, _, _ in kept], [start for _, start, _ in kept], [i for *_, i in kept])
        _put(shown, rows.append_column(_BEGUN, pa.array([-one[1][2][1] for one, _, _ in kept], pa.int64())))

    def _of(self, row: dict[str, Any]) -> _Ranking:
        return self._rankings.setdefault(row[TAG], _Ranking(row[COUNT]))


def _rank(row: dict[str, Any]) -> Rank:
    begun = row[_BEGUN] if _BEGUN in row else row[START]
    size = row[_SIZE] if _SIZE in row else row[EDGES].count("[")
    return size, -begun, row[TUPLES], row[EDGES], row[MATCHES]


def _taken(runs: Runs, keys: Any) -> list[dict[str, Any]]:
    batches = runs.take(lambda run: np.flatnonzero(np.isin(run.keys, keys)))
    return [row for batch in batches for row in batch.to_pylist()]


def _rows(
    changes: Sequence[tuple[int, Change]], starts: Sequence[int], identities: Sequence[int]
) -> pa.RecordBatch:
    """Rows with an open end."""
    values = [(tag, wanted, 0, *rank[2:]) for _, (tag, wanted, rank) in changes]
    columns = [pa.array([row[i] for row in values], type_) for i, type_ in enumerate(_TYPES)]
    lives = [pa.array(starts, pa.int64()), pa.array([FOREVER] * len(values), pa.int64())]
    names = [START, END, _IDENTITY, *DATA]
    return pa.RecordBatch.from_arrays([*lives, pa.array(identities, pa.int64()), *columns], names)


def _put(runs: Runs, rows: pa.RecordBatch) -> None:
    keyed = rows.add_column(0, KEY, pa.array(hash_columns([rows[TAG]], rows.num_rows)))
    runs.add(SortedRun.of(keyed, KEY))
    runs.settle(NEVER)
