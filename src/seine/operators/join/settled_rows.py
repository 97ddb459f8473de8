"""Settled rows of a join: those that neither end early nor meet a partner that begins or ends early.

Groups and set operators change their rows: one ends and another begins. Where a column of theirs rises with
event time (`final_time.py`), a watermark says which of their rows are final.

    SELECT ... FROM bid b JOIN (SELECT max(price) m, ts DIV 10 k FROM bid GROUP BY ts DIV 10) g
      ON b.price = g.m AND b.ts DIV 10 = g.k

    progress 37:  a row of b with ts DIV 10 < 3 waits for no group: none with k < 3 begins or ends
                  a group with k < 3 is final, and no later b has ts DIV 10 < 3

Law: a row is settled when the other side is closed for it, by a key or by a bound on a rising column of that
side or because that side is promised for its key (`SidePromises`), and it does not end early itself: no
row of its side does, or a rising column of its own has passed, or its own side is promised for its key. Then
no pair with it begins or ends early after this step.

To look costs what is held. So there is a look in each step where few rows are held, else when they have
doubled since the last, or when there is a punctuation for every sixteen.

Promises about the sides of a join: which keys all streams beneath a side have punctuated.

A side may be groups or rows of a set operator over several streams. When each of these has punctuated values
of a key, no row of the side with that key begins or ends early, once the instants before the last of the
punctuations are complete: the results up to then have been told, and nothing changes them.

    SELECT ... FROM (SELECT itemid, count(*) FROM bid GROUP BY itemid) g JOIN sale s ON g.itemid = s.itemid

    bid punctuates itemid 7 ──(progress)──> g is promised for 7 ──> sales of item 7 wait for nothing

A punctuation is forgotten when both sides are promised for its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray
from seine.algebra.expressions import Expression, columns_of, shift_columns, substitute
from seine.algebra.monotone import monotone_in
from seine.evaluate.evaluate import evaluate
from seine.operators.join.final_time import FinalTime
from seine.operators.join.join_purge import ROW_NAMES, HeldRows, Punctuators
from seine.operators.join.time_bounds import reach
from seine.operators.match.any_of import Tables
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import SortedRun
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta

if TYPE_CHECKING:
    from seine.operators.join.join import JoinNode


ROWS_LOOKED_AT_A_STEP = 4096  # rows of a side; so many are looked at in each step
ROWS_PER_PUNCTUATION = 16  # punctuations gather until there is one for so many rows held
SIDES = (0, 1)


class SettledRows:
    """The settled rows of one side of a join."""

    def __init__(
        self, node: JoinNode, side: int, tables: Tables, promises: SidePromises | None = None
    ) -> None:
        """Rows of a port with identities may end early."""
        self._name, self._side, self._promises = f"settled{side}", side, promises
        self._own_times = node.rising[side] if node.ports[side].identities else None
        self._keys = [*_closing_keys(node, side)]
        reaches = [(reach(node, tables, side, time.place), time) for time in node.rising[1 - side]]
        self._reaches = [(one, time) for one, time in reaches if one is not None]

    @property
    def promises(self) -> SidePromises | None:
        return self._promises

    @property
    def columns(self) -> set[int]:
        """The columns that rows have to bring."""
        read = {column for mine, _ in self._keys for column in columns_of(mine)}
        read |= {column for one, _ in self._reaches for column in one.columns}
        read |= self._promises.columns(self._side) if self._promises else set()
        return read | {time.place for time in self._own_times or ()}

    def free(self, runs: Runs, closed: int, settled: int, store: Store) -> None:
        """Forget what is settled, if it is time for a look.

        No row of the other side begins before `closed`, nor ends early; none of this side ends early before
        `settled`.
        """
        left, counted, *then = store.head.get(self._name, [0, 0, None, None])
        rows, now = runs.rows, SidePromises.counted(store)
        if then == [closed, settled] and counted == now:
            return
        gathered = (now - counted) * ROWS_PER_PUNCTUATION
        if ROWS_LOOKED_AT_A_STEP < rows < 2 * left and gathered < rows:
            return
        runs.discard(lambda run: self.settled(run, closed, settled, store))
        store.head[self._name] = [runs.rows, now, closed, settled]

    def has_seen(self, store: Store) -> bool:
        """Whether the last look was by all punctuations that count."""
        counted: int = store.head.get(self._name, [0, 0])[1]
        return counted == SidePromises.counted(store)

    def settled(self, run: SortedRun, closed: int, settled: int, store: Store) -> AnyArray:
        """The places of settled rows."""
        mask = self._is_closed(run, closed)
        final = np.full(run.rows, self._own_times is None)
        for time in self._own_times or ():
            final |= _below(run.batch[f"c{time.place}"], time, settled)
        if self._promises:
            partners, rows = self._promises.promised(self._side, run, store)
            mask, final = mask | partners, final | rows
        return np.flatnonzero(mask & final)

    def _is_closed(self, run: SortedRun, closed: int) -> BoolArray:
        """For which rows no partner begins or ends early any more."""
        mask = np.zeros(run.rows, bool)
        for mine, time in self._keys:
            columns = {index: run.batch[f"c{index}"] for index in columns_of(mine)}
            mask |= _below(evaluate(mine, columns, run.rows), time, closed)
        for bound, time in self._reaches:
            reached = time.reached(closed)
            if reached is not None:
                mask |= bound.until(run.batch, np.full(run.rows, FOREVER)) <= _as_number(reached)
        return mask


def settling_of(node: JoinNode, tables: Tables) -> list[SettledRows]:
    """What settles rows of each side; nothing where no column rises and nobody punctuates."""
    promises = SidePromises(node) if node.hold and any(node.punctuators) else None
    if promises is None and not any(node.rising):
        return []
    return [SettledRows(node, side, tables, promises) for side in SIDES]


def _closing_keys(node: JoinNode, side: int) -> list[tuple[Expression, FinalTime]]:
    """The keys of a side that bound a rising column of the other: the other's key is a function of it that
    never falls. Each with the clocks of that key.
    """
    closing = []
    for place, (mine, theirs) in enumerate(zip(node.ports[side].key, node.ports[1 - side].key, strict=True)):
        column = monotone_in(theirs)
        for time in node.rising[1 - side]:
            if time.place == column and columns_of(theirs) == {column}:
                of_time = shift_columns(theirs, lambda index: 0)
                clocks = tuple(substitute(of_time, [clock]) for clock in time.clocks)
                closing.append((mine, FinalTime(place, clocks)))
    return closing


def _below(values: pa.Array, time: FinalTime, progress: int) -> BoolArray:
    """Which values are final."""
    reached = time.reached(progress)
    if reached is None:
        return np.zeros(len(values), bool)
    below: BoolArray = pc.fill_null(pc.less(values, reached), False).to_numpy(zero_copy_only=False)
    return below


def _as_number(value: pa.Scalar) -> int:
    """A time as a number, as `time_bounds` has it."""
    return int(value.cast(pa.int64()).as_py())


COUNTED = "promises"  # how many punctuations have begun to count


class SidePromises:
    """The punctuations of both sides of a join whose rows may end early."""

    def __init__(self, node: JoinNode) -> None:
        left, right = node.punctuators
        self._members = (range(left), range(left, left + right))
        self._streams = node.streams
        whole = tuple(range(len(node.ports[0].key)))
        self._rows = [HeldRows(ROW_NAMES[side], side, whole, node.ports[side]) for side in (0, 1)]
        self._places = [purge.places for purge in node.purges]
        self._punctuators = Punctuators(node.ports[0], node.ports[2:], node.purges, left + right)

    def columns(self, side: int) -> set[int]:
        """The columns that rows of a side have to bring so that punctuations can be compared with them."""
        return {column for places in self._places for column in self._rows[side].columns(places)}

    def take(self, pieces: Sequence[list[Delta]], clock: Clock, horizon: int, store: Store) -> None:
        """Take punctuations in; they count when the instants before them are complete."""
        begun = self._punctuators.take(pieces, clock.latest_of(self._streams), horizon, store)
        if begun:
            store.head[COUNTED] = self.counted(store) + begun

    @staticmethod
    def counted(store: Store) -> int:
        """How many punctuations have begun to count so far."""
        counted: int = store.head.get(COUNTED, 0)
        return counted

    def rows(self, store: Store) -> int:
        """How many punctuations are held."""
        return self._punctuators.rows(store)

    def promised(self, side: int, run: SortedRun, store: Store) -> tuple[BoolArray, BoolArray]:
        """Which rows of a side the other side is promised for, and which its own side is."""
        by_member = self._punctuators.by_member(self._rows[side], run, store)
        masks = []
        for members in (self._members[1 - side], self._members[side]):
            masks.append(np.logical_and.reduce([by_member[m] for m in members]) if members else None)
        nothing = np.zeros(run.rows, bool)
        partners, rows = (nothing if mask is None else mask for mask in masks)
        return partners, rows

    def forget(self, store: Store) -> None:
        """Forget punctuations of what both sides are promised for, once all such rows are gone."""
        if all(self._members):
            self._punctuators.prune(store)
