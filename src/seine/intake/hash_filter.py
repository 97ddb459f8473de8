"""Approximate set membership of hashes: a Bloom filter, and one whose members count from a position on.

Two groups of bits of a hash are tested, the second only where the first one matches. So nearly all hashes
that are not in the set cost one test. There are false positives, but no false negatives.
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import AnyArray, BoolArray, IntArray

_SHIFTS = (np.int64(0), np.int64(31))  # where the groups of bits begin
_BITS = 1 << np.arange(8, dtype=np.uint8)


class BloomFilter:
    """A Bloom filter over hashes that can grow, with 4 to 16 bytes for each of many hashes.

    >>> members = BloomFilter(np.array([5, 7]))
    >>> members.add(np.array([9]))
    >>> members.passing(np.array([1, 9, 2, 5])).tolist()
    [1, 3]
    """

    def __init__(self, hashes: IntArray) -> None:
        self.room = max(2 * len(hashes), 64)  # hashes; with more there would be too many false positives
        self.count = 0
        size = 1 << (32 * self.room - 1).bit_length()
        self._bits = np.zeros(size >> 3, np.uint8)
        self._mask = np.int64(size - 1)
        self.add(hashes)

    def add(self, hashes: IntArray) -> None:
        """Add hashes to the set."""
        self.count += len(hashes)
        for shift in _SHIFTS:
            number = (hashes >> shift) & self._mask
            np.bitwise_or.at(self._bits, number >> 3, _BITS[number & 7])

    def passing(self, hashes: IntArray) -> IntArray:
        """The places of the hashes that may be in the set."""
        passed = np.flatnonzero(self._hits(hashes))
        suspects: IntArray = passed[self._hits(hashes[passed] >> _SHIFTS[1])]
        return suspects

    def _hits(self, hashes: IntArray) -> BoolArray:
        number = hashes & self._mask
        hits: BoolArray = (self._bits[number >> 3] & _BITS[number & 7]) != 0
        return hits


def passing_since(made: IntArray, since: IntArray, hashes: IntArray) -> AnyArray:
    """The positions of the hashes that may equal a member which counts for their position.

    Member `made[i]` counts from position `since[i]` on; `since` ascends. A table has, for each value of the
    tested bits, the first position that counts.

    >>> passing_since(np.array([8, 9]), np.array([1, 3]), np.array([8, 8, 9, 9, 1])).tolist()
    [1, 3]
    """
    size = 1 << (16 * len(made)).bit_length()
    mask, never = np.int64(size - 1), np.iinfo(np.int32).max
    places: AnyArray = np.arange(len(hashes), dtype=np.int32)
    for shift in _SHIFTS:
        first = np.full(size, never, np.int32)
        first[((made >> shift) & mask)[::-1]] = since[::-1]  # the last write wins: the first position
        candidates = hashes if len(places) == len(hashes) else hashes[places]
        places = places[first[(candidates >> shift) & mask] <= places]
    return places
