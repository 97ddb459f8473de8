"""Which of many hashes may be among some others: nearly all that are not are known at once.

Two groups of bits of a hash are looked at, the second only where the first says perhaps. So a hash that is
not there costs a step, and few of them pass. A hash that is there always passes.
"""

from __future__ import annotations

import numpy as np

from seine.rows.arrays import Bools, Ints

_SHIFTS = (np.int64(0), np.int64(31))  # where the groups of bits begin
_BITS = 1 << np.arange(8, dtype=np.uint8)


class Sieve:
    """A growing set of hashes, in 4 to 16 bytes for each if they are many (a Bloom filter).

    >>> sieve = Sieve(np.array([5, 7]))
    >>> sieve.add(np.array([9]))
    >>> sieve.passing(np.array([1, 9, 2, 5])).tolist()
    [1, 3]
    """

    def __init__(self, hashes: Ints) -> None:
        self.room = max(2 * len(hashes), 64)  # hashes; more of them would let too much pass
        self.count = 0
        size = 1 << (32 * self.room - 1).bit_length()
        self._bits = np.zeros(size >> 3, np.uint8)
        self._mask = np.int64(size - 1)
        self.add(hashes)

    def add(self, hashes: Ints) -> None:
        self.count += len(hashes)
        for shift in _SHIFTS:
            number = (hashes >> shift) & self._mask
            np.bitwise_or.at(self._bits, number >> 3, _BITS[number & 7])

    def passing(self, hashes: Ints) -> Ints:
        """The places of the hashes that may be in the set."""
        passed = np.flatnonzero(self._hits(hashes))
        return passed[self._hits(hashes[passed] >> _SHIFTS[1])]

    def _hits(self, hashes: Ints) -> Bools:
        number = hashes & self._mask
        hits: Bools = (self._bits[number >> 3] & _BITS[number & 7]) != 0
        return hits


def passing_since(made: Ints, since: Ints, hashes: Ints) -> Ints:
    """The places of the hashes of which an equal one may have been made for this place or an earlier one.

    `since` ascends: hash i of `made` counts from the place since[i] on. A table has for each value of some
    bits the first place that counts.

    >>> passing_since(np.array([8, 9]), np.array([1, 3]), np.array([8, 8, 9, 9, 1])).tolist()
    [1, 3]
    """
    size = 1 << (16 * len(made)).bit_length()
    mask, never = np.int64(size - 1), np.iinfo(np.int32).max
    places: Ints = np.arange(len(hashes), dtype=np.int32)
    for shift in _SHIFTS:
        first = np.full(size, never, np.int32)
        first[((made >> shift) & mask)[::-1]] = since[::-1]  # what is written last is the first of all
        suspects = hashes if len(places) == len(hashes) else hashes[places]
        places = places[first[(suspects >> shift) & mask] <= places]
    return places
