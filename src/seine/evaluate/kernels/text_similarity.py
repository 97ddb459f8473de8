"""Kernels of how near two texts are: LEVENSHTEIN and JARO_WINKLER_SIMILARITY; each distinct pair once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, as_array, row_count

_LONGEST_PREFIX = 4  # letters of a common beginning that count
_PREFIX_WEIGHT = 0.1
_MOST_STEPS = 2**24  # of the table of two texts; the distance of longer ones is NULL


def edit_distance(left: str, right: str) -> int | None:
    """The fewest insertions, deletions and changes of a letter that make one text of the other.

    Law: d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + (left[i] != right[j])), a row at a time;
    along a row the least of d(i, j-1) + 1 is a running minimum of d - j.

    >>> edit_distance("kitten", "sitting")
    3
    """
    if len(left) * len(right) > _MOST_STEPS:
        return None
    letters = np.array([*right], dtype="U1")
    steps = np.arange(len(right) + 1)
    row = steps
    for i, letter in enumerate(left, 1):
        through = np.minimum(row[1:] + 1, row[:-1] + (letters != letter))
        row = np.minimum.accumulate(np.concatenate([[i], through]) - steps) + steps
    return int(row[-1])


def jaro_winkler(left: str, right: str) -> float:
    """How like two texts are, from 0 to 1, by letters at about the same place and a common beginning.

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
    reach = max(len(left), len(right)) // 2 - 1
    taken = [False] * len(right)
    matched = []
    for i, letter in enumerate(left):
        places = range(max(0, i - reach), min(len(right), i + reach + 1))
        place = next((j for j in places if not taken[j] and right[j] == letter), None)
        if place is not None:
            taken[place] = True
            matched.append(letter)
    if not matched:
        return 0.0
    others = [letter for letter, is_taken in zip(right, taken, strict=True) if is_taken]
    swapped = sum(a != b for a, b in zip(matched, others, strict=True)) / 2
    size = len(matched)
    return (size / len(left) + size / len(right) + (size - swapped) / size) / 3


def _of_pairs(
    function: Callable[[str, str], float | None], args: Sequence[Datum], type_: pa.DataType
) -> pa.Array:
    """A function of each distinct pair of texts; NULL where one is."""
    size = row_count(args)
    sides = [pc.dictionary_encode(as_array(arg, size)) for arg in args]
    width = max(1, len(sides[1].dictionary))
    codes = [side.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) for side in sides]
    known = np.broadcast_to(all_valid(args), size)
    pairs, inverse = np.unique((codes[0] * width + codes[1])[known], return_inverse=True)
    texts = [side.dictionary.to_pylist() for side in sides]
    results = pa.array(
        [function(texts[0][pair // width], texts[1][pair % width]) for pair in pairs.tolist()], type_
    )
    at = np.zeros(size, np.int64)
    at[known] = inverse
    return results.take(pa.array(at, mask=~known))


def _levenshtein(call: Call, args: Sequence[Datum]) -> pa.Array:
    """LEVENSHTEIN(a, b [, most]): -1 where the distance is greater than `most`, of which NULL is 0."""
    if len(args) == 2:
        return _of_pairs(edit_distance, args, pa.int32())
    left, right, most = (as_array(arg, row_count(args)) for arg in args)
    distances = _of_pairs(edit_distance, [left, right], pa.int32())
    near = pc.less_equal(distances, pc.fill_null(most, 0))
    return pc.if_else(near, distances, pa.scalar(-1, pa.int32()))


KERNELS: dict[str, Kernel] = {
    "levenshtein": _levenshtein,
    "jaro_winkler_similarity": lambda _, args: _of_pairs(jaro_winkler, args, pa.float64()),
}
