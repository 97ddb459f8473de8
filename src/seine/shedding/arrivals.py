"""The input and output of a shedder: arrivals with their join keys as tokens, and evictions.

Two tuples join as often as they have *tokens* in common. Of streams that are joined through a relation, a
token is a relation tuple, and a stream tuple has those that it joins with and that are active at its
timestamp: so a result of both tuples is a token that both have (formula 6). Of streams that are joined
directly, a token is a key, and every tuple has one.

Cites: STAR 2.2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import FloatArray, IntArray

FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Arrivals:
    """Tuples of one stream, in the order of (timestamp, number).

    `number` identifies a tuple of the stream and grows with every arrival. `expiry` is the end of the window,
    `until` the latest end of the relation tuples that are its tokens: from then on it matches nothing new
    (8). The tokens of tuple i are `tokens[offsets[i] : offsets[i + 1]]`; a tuple without one never enters
    the window.

    Cites: STAR 3.2
    """

    number: IntArray
    ts: IntArray
    expiry: IntArray
    until: IntArray
    importance: FloatArray
    offsets: IntArray
    tokens: IntArray

    def __post_init__(self) -> None:
        count = len(self.number)
        assert all(len(column) == count for column in (self.ts, self.expiry, self.until, self.importance))
        assert len(self.offsets) == count + 1
        assert not count or np.all(np.diff(self.ts) >= 0), "not in the order of event time"

    def __len__(self) -> int:
        return len(self.number)

    def slice(self, begin: int, end: int) -> Arrivals:
        """The arrivals from one place up to another."""
        return Arrivals(
            self.number[begin:end],
            self.ts[begin:end],
            self.expiry[begin:end],
            self.until[begin:end],
            self.importance[begin:end],
            self.offsets[begin : end + 1],
            self.tokens,
        )

    @staticmethod
    def keyed(
        number: IntArray, ts: IntArray, expiry: IntArray, keys: IntArray, importance: FloatArray
    ) -> Arrivals:
        """Tuples of a stream that is joined directly: the token of each is its key."""
        until = np.full(len(number), FOREVER, np.int64)
        return Arrivals(number, ts, expiry, until, importance, np.arange(len(number) + 1), keys)


@dataclass(frozen=True)
class Evictions:
    """Evicted tuples of one stream, and when; for one that was never admitted, `at` is its timestamp.

    Law: a tuple resides in its window during [ts, at), so a pair is emitted iff both arrived in the same
    instant or the older still resides at the timestamp of the younger. Tuples that leave because they
    expired, or because nothing can match them any more, are not among the evicted.
    """

    number: IntArray
    at: IntArray
