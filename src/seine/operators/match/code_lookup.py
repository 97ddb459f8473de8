"""Finds codes among those of a table: by address, or past a sieve that few strangers get through."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seine.algebra.arrays import IntArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_SPARE = 8  # places of an address table or a sieve for each code
_ADDRESSES = 1 << 12  # an address table of so many places is always worth it
_SMALL = 256  # values for which a binary search is cheaper than a sieve


class CodeIndex:
    """The place of a code among distinct codes, which are sorted."""

    def __init__(self, codes: IntArray) -> None:
        self._codes = codes
        span = int(codes[-1]) - int(codes[0]) + 1 if len(codes) else 0
        self._addresses: IntArray | None = None
        if span <= max(_ADDRESSES, _SPARE * len(codes)):
            self._addresses = np.full(span, -1, np.int64)
            self._addresses[codes - codes[:1]] = np.arange(len(codes))
        else:
            bits = (_SPARE * len(codes)).bit_length()
            self._shift = np.uint64(64 - bits)
            self._sieve = np.zeros(1 << bits, bool)
            self._sieve[self._slots(codes)] = True

    def __len__(self) -> int:
        return len(self._codes)

    def find(self, values: IntArray) -> tuple[IntArray, IntArray]:
        """Which of the values are known, ascending, and the places of their codes.

        >>> known, places = CodeIndex(np.array([3, 7])).find(np.array([7, 5, 3, -1]))
        >>> known.tolist(), places.tolist()
        ([0, 2], [1, 0])
        """
        if self._addresses is not None:
            return self._by_address(values, self._addresses)
        if len(values) > _SMALL:
            maybe = np.flatnonzero(self._sieve[self._slots(values)])
            known, places = self._search(values[maybe])
            return maybe[known], places
        return self._search(values)

    def has(self, values: IntArray) -> IntArray:
        """A mask of the values that may be known; few others are in it."""
        if self._addresses is None:
            return self._sieve[self._slots(values)]
        mask = np.zeros(len(values), bool)
        mask[self.find(values)[0]] = True
        return mask

    def _slots(self, values: IntArray) -> IntArray:
        return (values.view(np.uint64) * _STEP) >> self._shift

    def _by_address(self, values: IntArray, addresses: IntArray) -> tuple[IntArray, IntArray]:
        if not len(self._codes):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        offsets = (values - self._codes[0]).view(np.uint64)  # modulo 2**64: one before the first is far away
        near = np.flatnonzero(offsets < np.uint64(len(addresses)))
        places = addresses[offsets[near].view(np.int64)]
        known = np.flatnonzero(places >= 0)
        return near[known], places[known]

    def _search(self, values: IntArray) -> tuple[IntArray, IntArray]:
        places = np.minimum(np.searchsorted(self._codes, values), len(self._codes) - 1)
        known = np.flatnonzero(self._codes[places] == values)
        return known, places[known]


class CodeGroups:
    """Boxes by their codes in several columns; `of[b]` is the group of box b, `count` how many there are."""

    def __init__(self, columns: Sequence[IntArray], boxes: int) -> None:
        self.of = np.zeros(boxes, np.int64)
        self.count = 1
        self.indices: list[CodeIndex] = []  # of each column alone
        self._pairs: list[CodeIndex] = []  # of the groups so far with each column but the first
        for codes in columns:
            distinct, places = np.unique(codes, return_inverse=True)
            if self.indices:
                distinct_pairs, places = np.unique(self.of * len(distinct) + places, return_inverse=True)
                self._pairs.append(CodeIndex(distinct_pairs))
            self.indices.append(CodeIndex(distinct))
            self.of, self.count = places, len(self._pairs[-1] if self._pairs else distinct)

    def find(self, columns: Sequence[IntArray], rows: int) -> tuple[IntArray | None, IntArray]:
        """The rows that have a group, ascending (None: all of them), and their groups."""
        if not columns:
            return None, np.zeros(rows, np.int64)
        kept, groups = self.indices[0].find(columns[0])
        for codes, index, pairs in zip(columns[1:], self.indices[1:], self._pairs, strict=True):
            known, places = index.find(codes[kept])
            kept, groups = kept[known], groups[known] * len(index) + places
            known, groups = pairs.find(groups)
            kept = kept[known]
        return kept, groups
