"""What was given up, estimated: a sample of the tuples that memory shed lives on, to see what it would meet.

A result is lost if a tuple older than its latest one was shed before that came. A shed tuple is sampled with
some chance, by a hash of its number, and weighs the inverse of that chance; a lost combination weighs the
product over its shed tuples. So the sum of weight times importance over the lost combinations of sampled
tuples is, on average, the importance that was lost: no more and no less, whatever the data.

The sample is small beside the memory. When it grows too large the chance is halved, and half of it is dropped
by lot; so the estimate, and nothing else, may depend on how the input was cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.limited.residents import END, UNTIL, Residents
from seine.rows.delta import NUMBER, concat
from seine.rows.hashing import mix

GONE, WEIGHT = "_g", "_w"
FEWEST = 16  # ghosts of a stream that are always worth their memory
_PART = 8  # at most this part of the memory, else


def most_ghosts(capacity: int) -> int:
    """How many ghosts a stream may have beside a window of some capacity."""
    return max(FEWEST, capacity // _PART)


@dataclass(frozen=True)
class Ghosts:
    """Shed tuples of one stream: what they were, when they went (`_g`), and what they weigh (`_w`)."""

    batch: pa.RecordBatch

    @staticmethod
    def sampled(residents: Residents, weights: IntArray) -> Ghosts:
        """The tuples that were shed before their time, as far as they weigh something."""
        chosen = np.flatnonzero((residents.gone < residents.ends) & (weights > 0))
        batch = residents.batch.take(pa.array(chosen))
        batch = batch.append_column(GONE, pa.array(residents.gone[chosen]))
        return Ghosts(batch.append_column(WEIGHT, pa.array(weights[chosen])))

    @staticmethod
    def none(residents: Residents) -> Ghosts:
        return Ghosts.sampled(residents, np.zeros(residents.batch.num_rows))

    @property
    def count(self) -> int:
        return int(self.batch.num_rows)

    def and_these(self, others: Ghosts) -> Ghosts:
        return Ghosts(concat([self.batch, others.batch]))

    def after(self, instant: int) -> Ghosts:
        """Those that would still be held."""
        ends = np.minimum(self.batch[END].to_numpy(), self.batch[UNTIL].to_numpy())
        return Ghosts(self.batch.take(pa.array(np.flatnonzero(ends > instant))))

    def halved(self, draw: int) -> Ghosts:
        """About half of them, each of which weighs twice as much; no draw is used twice."""
        kept = self.batch.take(pa.array(np.flatnonzero(_lot(self.batch[NUMBER].to_numpy(), draw))))
        weights = pa.array(2.0 * kept[WEIGHT].to_numpy())
        return Ghosts(kept.set_column(kept.schema.get_field_index(WEIGHT), WEIGHT, weights))


def lots(numbers: IntArray, port: int, level: int) -> IntArray:
    """Who of a stream's tuples is drawn, with chance 2**-level; streams draw apart."""
    drawn = np.ones(len(numbers), bool)
    for one in range(level):
        drawn &= _lot(numbers, -1 - (port << 6) - one)
    return drawn


def _lot(numbers: IntArray, draw: int) -> IntArray:
    """An even chance for each tuple, another one in each draw."""
    salt = mix(np.array([draw], np.int64).view(np.uint64))
    return mix(numbers.view(np.uint64) ^ salt) >> np.uint64(63) == 0
