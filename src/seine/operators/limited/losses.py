"""An estimate of what shedding lost in a slice of event time: a Horvitz-Thompson sum over a sample.

Each shed tuple is in the sample with a known chance and weighs its inverse, so the sum over the lost results
that the sample would have made is unbiased.

Law: an exact result with an arrival of the slice is lost if a tuple that is older than its latest one was
shed before. It counts once, for the first of its latest tuples in the order of ports, with its importance
times the weights of all its shed tuples; tuples that are not in the sample weigh 0.

A sample of shed tuples (ghost entries), kept to estimate what they would have joined with.

A result is lost if a tuple older than its latest one was shed before that came. A shed tuple is sampled with
a chance of 2**-level, by a hash of its number, and weighs the inverse of its chance; a lost combination
weighs the product over its shed tuples.

Law: the sum of weight times importance over the lost combinations of sampled tuples is an unbiased estimate
of the importance that was lost.

The sample is small beside the memory. When it grows too large the chance is halved, and half of the sample is
dropped at random; so the estimate, and nothing else, may depend on how the input was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, FloatArray, IntArray
from seine.algebra.star import Probe
from seine.operators.join.combination import key_columns
from seine.operators.limited.star_combinations import (
    END,
    START,
    UNTIL,
    Combinations,
    Partners,
    Residents,
    TupleLives,
    extended,
    importance_of,
)
from seine.operators.limited.tokens import Relations
from seine.operators.state.relation_index import RelationIndex
from seine.rows.delta import ARRIVAL_NUMBER, FOREVER, concat_batches
from seine.rows.hashing import mix

if TYPE_CHECKING:
    from seine.operators.limited.limited_join import LimitedNode


@dataclass(frozen=True)
class Shadows:
    """The tuples of one stream as if none had been shed; when each was, and its sampling weight."""

    batch: pa.RecordBatch
    gone: IntArray
    weight: FloatArray

    @staticmethod
    def of(residents: Residents, ghosts: Ghosts, fresh: FloatArray) -> Shadows:
        """The tuples of a slice, with the weights `fresh`, then the sampled ones that were shed before."""
        names = residents.batch.schema.names
        return Shadows(
            concat_batches([residents.batch, ghosts.batch.select(names)]),
            np.concatenate([residents.gone, ghosts.batch[GONE].to_numpy()]),
            np.concatenate([fresh, ghosts.batch[WEIGHT].to_numpy()]),
        )

    @cached_property
    def lives(self) -> TupleLives:
        """Lifetimes as if none had been shed."""
        ends = self.batch[END].to_numpy()
        return TupleLives(self.batch[START].to_numpy(), ends, ends)

    def shed(self) -> Shadows:
        """The tuples that were shed and are in the sample."""
        kept = np.flatnonzero((self.gone != FOREVER) & (self.weight > 0))
        return Shadows(self.batch.take(pa.array(kept)), self.gone[kept], self.weight[kept])


class Losses:
    """Estimates the losses of one memory-limited join."""

    def __init__(self, node: LimitedNode, relations: Relations) -> None:
        self._star, self._how, self._relations = node.star, node.memory.importance, relations

    def lost(self, residents: Sequence[Residents], shadows: Sequence[Shadows]) -> float:
        """The importance of the results that the arrivals of a slice would have made with shed tuples."""
        # Of two tuples only the older can have been shed, so only sampled tuples need be looked at.
        met = [one.shed() for one in shadows] if len(shadows) == 2 else shadows
        total = 0.0
        for port, window in enumerate(residents):
            number = self._star.streams[port]
            new = np.arange(window.old, window.batch.num_rows)
            lives = shadows[port].lives.take(new)
            start = Combinations(self._star, {number: shadows[port].batch}, {number: new}, lives)
            probes = self._star.probe_orders[port]
            partners = [self._partners(probe, met) for probe in probes]
            for combinations in extended(start, probes, partners):
                total += self._weighed(combinations, port, shadows[port], met)
        return total

    def _partners(self, probe: Probe, met: Sequence[Shadows]) -> Partners:
        item = self._star.items[probe.item]
        if item.port is None:
            return Partners(self._relations(item.relation or "", probe.own_key))
        others = met[item.port]
        return Partners(RelationIndex(others.batch, key_columns(others.batch, probe.own_key)), others.lives)

    @np.errstate(over="ignore")
    def _weighed(
        self, combinations: Combinations, port: int, arrivals: Shadows, met: Sequence[Shadows]
    ) -> float:
        """The sum of weight times importance over the combinations that are lost and count for this port."""
        latest = combinations.lives.start
        weight, shed = np.ones(combinations.num_rows), np.zeros(combinations.num_rows, bool)
        for other, number in enumerate(self._star.streams):
            tuples, rows = arrivals if other == port else met[other], combinations.rows[number]
            start = tuples.lives.start[rows]
            if other < port:
                weight[start == latest] = 0.0  # it counts for that port
            if other == port:
                weight[start != latest] = 0.0
            else:
                gone = (tuples.gone[rows] <= latest) & (start < latest)
                weight *= np.where(gone, tuples.weight[rows], 1.0)
                shed |= gone
        counted = np.flatnonzero(shed & (weight > 0))
        importance = importance_of(combinations, self._star, self._how)
        return float(np.sum(weight[counted] * importance[counted]))


GONE, WEIGHT = "_g", "_w"
LEAST_GHOSTS = 16  # ghosts of a stream that are always worth their memory
_CAPACITY_PER_GHOST = 8  # beyond that, tuples of capacity for each ghost


def most_ghosts(capacity: int) -> int:
    """How many ghosts a stream may have beside a window of a capacity."""
    return max(LEAST_GHOSTS, capacity // _CAPACITY_PER_GHOST)


@dataclass(frozen=True)
class Ghosts:
    """Sampled shed tuples of one stream, with when they were shed (`_g`) and what they weigh (`_w`)."""

    batch: pa.RecordBatch

    @staticmethod
    def sampled(residents: Residents, weights: FloatArray) -> Ghosts:
        """The tuples that were shed before they would have left by themselves, and have a weight."""
        chosen = np.flatnonzero((residents.gone < residents.ends) & (weights > 0))
        batch = residents.batch.take(pa.array(chosen))
        batch = batch.append_column(GONE, pa.array(residents.gone[chosen]))
        return Ghosts(batch.append_column(WEIGHT, pa.array(weights[chosen])))

    @staticmethod
    def none(residents: Residents) -> Ghosts:
        """No tuples, of the same schema."""
        return Ghosts.sampled(residents, np.zeros(residents.batch.num_rows))

    @property
    def count(self) -> int:
        return int(self.batch.num_rows)

    def and_these(self, others: Ghosts) -> Ghosts:
        return Ghosts(concat_batches([self.batch, others.batch]))

    def after(self, instant: int) -> Ghosts:
        """The ghosts that would still be held after an instant."""
        ends = np.minimum(self.batch[END].to_numpy(), self.batch[UNTIL].to_numpy())
        return Ghosts(self.batch.take(pa.array(np.flatnonzero(ends > instant))))

    def halved(self, draw: int) -> Ghosts:
        """About half of the ghosts, each with twice its weight; `draw` numbers the random choice."""
        kept = self.batch.take(pa.array(np.flatnonzero(_lot(self.batch[ARRIVAL_NUMBER].to_numpy(), draw))))
        weights = pa.array(2.0 * kept[WEIGHT].to_numpy())
        return Ghosts(kept.set_column(kept.schema.get_field_index(WEIGHT), WEIGHT, weights))


def lots(numbers: IntArray, port: int, level: int) -> BoolArray:
    """Which tuples of a stream are drawn, each with chance 2**-level, independently in each stream."""
    drawn = np.ones(len(numbers), bool)
    for one in range(level):
        drawn &= _lot(numbers, -1 - (port << 6) - one)
    return drawn


def _lot(numbers: IntArray, draw: int) -> BoolArray:
    """A fair coin for each tuple, independent in each draw: one bit of a hash."""
    salt = mix(np.array([draw], np.int64).view(np.uint64))
    heads: BoolArray = mix(numbers.view(np.uint64) ^ salt) >> np.uint64(63) == 0
    return heads
