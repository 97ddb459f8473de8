"""What a search holds: the tuples of its window, and an index of the places where they can be joined.

    window   hash of id   _s _e  id  table  number  text                   the text of records
    places   place        _s _e  id  side  key  table  epoch  terms  ..    what growth asks of a tuple
    reach    place        _s _e  term  hops                                how near terms are (`distances.py`)

All are log-structured runs (`runs.py`), and a row goes when no tuple to come can live with it. A tuple
that can be joined with nothing is not held.

Law: `places` has a row for each place of each held tuple; `window` has each held tuple once, and each held
tuple is of a table that a query is over.

The tuples of relations in a search: always alive, older than all tuples of streams, joined like them.

With VALID a tuple takes part only in trees all of whose stream tuples have their time in its active interval.

    CREATE RELATION person (id BIGINT, name STRING, since BIGINT, until BIGINT) VALID FROM since TO until ...

    tree       movie [ts 5] ── plays [ts 9] ── person [since 3, until 12)   3 <= 5 and 9 < 12: a result

They are made anew with every version of the network, for its terms may be others; nothing of them is held.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.evaluate.data_columns import DataColumns
from seine.graph.parameter_table import ParameterTable
from seine.operators.search.data_graph import KEY_TEXT, SIDE
from seine.operators.search.known_tuples import CARRIED, ID
from seine.operators.search.watch import TupleForm
from seine.operators.search.watched_schema import (
    EPOCH,
    KEYS,
    NUMBER,
    PLACES,
    SIDES,
    TABLE,
    TERMS,
    TEXT,
    WatchedSchema,
    WatchedTable,
    list_values,
    spread,
)
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import KEY, SortedRun
from seine.operators.state.store import Store
from seine.operators.state.work_budget import uncounted
from seine.rows.column_arrays import as_lists
from seine.rows.delta import FOREVER, NEVER, concat_batches

NEXT_ID = "next"  # head: the id of the next tuple that arrives
FREQUENT = "frequent"  # head: terms of which no reach is kept, for ever
FREQUENT_SHARE = 0.05  # of the tuples of a step; a term that more of them contain is frequent,
LEAST_FREQUENT = 256  # if it is so many tuples
_WINDOW_NAMES = ["_s", "_e", ID, TABLE, NUMBER, EPOCH, TEXT, TERMS]
PASSED = "passed"  # head: the instant before which all tuples with deletions had come in the last step
INDEXED = "sides"  # head: the sides of edges at which held tuples have their places


class SearchState:
    """The state of one bucket; all buckets hold the same tuples under the same ids."""

    def __init__(self, store: Store) -> None:
        self._head = store.head
        self.window = Runs(store, "window")
        self.places = Runs(store, "places")
        self.reach = Runs(store, "reach")

    def numbered(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch | None:
        """New tuples in the order of their arrival, with ids; None if there are none."""
        batches = [batch for batch in batches if batch.num_rows]
        if not batches:
            return None
        whole = concat_batches(batches)
        whole = whole.take(pa.array(np.lexsort((whole[NUMBER].to_numpy(), whole[TABLE].to_numpy()))))
        first = self._head.get(NEXT_ID, 0)
        self._head[NEXT_ID] = first + whole.num_rows
        return whole.append_column(ID, pa.array(np.arange(first, first + whole.num_rows)))

    def frequent_terms(self, new: pa.RecordBatch) -> frozenset[int]:
        """The terms so far that very many tuples contain: to know where one is near would tell nothing."""
        terms, counts = np.unique(list_values(new[TERMS])[1], return_counts=True)
        return self.add_frequent(terms[counts > max(LEAST_FREQUENT, FREQUENT_SHARE * new.num_rows)])

    def add_frequent(self, terms: IntArray) -> frozenset[int]:
        """Let terms have no reach from now on; all that have none."""
        known = {*self._head.get(FREQUENT, ()), *terms.tolist()}
        if known:
            self._head[FREQUENT] = sorted(known)
        return frozenset(known)

    def lacks_places(self, sides: IntArray) -> bool:
        """Whether there are sides of edges at which held tuples are not indexed; asked once."""
        known, self._head[INDEXED] = self._head.get(INDEXED), sides.tolist()
        return known is not None and not {*sides.tolist()} <= {*known}

    def passed(self, horizon: int) -> int:
        """The horizon of the step before, in place of which there is now another."""
        before: int = self._head.get(PASSED, NEVER)
        self._head[PASSED] = horizon
        return before

    def held(self) -> pa.RecordBatch | None:
        """All tuples of the window; None if there are none."""
        runs = [run.batch.select(_WINDOW_NAMES) for run in self.window.overlapping()]
        return pa.concat_batches(runs) if runs else None

    def index_anew(self, places: SortedRun | None) -> None:
        """Take other places for those of the held tuples; reach has to be published again."""
        self.places.clear()
        self.reach.clear()
        if places is not None:
            self.places.add(places)

    def clear(self) -> None:
        """Let go of everything."""
        for runs in (self.window, self.places, self.reach):
            runs.clear()

    def add(self, arrived: NewTuples, bound: int) -> None:
        """Hold new tuples that may still be joined after the bound."""
        if arrived.places is not None:
            self.places.add(arrived.places.after(bound))
        self.window.add(arrived.window.after(bound))

    def settle(self, bound: int) -> None:
        """Let go of what no tuple to come can live with."""
        self.places.settle(bound)
        self.reach.settle(bound)
        self.window.settle(bound)

    def texts(self, ids: IntArray) -> tuple[IntArray, pa.RecordBatch] | None:
        """Held tuples by id: which of the ids they have, and their rows."""
        probed, batches = [], []
        keys = spread(ids)
        for run in self.window.overlapping():
            for probing, stored in run.equal_keys(keys, uncounted):
                probed.append(probing)
                batches.append(run.batch.select(_WINDOW_NAMES).take(pa.array(stored)))
        return (np.concatenate(probed), pa.concat_batches(batches)) if batches else None


class NewTuples:
    """The tuples that arrived in a step, as runs that can be probed and then be held."""

    def __init__(self, batch: pa.RecordBatch, *, hold_all: bool = False) -> None:
        """Tuples that nothing can join are held if the schema may change: `hold_all`."""
        self.batch = batch
        lengths, places = list_values(batch[PLACES])
        joinable = np.flatnonzero(lengths)
        self.places = places_run(batch, lengths, places) if len(joinable) else None
        held = batch.select(_WINDOW_NAMES)
        if not hold_all:
            held = held.take(pa.array(joinable))
        self.window = SortedRun.of(_keyed(spread(held[ID].to_numpy()), held), KEY)


def places_run(batch: pa.RecordBatch, lengths: IntArray, places: IntArray) -> SortedRun:
    """Tuples by place, a row for each place of each."""
    owners = pa.array(np.repeat(np.arange(batch.num_rows), lengths))
    rows = batch.select(CARRIED).take(owners)
    sides, texts = (as_lists(batch[name]).flatten() for name in (SIDES, KEYS))
    rows = rows.append_column(SIDE, sides).append_column(KEY_TEXT, texts)
    return SortedRun.of(_keyed(places, rows), KEY)


def _keyed(keys: IntArray, rows: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(keys), *rows.columns], [KEY, *rows.schema.names])


_TEXT_NAMES = ["_s", TABLE, NUMBER, TEXT]


class StaticTuples:
    """All tuples of the relations of a search; the id of tuple i is -1 - i."""

    def __init__(
        self, schema: WatchedSchema, terms: ParameterTable, read: Callable[[str], pa.RecordBatch]
    ) -> None:
        batches = [_searched(table, schema, terms, read(table.name)) for table in schema.relations]
        self.batch = _numbered(pa.concat_batches(batches)) if batches else None

    @property
    def places(self) -> list[SortedRun]:
        """The index of their places, as a run; none if there are none."""
        if self.batch is None or not self.batch.num_rows:
            return []
        lengths, places = list_values(self.batch[PLACES])
        return [places_run(self.batch, lengths, places)] if len(places) else []

    def texts(self, ids: IntArray) -> pa.RecordBatch:
        """The tuples with these ids; they come before all others."""
        assert self.batch is not None
        rows = self.batch.select(_TEXT_NAMES).take(pa.array(-1 - ids))
        return rows.set_column(0, "_s", pa.array(np.full(len(ids), NEVER)))


def _searched(
    table: WatchedTable, schema: WatchedSchema, terms: ParameterTable, tuples: pa.RecordBatch
) -> pa.RecordBatch:
    rows = tuples.num_rows
    numbers, ages = pa.array(np.arange(rows)), pa.array(np.full(rows, FOREVER))
    named = TupleForm(table, schema.edges, terms).columns(tuples, DataColumns(tuples), numbers, ages)
    begin, end = (None, None) if table.valid is None else table.valid
    lives = [("_s", _instants(tuples, begin, NEVER)), ("_e", _instants(tuples, end, FOREVER))]
    whole = [*lives, *named]
    return pa.RecordBatch.from_arrays([array for _, array in whole], names=[name for name, _ in whole])


def _instants(tuples: pa.RecordBatch, column: int | None, open_: int) -> pa.Array:
    """The instants of a column of VALID; NULL is open."""
    if column is None:
        return pa.array(np.full(tuples.num_rows, open_))
    values = tuples[f"c{column}"]
    times = values.view(pa.int64()) if pa.types.is_timestamp(values.type) else values.cast(pa.int64())
    return pc.fill_null(times, open_)


def _numbered(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column(ID, pa.array(-1 - np.arange(batch.num_rows)))
