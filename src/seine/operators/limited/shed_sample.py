"""A sample of shed tuples (ghost entries), kept to estimate what they would have joined with.

A result is lost if a tuple older than its latest one was shed before that came. A shed tuple is sampled with
a chance of 2**-level, by a hash of its number, and weighs the inverse of its chance; a lost combination
weighs the product over its shed tuples.

Law: the sum of weight times importance over the lost combinations of sampled tuples is an unbiased estimate
of the importance that was lost.

The sample is small beside the memory. When it grows too large the chance is halved, and half of the sample is
dropped at random; so the estimate, and nothing else, may depend on how the input was cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, FloatArray, IntArray
from seine.operators.limited.residents import END, UNTIL, Residents
from seine.rows.delta import ARRIVAL_NUMBER, concat_batches
from seine.rows.hashing import mix

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
