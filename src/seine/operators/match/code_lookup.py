"""Hash indexes over integer codes: of one column, and of a composite key of several columns.

Dense codes are found in a direct-address table. Sparse codes are found by binary search, behind a hash filter
(like a Bloom filter with one hash function and eight slots or more a code) that rejects most other values.

    code ─> dense: table[code - first] ─> place
         ─> sparse: filter[hash(code)] ─0─> absent
                                       ─1─> binary search ─> place

Law: `find` gives exactly the values that are among the codes, each with the place of its code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray, UIntArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: the multiplier of the hash
_SLOTS_PER_CODE = 8  # slots of a direct-address table, or of a filter, for each code
_ALWAYS_DIRECT_SLOTS = 1 << 12  # slots up to which a direct-address table is always worth it
_MOST_VALUES_UNFILTERED = 256  # probed values up to which binary search is cheaper without the filter


class CodeIndex:
    """The place of a code among distinct sorted codes."""

    def __init__(self, codes: IntArray) -> None:
        self._codes = codes
        span = int(codes[-1]) - int(codes[0]) + 1 if len(codes) else 0
        self._addresses: IntArray | None = None
        if span <= max(_ALWAYS_DIRECT_SLOTS, _SLOTS_PER_CODE * len(codes)):
            self._addresses = np.full(span, -1, np.int64)
            self._addresses[codes - codes[:1]] = np.arange(len(codes))
        else:
            bits = (_SLOTS_PER_CODE * len(codes)).bit_length()
            self._shift = np.uint64(64 - bits)
            self._filter = np.zeros(1 << bits, bool)
            self._filter[self._slots(codes)] = True

    def __len__(self) -> int:
        return len(self._codes)

    def find(self, values: IntArray) -> tuple[IntArray, IntArray]:
        """The probed values that are among the codes, ascending by position, and the places of their codes.

        >>> known, places = CodeIndex(np.array([3, 7])).find(np.array([7, 5, 3, -1]))
        >>> known.tolist(), places.tolist()
        ([0, 2], [1, 0])
        """
        if self._addresses is not None:
            return self._by_address(values, self._addresses)
        if len(values) > _MOST_VALUES_UNFILTERED:
            maybe = np.flatnonzero(self._filter[self._slots(values)])
            known, places = self._search(values[maybe])
            return maybe[known], places
        return self._search(values)

    def may_have(self, values: IntArray) -> BoolArray:
        """A mask of the values that may be among the codes: no false negatives, few false positives."""
        if self._addresses is None:
            return self._filter[self._slots(values)]
        mask = np.zeros(len(values), bool)
        mask[self.find(values)[0]] = True
        return mask

    def _slots(self, values: IntArray) -> UIntArray:
        """The filter slot of each value: the leading bits of a multiplicative hash."""
        return (values.view(np.uint64) * _GOLDEN) >> self._shift

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
    """Boxes grouped by a composite key of codes; box b is in group of[b], below `count`."""

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
        """Probe with rows: those that have a group, ascending (None: all of them), and their groups."""
        if not columns:
            return None, np.zeros(rows, np.int64)
        kept, groups = self.indices[0].find(columns[0])
        for codes, index, pairs in zip(columns[1:], self.indices[1:], self._pairs, strict=True):
            known, places = index.find(codes[kept])
            kept, groups = kept[known], groups[known] * len(index) + places
            known, groups = pairs.find(groups)
            kept = kept[known]
        return kept, groups
