"""Promises about the sides of a join: which keys all streams beneath a side have punctuated.

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

from seine.algebra.arrays import BoolArray
from seine.operators.join.join_purge import ROW_NAMES, HeldRows
from seine.operators.join.key_punctuations import Punctuators
from seine.operators.state.sorted_run import SortedRun
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import Delta

if TYPE_CHECKING:
    from seine.operators.join.join_node import JoinNode

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
