"""An estimate of what shedding lost in a slice of event time: a Horvitz-Thompson sum over a sample.

Each shed tuple is in the sample with a known chance and weighs its inverse, so the sum over the lost results
that the sample would have made is unbiased.

Law: an exact result with an arrival of the slice is lost if a tuple that is older than its latest one was
shed before. It counts once, for the first of its latest tuples in the order of ports, with its importance
times the weights of all its shed tuples; tuples that are not in the sample weigh 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import FloatArray, IntArray
from seine.algebra.star import Probe
from seine.operators.join.combination import key_columns
from seine.operators.limited.residents import END, START, Residents
from seine.operators.limited.shed_sample import GONE, WEIGHT, Ghosts
from seine.operators.limited.star_combinations import (
    Combinations,
    Partners,
    TupleLives,
    extended,
    importance_of,
)
from seine.operators.limited.tokens import Relations
from seine.operators.state.relation_index import RelationIndex
from seine.rows.delta import FOREVER, concat_batches

if TYPE_CHECKING:
    from seine.operators.limited.limited_node import LimitedNode


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
