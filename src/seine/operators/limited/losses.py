"""The importance that memory lost in a slice of event time, estimated from the sample of shed tuples.

Law: of each exact result that has an arrival of the slice and is not told, because a tuple that is older than
its latest one was shed before, the first of its latest tuples, in the order of ports, counts its importance,
times the weights of all its shed tuples; tuples that are not in the sample weigh nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.star import Probe
from seine.operators.join.combination import key_columns
from seine.operators.limited.residents import END, START, Residents
from seine.operators.limited.shed_sample import GONE, WEIGHT, Ghosts
from seine.operators.limited.star_combinations import Combinations, Partners, TupleLives, extended
from seine.operators.limited.tokens import Relations
from seine.operators.limited.weighing import importance_of
from seine.operators.state.relation_index import RelationIndex
from seine.rows.delta import FOREVER, concat

if TYPE_CHECKING:
    from seine.operators.limited.limited_node import LimitedNode


@dataclass(frozen=True)
class Shadows:
    """Tuples of one stream as if none had been shed, and when they were; what a shed one weighs."""

    batch: pa.RecordBatch
    gone: np.ndarray
    weight: np.ndarray

    @staticmethod
    def of(residents: Residents, ghosts: Ghosts, fresh: np.ndarray) -> Shadows:
        """Those of a slice, of which some are sampled now with a weight, then ghosts from before."""
        names = residents.batch.schema.names
        return Shadows(
            concat([residents.batch, ghosts.batch.select(names)]),
            np.concatenate([residents.gone, ghosts.batch[GONE].to_numpy()]),
            np.concatenate([fresh, ghosts.batch[WEIGHT].to_numpy()]),
        )

    @cached_property
    def lives(self) -> TupleLives:
        ends = self.batch[END].to_numpy()
        return TupleLives(self.batch[START].to_numpy(), ends, ends)

    def shed(self) -> Shadows:
        """Those that were shed and are in the sample."""
        kept = np.flatnonzero((self.gone != FOREVER) & (self.weight > 0))
        return Shadows(self.batch.take(pa.array(kept)), self.gone[kept], self.weight[kept])


class Losses:
    """Estimates what one join within a memory loses."""

    def __init__(self, node: LimitedNode, relations: Relations) -> None:
        self._star, self._how, self._relations = node.star, node.memory.importance, relations

    def lost(self, residents: Sequence[Residents], shadows: Sequence[Shadows]) -> float:
        """The importance that the arrivals of a slice would have added."""
        # Of two tuples only the older can have been shed, so only sampled tuples need be looked at.
        met = [one.shed() for one in shadows] if len(shadows) == 2 else shadows
        total = 0.0
        for port, own in enumerate(residents):
            number = self._star.streams[port]
            new = np.arange(own.old, own.batch.num_rows)
            lives = shadows[port].lives.take(new)
            start = Combinations(self._star, {number: shadows[port].batch}, {number: new}, lives)
            way = self._star.ways[port]
            partners = [self._partners(probe, met) for probe in way]
            for found in extended(start, way, partners):
                total += self._weighed(found, port, shadows[port], met)
        return total

    def _partners(self, probe: Probe, met: Sequence[Shadows]) -> Partners:
        item = self._star.items[probe.item]
        if item.port is None:
            return Partners(self._relations(item.relation or "", probe.own_key))
        others = met[item.port]
        return Partners(RelationIndex(others.batch, key_columns(others.batch, probe.own_key)), others.lives)

    @np.errstate(over="ignore")
    def _weighed(self, found: Combinations, port: int, own: Shadows, met: Sequence[Shadows]) -> float:
        latest = found.lives.start
        weight, shed = np.ones(found.num_rows), np.zeros(found.num_rows, bool)
        for other, number in enumerate(self._star.streams):
            some, rows = own if other == port else met[other], found.rows[number]
            start = some.lives.start[rows]
            if other < port:
                weight[start == latest] = 0.0  # that one counts it
            if other == port:
                weight[start != latest] = 0.0
            else:
                gone = (some.gone[rows] <= latest) & (start < latest)
                weight *= np.where(gone, some.weight[rows], 1.0)
                shed |= gone
        counted = np.flatnonzero(shed & (weight > 0))
        return float(np.sum(weight[counted] * importance_of(found, self._star, self._how)[counted]))
