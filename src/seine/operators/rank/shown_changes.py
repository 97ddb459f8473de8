"""Which entries are among the first of their partition, instant by instant, for all partitions at once.

    entry (best first)   alive at 3  4  5  6        shown, n = 2      3  4  5  6        changes
    a                          1  1  0  0                             1  1  0  0        a - at 5
    b                          1  1  1  1                             1  1  1  1
    c                          1  1  1  0                             0  0  1  0        c + at 5, - at 6

A partition has a table of its own, of its entries and some instants, and all tables are laid out one after
the other: the number of an entry is a running sum down a column. Of entries that nothing happens to, only
those are in the table that may be shown, so its size goes by n and by what happens.

The order of rows in their partitions: the best first, and rows that are equal in everything are one.

Ties of ORDER BY go by event time, then by columns from left to right, NULL first; never by arrival.

    ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC)

    k  v  ts             partition   peers     entry
    a  9  1              0           0         0
    a  7  2  (twice)     0           1         1        two rows that nothing tells apart
    a  7  4              0           1         2
    b  9  1              1           2         3
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.rank_plan import DENSE_RANK, ROW_NUMBER, Ordering
from seine.rows.grouping import as_mask, dense_ranks, group_rows

MOST_CELLS = 1 << 20  # of the tables of one round, unless one instant of one partition has more
MOST_INSTANTS = 64  # of a partition in one round


class NumberedEntries(NamedTuple):
    """Entries, each with its number and when it is shown, or no longer; copies are repeated."""

    entry: IntArray
    number: IntArray
    time: IntArray


class EntryEvents(NamedTuple):
    """That more or fewer copies of entries are alive from some instants on."""

    entry: IntArray
    time: IntArray
    weight: IntArray


@dataclass(frozen=True)
class Ranking:
    """The rule by which entries are shown: those whose number, counted from 0, is below what is wanted.

    `numbered`: whether a number that changes is a change. `forgets`: what is not shown never will be.
    """

    function: str
    numbered: bool
    forgets: bool


def shown_changes(
    ranking: Ranking, order: RowOrder, wanted: IntArray, count: IntArray, events: EntryEvents
) -> tuple[NumberedEntries, NumberedEntries]:
    """What begins and what ends to be shown; `count` copies of each entry are alive before, and after.

    >>> nothing = np.zeros(3, np.int64)
    >>> order = RowOrder(np.arange(3), np.arange(3), nothing, np.arange(3))
    >>> events = EntryEvents(*np.array([[0, 3, 1], [1, 3, 1], [2, 3, 1], [0, 5, -1], [2, 6, -1]]).T)
    >>> plain = Ranking(ROW_NUMBER, False, False)
    >>> begun, ended = shown_changes(plain, order, nothing + 2, nothing, events)
    >>> [*zip(begun.entry.tolist(), begun.time.tolist())], [*zip(ended.entry.tolist(), ended.time.tolist())]
    ([(0, 3), (1, 3), (2, 5)], [(0, 5), (2, 6)])
    """
    rounds = _Rounds(ranking, order, wanted, count, events)
    while len(active := np.flatnonzero(rounds.next < rounds.stop)):
        rounds.advance(active, MOST_INSTANTS)
    begun, ended = ([piece[side] for piece in rounds.pieces] for side in (0, 1))
    return _concatenated(begun), _concatenated(ended)


def _concatenated(pieces: list[NumberedEntries]) -> NumberedEntries:
    if not pieces:
        return NumberedEntries(*(np.zeros(0, np.int64) for _ in range(3)))
    return NumberedEntries(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


class _Rounds:
    """Instants are taken in rounds; in one, each partition takes some of its own."""

    def __init__(
        self, ranking: Ranking, order: RowOrder, wanted: IntArray, count: IntArray, events: EntryEvents
    ) -> None:
        self._ranking, self._wanted, self._count = ranking, wanted, count
        self._partition, self._peers = order.partition, order.peers
        partitions = int(order.partition.max(initial=-1)) + 1  # none, if what expires has ended early
        self._first = np.searchsorted(order.partition, np.arange(partitions + 1))
        of_event = order.partition.take(events.entry)
        by_place = np.lexsort((events.time, of_event))
        self._entry, self._weight = events.entry[by_place], events.weight[by_place]
        times, of_event = events.time[by_place], of_event[by_place]
        new = np.ones(len(times), bool)
        new[1:] = (times[1:] != times[:-1]) | (of_event[1:] != of_event[:-1])
        self._opens = np.append(np.flatnonzero(new), len(times))  # the first event of each place
        self._time = times[new]
        self._place = np.cumsum(new) - 1  # of each event
        places = of_event[new]
        self.next, self.stop = (np.searchsorted(places, np.arange(partitions), s) for s in ("left", "right"))
        self.pieces: list[tuple[NumberedEntries, NumberedEntries]] = []

    def advance(self, partitions: IntArray, length: int) -> None:
        """Take so many instants of each of some partitions; fewer if tables would be too large."""
        first = self.next[partitions]
        instants = np.minimum(self.stop[partitions] - first, length)
        events, _ = _ranges(self._opens[first], self._opens[first + instants])
        changing = np.unique(self._entry[events])
        rows = np.union1d(changing, self._lasting(partitions, changing))
        heights = np.bincount(np.searchsorted(partitions, self._partition[rows]), minlength=len(partitions))
        if int((heights * (instants + 1)).sum()) > MOST_CELLS and (len(partitions) > 1 or length > 1):
            half = len(partitions) // 2
            if half:
                self.advance(partitions[:half], length)
                self.advance(partitions[half:], length)
            else:
                self.advance(partitions, length // 2)
            return
        tables = _Tables(heights, instants + 1)
        table = np.searchsorted(partitions, self._partition[self._entry[events]])
        cells = tables.cell(
            np.searchsorted(rows, self._entry[events]), self._place[events] - first[table] + 1
        )
        alive = tables.running(self._count[rows], cells, self._weight[events])
        shown, number = self._shown(tables, alive, rows)
        self._note(tables, shown, number, rows, first)
        np.add.at(self._count, self._entry[events], self._weight[events])
        if self._ranking.forgets:
            entries, _ = _ranges(self._first[partitions], self._first[partitions + 1])
            kept = self._count[rows[shown[tables.last] > 0]]
            self._count[entries] = 0
            self._count[rows[shown[tables.last] > 0]] = kept
        self.next[partitions] += instants

    def _lasting(self, partitions: IntArray, changing: IntArray) -> IntArray:
        """The entries to which nothing happens and that may be shown: too few of their like are better."""
        entries, _ = _ranges(self._first[partitions], self._first[partitions + 1])
        entries = entries[self._count[entries] > 0]
        entries = entries[~_is_in(entries, changing)]
        if not len(entries):
            return entries
        partition, peers, count = self._partition[entries], self._peers[entries], self._count[entries]
        opens = np.searchsorted(partition, partition)
        if self._ranking.function == DENSE_RANK:
            steps = np.append(0, np.cumsum(np.diff(peers) != 0))
            before = steps - steps[opens]
        else:
            sums = np.cumsum(count) - count
            at = None if self._ranking.function == ROW_NUMBER else np.searchsorted(peers, peers)
            before = (sums if at is None else sums[at]) - sums[opens]
        return np.asarray(entries[before < self._wanted[entries]])

    def _shown(self, tables: _Tables, alive: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        """How many copies of each entry are shown at each instant, and the number of the first, from 0."""
        standing = alive[tables.by_instant]  # an instant's entries side by side
        most = self._wanted[rows]
        wanted = most[0] if (most == most[0]).all() else most[tables.row_by_instant]
        function = self._ranking.function
        if function == ROW_NUMBER:
            number = tables.sums_before(standing)
            shown = np.clip(wanted - number, 0, standing)
        else:
            first = tables.peers_before(self._peers[rows])
            last = tables.peers_behind(self._peers[rows])
            before = tables.sums_before(standing)
            if function == DENSE_RANK:
                there = (before + standing)[last] > before[first]
                there &= first == np.arange(len(first))
                number = tables.sums_before(there.astype(np.int64))[first]
            else:
                number = before[first]
            shown = np.where(number < wanted, standing, 0)
        number = np.where(shown > 0, number, 0) if self._ranking.numbered else np.zeros_like(number)
        return shown[tables.beside], number[tables.beside]

    def _note(
        self, tables: _Tables, shown: IntArray, number: IntArray, rows: IntArray, first: IntArray
    ) -> None:
        """Note what differs from the instant before."""
        differs = np.zeros(len(shown), bool)
        differs[1:] = (shown[1:] != shown[:-1]) | (number[1:] != number[:-1])
        differs[tables.opens] = False
        cells = np.flatnonzero(differs)
        row = tables.row[cells]
        time = self._time[first[tables.table[row]] + cells - tables.opens[row] - 1]
        entry = rows[row]
        was, now = (number[cells - 1], shown[cells - 1]), (number[cells], shown[cells])
        runs = self._ranking.numbered and self._ranking.function == ROW_NUMBER
        self.pieces.append((_more(entry, time, now, was, runs), _more(entry, time, was, now, runs)))


_Copies = tuple[IntArray, IntArray]  # the first number, and how many


def _more(entry: IntArray, time: IntArray, one: _Copies, other: _Copies, runs: bool) -> NumberedEntries:
    """The copies of the one that the other has not; of `runs` each copy has the next number."""
    (start, count), (begin, size) = one, other
    if not runs:
        copies = np.where(start == begin, np.maximum(count - size, 0), count)
        return NumberedEntries(*(np.repeat(column, copies) for column in (entry, start, time)))
    end, stop = start + count, begin + size
    below, above = (start, np.minimum(end, begin)), (np.maximum(start, stop), end)
    pieces = []
    for low, high in (below, above):
        numbers, of = _ranges(low, np.maximum(low, high))
        pieces.append(NumberedEntries(entry[of], numbers, time[of]))
    return _concatenated(pieces)


class _Tables:
    """Tables of entries and instants, one after the other, each entry by entry."""

    def __init__(self, heights: IntArray, widths: IntArray) -> None:
        self.table = np.repeat(np.arange(len(heights)), heights)  # of each row of any table
        width = widths[self.table]
        self.opens = np.cumsum(width) - width  # the first cell of each row
        self.last = self.opens + width - 1
        self.row = np.repeat(np.arange(len(self.table)), width)  # of each cell
        cells = heights * widths
        base = (np.cumsum(cells) - cells)[self.table]
        place = np.arange(len(self.table)) - (np.cumsum(heights) - heights)[self.table]  # in its table
        instant = np.arange(len(self.row)) - np.repeat(self.opens, width)
        column = np.repeat(base, width) + instant * np.repeat(heights[self.table], width)
        self.beside = column + np.repeat(place, width)  # where a cell is, an instant's entries side by side
        self.by_instant = np.empty_like(self.beside)
        self.by_instant[self.beside] = np.arange(len(self.beside))
        self._column = column[self.by_instant]  # the first cell of the instant of each

    @cached_property
    def row_by_instant(self) -> IntArray:
        """The row of each cell, an instant's entries side by side."""
        rows: IntArray = self.row[self.by_instant]
        return rows

    def cell(self, rows: IntArray, instants: IntArray) -> IntArray:
        cells: IntArray = self.opens[rows] + instants
        return cells

    def running(self, before: IntArray, cells: IntArray, weights: IntArray) -> IntArray:
        """How many are alive at each cell, given how many were before, and what happens."""
        alive = np.zeros(len(self.row), np.int64)
        alive[self.opens] = before
        np.add.at(alive, cells, weights)
        sums = np.cumsum(alive)
        return np.asarray(sums - (sums - alive)[self.opens][self.row])

    def sums_before(self, standing: IntArray) -> IntArray:
        """What stands before each cell at its instant."""
        before = np.cumsum(standing) - standing
        return np.asarray(before - before[self._column])

    def peers_before(self, peers: IntArray) -> IntArray:
        """The cell of the first of each cell's peers."""
        places = np.arange(len(self.row_by_instant))
        rows = np.arange(len(peers))
        back = rows - np.searchsorted(peers, peers)
        return np.asarray(places - back[self.row_by_instant])

    def peers_behind(self, peers: IntArray) -> IntArray:
        """The cell of the last of each cell's peers."""
        places = np.arange(len(self.row_by_instant))
        ahead = np.searchsorted(peers, peers, "right") - 1 - np.arange(len(peers))
        return np.asarray(places + ahead[self.row_by_instant])


def _ranges(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """All numbers of ranges [low, high), and the number of the range of each."""
    sizes = high - low
    of = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(of)) - (np.cumsum(sizes) - sizes)[of] + low[of], of


def _is_in(values: IntArray, among: IntArray) -> BoolArray:
    """Which values are among ascending others."""
    if not len(among):
        return np.zeros(len(values), bool)
    return np.asarray(among.take(np.searchsorted(among, values), mode="clip") == values)


_LAST = 2**62  # the code of a NULL that comes last


@dataclass(frozen=True)
class RowOrder:
    """Entries, different rows in order; `entry` is that of each given row, `firsts` a row of each entry.

    Of each entry there is its partition and its peers (those with equal values of ORDER BY), both ascending.
    """

    entry: IntArray
    firsts: IntArray
    partition: IntArray
    peers: IntArray


@dataclass(frozen=True)
class RowOrdering:
    """How rows are ordered: by the columns of ORDER BY, the start of their lives if `time` names it, ties."""

    partition: tuple[str, ...]
    order: tuple[Ordering, ...]
    time: str | None
    ties: tuple[str, ...]

    def of(self, rows: pa.RecordBatch, hashes: IntArray) -> RowOrder:
        """The order of rows, given the hashes of their partitions."""
        groups = group_rows(hashes, [rows[name] for name in self.partition])
        partition = np.empty(rows.num_rows, np.int64)
        partition[groups.order] = groups.labels()
        codes = [partition, *(_codes(rows[f"c{one.column}"], one) for one in self.order)]
        times = [] if self.time is None else [rows[self.time].to_numpy()]
        order = np.lexsort([*reversed([*codes, *times])])
        peers = _equal_neighbours(codes, order)
        same = peers & _equal_neighbours(times, order)
        if same.any():
            order, same = self._break_ties(rows, order, same)
        new = np.append(True, ~same)[: len(order)]
        entry = np.empty(len(order), np.int64)
        entry[order] = np.cumsum(new) - 1
        firsts = order[new]
        numbers = np.cumsum(np.append(True, ~peers)[: len(order)]) - 1
        return RowOrder(entry, firsts, partition[firsts], numbers[new])

    def _break_ties(
        self, rows: pa.RecordBatch, order: IntArray, same: BoolArray
    ) -> tuple[IntArray, BoolArray]:
        """The order with rows sorted that were equal so far, and who of neighbours stays equal."""
        run = np.append(0, np.cumsum(~same))
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        chosen = pa.array(order[tied])
        codes = [run[tied], *(_codes(rows[name].take(chosen), _PLAIN) for name in self.ties)]
        within = np.lexsort([*reversed(codes)])
        order = order.copy()
        order[tied] = order[tied[within]]
        equal = np.zeros(len(order), bool)
        equal[tied[1:]] = _equal_neighbours(codes, within) & (np.diff(tied) == 1)
        return order, same & equal[1:]


_PLAIN = Ordering(0, False, True)


def _codes(values: pa.Array, order: Ordering) -> IntArray:
    """Numbers in the order of values."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    codes = dense_ranks(values)[0]
    if order.descending:
        codes = -codes
    if values.null_count:
        codes[as_mask(values.is_null())] = -_LAST if order.nulls_first else _LAST
    return codes


def _equal_neighbours(columns: Sequence[AnyArray], order: IntArray) -> BoolArray:
    """Which rows, in an order, equal the next one in all columns."""
    same = np.ones(max(len(order) - 1, 0), bool)
    for column in columns:
        ordered = column.take(order)
        same &= ordered[1:] == ordered[:-1]
    return same
