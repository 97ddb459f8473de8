"""Punctuated keys: the punctuations of all members beneath, and the groups or rows that they finish together.

A member is a stream of the block, or of one of the blocks, whose rows are grouped; or of those beneath a side
of a join. A group is finished when each member has punctuated values that agree with its keys. A punctuation
counts when every tuple before it has been counted: when progress has passed the latest instant that was known
when it came.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray
from seine.graph.node import Port
from seine.operators.join.derived_punctuations import arrived, gathered
from seine.operators.join.join_purge import HeldRows, covered
from seine.operators.join.purge_rule import PurgeRule
from seine.operators.state.event_queue import RowBuffer
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import KEY, SortedRun
from seine.operators.state.store import Store
from seine.rows.delta import FOREVER, NEVER, Delta

READY = "_r"  # of a punctuation: every tuple before it started at this instant or earlier


class Punctuators:
    """The punctuations that came by some ports; `keys` is a port whose key they are about."""

    def __init__(
        self, keys: Port, ports: Sequence[Port], purges: Sequence[PurgeRule], members: int, buckets: int = 1
    ) -> None:
        """`buckets` is how many have to send a derived punctuation of a join beneath."""
        self._groups = HeldRows("groups", -1, tuple(range(len(keys.key))), keys)
        self._members, self._buckets = members, buckets
        self._punctuations = [
            HeldRows.of_punctuations(i, purge, port)
            for i, (purge, port) in enumerate(zip(purges, ports, strict=True))
        ]

    def take(self, pieces: Sequence[list[Delta]], latest: int, progress: int, store: Store) -> int:
        """Take punctuations in; how many have begun to count. No tuple before them started after `latest`."""
        begun = 0
        for held, deltas in zip(self._punctuations, pieces, strict=True):
            came = arrived(deltas)
            if held.gathers:
                came = gathered(came, Runs(store, f"{held.name}_parts"), self._buckets)
            if came is not None:
                came = came.append_column(READY, pa.array(np.full(came.num_rows, latest)))
            due = RowBuffer(store, f"{held.name}_waiting", READY).release(came, progress)
            if due is not None:
                runs = Runs(store, held.name)
                runs.add(SortedRun.of(due.drop_columns([READY]), KEY))
                runs.settle(NEVER)
                begun += due.num_rows
        return begun

    def rows(self, store: Store) -> int:
        """How many punctuations are held that count; one that every bucket has is counted in the first."""
        counted = [held for held in self._punctuations if store.bucket == 0 or not held.port.broadcast]
        return sum(Runs(store, held.name).rows for held in counted)

    def finished(self, groups: SortedRun, store: Store) -> AnyArray:
        """The places of the groups that all members have punctuated."""
        return np.flatnonzero(np.logical_and.reduce(self.by_member(self._groups, groups, store)))

    def by_member(self, held: HeldRows, run: SortedRun, store: Store) -> list[BoolArray]:
        """For each member which rows of a run it has punctuated."""
        by_member = [np.zeros(run.rows, bool) for _ in range(self._members)]
        for punctuations in self._punctuations:
            for one in Runs(store, punctuations.name).overlapping():
                for places in covered(held, run, punctuations, one):
                    by_member[punctuations.side][places] = True
        return by_member

    def prune(self, store: Store) -> None:
        """Forget punctuations whose groups are finished: all other members have punctuated as much."""
        state = {held: Runs(store, held.name) for held in self._punctuations}
        if self._members == 1:
            for runs in state.values():
                runs.settle(FOREVER)
            return
        covers = {held: [(c, list(runs.overlapping())) for c, runs in state.items()] for held in state}
        for held, runs in state.items():
            runs.discard(lambda run, h=held: self._pointless(h, run, covers[h]))  # type: ignore[misc]

    def _pointless(
        self, held: HeldRows, run: SortedRun, covers: Sequence[tuple[HeldRows, list[SortedRun]]]
    ) -> AnyArray:
        by_member = [np.zeros(run.rows, bool) for _ in range(self._members)]
        by_member[held.side][:] = True
        for cover, runs in covers:
            if cover.side != held.side and set(cover.places) <= set(held.places):
                for other in runs:
                    for places in covered(held, run, cover, other):
                        by_member[cover.side][places] = True
        return np.flatnonzero(np.logical_and.reduce(by_member))
