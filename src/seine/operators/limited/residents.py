"""The window of one stream during a slice of event time: the tuples held before, then the arrivals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.limited.star_combinations import TupleLives
from seine.rows.delta import ARRIVAL_NUMBER, FOREVER, concat_batches
from seine.shedding.policy import Arrivals, Evictions

START, END, UNTIL = "_s", "_e", "_u"


@dataclass(frozen=True)
class ArrivedTuples:
    """Arrivals of one stream in the order of event time: the useful tuples, and all for the shedder."""

    batch: pa.RecordBatch
    arrivals: Arrivals

    def between(self, begin: int, end: int) -> ArrivedTuples:
        """The arrivals that start in [begin, end)."""
        first, last = np.searchsorted(self.batch[START].to_numpy(), [begin, end]).tolist()
        return ArrivedTuples(
            self.batch[first:last],
            self.arrivals.slice(*np.searchsorted(self.arrivals.ts, [begin, end]).tolist()),
        )


@dataclass(frozen=True)
class Residents:
    """The first `old` tuples were held before; `gone` is when each was evicted, FOREVER if it was not."""

    batch: pa.RecordBatch
    old: int
    gone: IntArray

    @staticmethod
    def of(held: pa.RecordBatch, new: pa.RecordBatch, evicted: Evictions) -> Residents:
        """What was held, then the new tuples, with the evictions among both."""
        whole = concat_batches([held, new])
        gone = np.full(whole.num_rows, FOREVER)
        numbers = whole[ARRIVAL_NUMBER].to_numpy()
        order = np.argsort(numbers)
        gone[order[np.searchsorted(numbers, evicted.number, sorter=order)]] = evicted.at
        return Residents(whole, held.num_rows, gone)

    @cached_property
    def lives(self) -> TupleLives:
        """Lifetimes: a tuple joins at its own instant, admitted or not, and later while it resides."""
        start, end = self.batch[START].to_numpy(), self.batch[END].to_numpy()
        return TupleLives(start, np.minimum(end, np.maximum(self.gone, start + 1)), end)

    @cached_property
    def ends(self) -> IntArray:
        """When each leaves by itself: it expires, or nothing new can match it."""
        ends: IntArray = np.minimum(self.batch[END].to_numpy(), self.batch[UNTIL].to_numpy())
        return ends

    @cached_property
    def leaves(self) -> IntArray:
        """When each is no longer held."""
        return np.minimum(self.ends, self.gone)

    def after(self, instant: int) -> pa.RecordBatch:
        """The tuples that are held after an instant."""
        kept = (self.gone == FOREVER) & (self.leaves > instant)
        return self.batch.take(pa.array(np.flatnonzero(kept)))

    def held_at(self, instants: IntArray) -> IntArray:
        """How many tuples were held at each instant, after its arrivals."""
        admitted = self.gone > self.lives.start
        starts, ends = np.sort(self.lives.start[admitted]), np.sort(self.leaves[admitted])
        return np.searchsorted(starts, instants, "right") - np.searchsorted(ends, instants, "right")


def most_held(residents: Sequence[Residents]) -> int:
    """The most tuples that all windows together held at an instant with arrivals."""
    arrived = [window.lives.start[window.old :] for window in residents]
    instants = np.unique(np.concatenate(arrived))
    if not len(instants):
        return 0
    held = np.sum([window.held_at(instants) for window in residents], axis=0)
    return int(held.max())
