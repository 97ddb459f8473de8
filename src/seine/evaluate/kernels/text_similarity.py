"""Kernels of how near two texts are: LEVENSHTEIN and JARO_WINKLER_SIMILARITY; each distinct pair once."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import Levenshtein

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Call
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, as_array, row_count
from seine.evaluate.kernels.spending import spend

_LONGEST_PREFIX = 4  # letters of a common beginning that count
_PREFIX_WEIGHT = 0.1
_AT_ONCE = 64  # pairs of letters that are compared in one step


def jaro_winkler(left: str, right: str) -> float:
    """How like two texts are, from 0 to 1, by letters at about the same place and a common beginning.

    Cites: Spark's JaroWinklerSimilarity (half a transposition counts, which rapidfuzz rounds down)

    >>> round(jaro_winkler("MARTHA", "MARHTA"), 4)
    0.9611
    """
    one, other = _units(left), _units(right)
    jaro = _jaro(one, other)
    most = min(_LONGEST_PREFIX, len(one), len(other))
    common = next((i for i in range(most) if one[i] != other[i]), most)
    return jaro + common * _PREFIX_WEIGHT * (1 - jaro)


def _units(text: str) -> list[int]:
    """The units of a text in UTF-16, which are what Spark compares."""
    return [*memoryview(text.encode("utf-16-le")).cast("H")]


def _jaro(left: list[int], right: list[int]) -> float:
    if left == right:
        return 1.0
    if not left or not right:
        return 0.0
    matches = _matches(left, right)
    if not matches:
        return 0.0
    others = [right[place] for place in sorted(place for _, place in matches)]
    swapped = sum(letter != other for (letter, _), other in zip(matches, others, strict=True)) / 2
    size = len(matches)
    return (size / len(left) + size / len(right) + (size - swapped) / size) / 3


def _matches(left: list[int], right: list[int]) -> list[tuple[int, int]]:
    """Each letter of the left that has one on the right within reach, with the place of the first not taken.

    What is before the reach of one letter is before that of all later ones, so each place is looked at once.
    """
    reach = max(len(left), len(right)) // 2 - 1
    free: dict[int, deque[int]] = defaultdict(deque)
    for place, letter in enumerate(right):
        free[letter].append(place)
    matches = []
    for i, letter in enumerate(left):
        places = free.get(letter, ())
        while places and places[0] < i - reach:
            places.popleft()
        if places and places[0] <= i + reach:
            matches.append((letter, places.popleft()))
    return matches


class _TextPairs:
    """The distinct pairs of two columns of texts in which neither is NULL."""

    def __init__(self, args: Sequence[Datum]) -> None:
        size = row_count(args)
        sides = [pc.dictionary_encode(as_array(arg, size)) for arg in args]
        width = max(1, len(sides[1].dictionary))
        codes = [side.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) for side in sides]
        self._known = np.broadcast_to(all_valid(args), size)
        pairs, self._inverse = np.unique((codes[0] * width + codes[1])[self._known], return_inverse=True)
        self.dictionaries = [side.dictionary for side in sides]
        self.places: list[IntArray] = [pairs // width, pairs % width]

    def values(self, function: Callable[[str, str], float], type_: pa.DataType) -> pa.Array:
        """A function of each pair, in the rows that have it."""
        texts = [dictionary.to_pylist() for dictionary in self.dictionaries]
        pairs = zip(*(places.tolist() for places in self.places), strict=True)
        results = pa.array([function(texts[0][one], texts[1][other]) for one, other in pairs], type_)
        at = np.zeros(len(self._known), np.int64)
        at[self._known] = self._inverse
        return results.take(pa.array(at, mask=~self._known))


def _distances(args: Sequence[Datum]) -> pa.Array:
    """The fewest insertions, deletions and changes of a letter that make one text of the other."""
    pairs = _TextPairs(args)
    letters = [pc.utf8_length(one).to_numpy().astype(np.int64) for one in pairs.dictionaries]
    left, right = (lengths[places] for lengths, places in zip(letters, pairs.places, strict=True))
    spend(steps=int((left * -(-right // _AT_ONCE)).sum()))
    return pairs.values(Levenshtein.distance, pa.int32())


def _levenshtein(call: Call, args: Sequence[Datum]) -> pa.Array:
    """LEVENSHTEIN(a, b [, most]): -1 where the distance is greater than `most`, of which NULL is 0."""
    if len(args) == 2:
        return _distances(args)
    left, right, most = (as_array(arg, row_count(args)) for arg in args)
    distances = _distances([left, right])
    near = pc.less_equal(distances, pc.fill_null(most, 0))
    return pc.if_else(near, distances, pa.scalar(-1, pa.int32()))


KERNELS: dict[str, Kernel] = {
    "levenshtein": _levenshtein,
    "jaro_winkler_similarity": lambda _, args: _TextPairs(args).values(jaro_winkler, pa.float64()),
}
