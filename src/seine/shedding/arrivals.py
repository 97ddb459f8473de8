"""What a shedder is told of tuples, and what it answers.

Two tuples match as often as they carry the same *token*. Of streams that are joined through a
relation, a token is a relation tuple, and a stream tuple carries those that it joins with and
that are active at its timestamp: so a result of both tuples is a token that both carry
(formula 6). Of streams that are joined directly, a token is a key, and every tuple has one.

Cites: STAR 2.2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FOREVER = np.iinfo(np.int64).max

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Arrivals:
    """Tuples of one stream, in the order of (timestamp, number).

    `number` tells tuples of a stream apart and grows with every arrival. `expiry` is the end of the
    window, `until` the latest end of the relation tuples that it carries: from then on it matches
    nothing new (8). The tokens of tuple i are `tokens[offsets[i] : offsets[i + 1]]`; one that has none
    never enters the window.

    Cites: STAR 3.2
    """

    number: Ints
    ts: Ints
    expiry: Ints
    until: Ints
    importance: Floats
    offsets: Ints
    tokens: Ints

    def __post_init__(self) -> None:
        count = len(self.number)
        assert all(len(column) == count for column in (self.ts, self.expiry, self.until, self.importance))
        assert len(self.offsets) == count + 1
        assert not count or np.all(np.diff(self.ts) >= 0), "not in the order of event time"

    def __len__(self) -> int:
        return len(self.number)

    def slice(self, begin: int, end: int) -> Arrivals:
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
    def keyed(number: Ints, ts: Ints, expiry: Ints, keys: Ints, importance: Floats) -> Arrivals:
        """Tuples of a stream that is joined directly: the token of each is its key."""
        until = np.full(len(number), FOREVER, np.int64)
        return Arrivals(number, ts, expiry, until, importance, np.arange(len(number) + 1), keys)


@dataclass(frozen=True)
class Evictions:
    """Tuples of one stream that memory pushed out, or kept out: `at` is then their own timestamp.

    A tuple resides in its window during [ts, at), so a pair is reported iff both came in the same
    instant or the older still resides at the timestamp of the younger. What leaves because it
    expired, or because nothing can match it any more, is not among them.
    """

    number: Ints
    at: Ints
