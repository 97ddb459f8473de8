"""Trees with tuples that may be deleted: they wait until it is known whether they are void, and may end
early.

    found ──> waiting, by start ──(progress)──> reported ──> + rows
    deletions ──> cuts, by tuple ──> ends, by time ──(progress)──> - rows, once for each reported tree

Progress is that of the retractable streams of the tree's own tuples: a tree of others leaves at once, and a
silent stream holds up only the trees that have a tuple of it. Waiting and reported trees are kept apart by
that set of streams, their *hold*, and are let go by its progress.

A deletion is remembered as long as its tuple may be in a tree that comes or waits: so cuts are kept apart by
table, and let go by the bound by which the search lets go of the table's tuples.

Law: with W the progress of a tree's retractable streams and D the earliest deletion of one of its tuples,
the tree is emitted once its start is before W, unless D is not after its start; it ends early, once, at D
if D is before its end and before W.

A stream that is dropped holds nothing up: no deletion will come of it.

Cites: SKWS 3.1 (results of negative tuples)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.types import NUMBERS
from seine.operators.search.watched_schema import list_values, lists_of, spread
from seine.operators.state.event_queue import RowBuffer
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import EARLY, END, KEY, START, SortedRun
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, data_names

IDENTITY, MEMBERS, CODE = "_i0", "_members", "_code"
HOLDS = "holds"  # head: the sets of streams that trees have waited for, by number
CUT_TABLES = "cut tables"  # head: the tables of which deletions are remembered
_ROW = [START, END, IDENTITY, *data_names(4)]
_NUMBER_BITS = 43  # of an arrival number: the rest of 64 bits is for the number of the table


def tuple_codes(tables: IntArray, numbers: IntArray) -> IntArray:
    """One number for a table and an arrival number there."""
    codes: IntArray = (tables << _NUMBER_BITS) | numbers
    return codes


class RetractableTrees:
    """The trees of one bucket that wait or may end early, under `store.head`."""

    def __init__(self, store: Store, names: Mapping[int, str]) -> None:
        """`names` are the streams that there are and whose tuples may be deleted, by number."""
        self._store, self._names = store, names
        self._holds: list[list[int]] = store.head.setdefault(HOLDS, [])
        self._cut_tables: list[int] = store.head.setdefault(CUT_TABLES, [])

    def cut(self, tables: IntArray, numbers: IntArray, minus: pa.RecordBatch) -> None:
        """Note deletions of tuples, and that reported trees with them end."""
        codes = tuple_codes(tables, numbers)
        named = [KEY, START, END, EARLY, CODE]
        arrays = [pa.array(spread(codes)), minus[START], minus[END], minus[EARLY], pa.array(codes)]
        whole = pa.RecordBatch.from_arrays(arrays, names=named)
        for table in np.unique(tables).tolist():
            cuts = SortedRun.of(whole.take(pa.array(np.flatnonzero(tables == table))), KEY)
            if table not in self._cut_tables:
                self._cut_tables.append(table)
            self._cuts(table).add(cuts)
            self._end_reported(table, cuts)

    def _end_reported(self, table: int, cuts: SortedRun) -> None:
        """Let reported trees end that have tuples of a table which were deleted."""
        early = cuts.batch[EARLY].to_numpy()
        for hold in [number for number, streams in enumerate(self._holds) if table in streams]:
            for run in self._links(hold).overlapping():
                for probing, stored in run.equal_keys(cuts.keys):
                    self._end(hold, run.batch.take(pa.array(stored)), early[probing])

    def wait(self, streams: Sequence[int], rows: pa.RecordBatch) -> None:
        """Hold trees that have tuples of these streams; `rows` have identities and members."""
        self._buffer("waiting", self._number(streams), START).release(rows, _BEFORE_ALL)

    def release(self, clock: Clock) -> Iterator[Delta]:
        """What has become certain: trees that are reported, then the early ends of reported ones."""
        for number, streams in enumerate(self._holds):
            due = self._buffer("waiting", number, START).release(None, self._progress(clock, streams))
            if due is not None:
                lasting = self._tell(number, due)
                if lasting.num_rows:
                    yield Delta(lasting.select(_ROW))
        for number, streams in enumerate(self._holds):
            ends = self._buffer("ends", number, EARLY).release(None, self._progress(clock, streams))
            if ends is not None:
                yield from self._ended(number, ends)

    def settle(self, clock: Clock, bounds: Mapping[int, int]) -> None:
        """Let go of what no deletion to come can end, and of deletions that concern nothing to come.

        `bounds` say after which instant a tuple of a table must last to be joined with one to come.
        """
        for hold, streams in enumerate(self._holds):
            complete = FOREVER if clock.end else self._progress(clock, streams)
            self._reported(hold).settle(complete)
            self._links(hold).settle(complete)
        complete = FOREVER if clock.end else clock.progress(self._names.values())
        for table in [*self._cut_tables]:
            cuts = self._cuts(table)
            cuts.settle(bounds.get(table, complete))
            if not len(cuts):
                self._cut_tables.remove(table)
                del self._store.head[_cuts_name(table)]

    # ---- inside

    def _progress(self, clock: Clock, streams: Sequence[int]) -> int:
        """The progress of those of the streams that there are; nothing more comes of others."""
        return clock.progress([self._names[stream] for stream in streams if stream in self._names])

    def _number(self, streams: Sequence[int]) -> int:
        numbers = sorted(streams)
        if numbers not in self._holds:
            self._holds.append(numbers)
        return self._holds.index(numbers)

    def _cuts(self, table: int) -> Runs:
        """The deletions of tuples of a table."""
        return Runs(self._store, _cuts_name(table))

    def _reported(self, hold: int) -> Runs:
        return Runs(self._store, f"reported {hold}")

    def _links(self, hold: int) -> Runs:
        """Reported trees by the tuples that may be deleted."""
        return Runs(self._store, f"links {hold}")

    def _buffer(self, what: str, number: int, time: str) -> RowBuffer:
        return RowBuffer(self._store, f"{what} {json.dumps(self._holds[number])}", time)

    def _tell(self, hold: int, due: pa.RecordBatch) -> pa.RecordBatch:
        """Those of waiting trees that are not void, which are reported from now on."""
        lengths, codes = list_values(due[MEMBERS])
        owners = np.repeat(np.arange(due.num_rows), lengths)
        early = np.full(due.num_rows, FOREVER)
        np.minimum.at(early, owners, self._early_ends(self._holds[hold], codes))
        lasting = np.flatnonzero(early > due[START].to_numpy())
        kept, early = due.take(pa.array(lasting)), early[lasting]
        self._remember(hold, kept)
        short = np.flatnonzero(early < kept[END].to_numpy())
        if len(short):
            self._end(hold, kept.take(pa.array(short)), early[short])
        return kept

    def _remember(self, hold: int, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        trees = rows.select(_ROW)
        keys = pa.array(spread(rows[IDENTITY].to_numpy()))
        reported = pa.RecordBatch.from_arrays([keys, *trees.columns], [KEY, *_ROW])
        self._reported(hold).add(SortedRun.of(reported, KEY))
        lengths, codes = list_values(rows[MEMBERS])
        owners = pa.array(np.repeat(np.arange(rows.num_rows), lengths))
        linked = rows.select([START, END, IDENTITY]).take(owners)
        links = pa.RecordBatch.from_arrays(
            [pa.array(spread(codes)), *linked.columns], [KEY, START, END, IDENTITY]
        )
        self._links(hold).add(SortedRun.of(links, KEY))

    def _early_ends(self, tables: Sequence[int], codes: IntArray) -> IntArray:
        """When tuples of tables were deleted, as far as that is known; FOREVER if they were not."""
        early = np.full(len(codes), FOREVER)
        keys = spread(codes)
        for table in {*tables} & {*self._cut_tables}:
            for run in self._cuts(table).overlapping():
                for probing, stored in run.equal_keys(keys):
                    np.minimum.at(early, probing, run.batch[EARLY].to_numpy()[stored])
        return early

    def _end(self, hold: int, rows: pa.RecordBatch, early: IntArray) -> None:
        """Reported trees end at these instants, unless they end earlier; it waits until that is certain."""
        inside = np.flatnonzero((early < rows[END].to_numpy()) & (early > rows[START].to_numpy()))
        if len(inside):
            ends = rows.select([START, END, IDENTITY]).take(pa.array(inside))
            ends = ends.append_column(EARLY, pa.array(early[inside]))
            self._buffer("ends", hold, EARLY).release(ends, _BEFORE_ALL)

    def _ended(self, hold: int, ends: pa.RecordBatch) -> Iterator[Delta]:
        """The reported trees that end, each at its earliest end; they are held no more."""
        identity, early = ends[IDENTITY].to_numpy(), ends[EARLY].to_numpy()
        order = np.lexsort((early, identity))
        identity, early = identity[order], early[order]
        first = np.ones(len(order), bool)
        first[1:] = np.diff(identity) != 0
        identity, early = identity[first], early[first]
        keys = spread(identity)
        taken = self._reported(hold).take(lambda run: _hits(run, keys))
        for batch in taken:
            at = np.searchsorted(identity, batch[IDENTITY].to_numpy())
            rows = batch.select(_ROW)
            names = [START, END, EARLY, *_ROW[2:]]
            minus = rows.append_column(EARLY, pa.array(early[at])).select(names)
            yield Delta(rows[:0], minus)


_BEFORE_ALL = -(2**63)


def _cuts_name(table: int) -> str:
    return f"cuts {table}"


def _hits(run: SortedRun, keys: IntArray) -> IntArray:
    pieces = [stored for _, stored in run.equal_keys(keys)]
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)


def members_of(tables: IntArray, numbers: IntArray, retractable: IntArray) -> pa.Array:
    """The codes of the tuples of each tree whose table is retractable, as lists; `retractable` are table
    numbers.
    """
    inside = np.isin(tables, retractable)
    return lists_of(inside.sum(1), tuple_codes(tables, numbers)[inside], NUMBERS.arrow())
