"""Vectorised 64-bit hashes of key columns, the same in every process and version.

Law: equal keys have equal hashes. A single integer-like key column is hashed by a bijection, so
that equal hashes also mean equal keys. INT, BIGINT and DECIMAL of scale 0 agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, FloatArray, IntArray, UIntArray
from seine.algebra.types import Kind, Type
from seine.rows.column_arrays import buffer_of

NULL_HASH = np.int64(0x5E1AE5E1AE5E1AE5)
_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)  # the increment of splitmix64
_MAX_FOLDED_BYTES = 128  # a longer string is hashed by BLAKE2 instead of word by word
_BIJECTIVE_KINDS = {
    Kind.BOOLEAN,
    Kind.INT,
    Kind.BIGINT,
    Kind.DOUBLE,
    Kind.DATE,
    Kind.TIMESTAMP,
    Kind.DAY_TIME,
    Kind.YEAR_MONTH,
}


def hash_columns(arrays: Sequence[pa.Array], num_rows: int) -> IntArray:
    """The hash of each row over the columns in order; NULL hashes like a distinct value.

    >>> hash_columns([pa.array([1, 2, 1])], 3).tolist()
    [-7995527694508729151, -7541218347953203506, -7995527694508729151]
    """
    if not arrays:
        return np.zeros(num_rows, np.int64)
    total = _hash_column(arrays[0])
    for array in arrays[1:]:
        total = mix(total * _GOLDEN_GAMMA + _hash_column(array))
    return total.view(np.int64)


def hash_is_exact(types: Iterable[Type]) -> bool:
    """Whether, for keys of these types without NULL, equal hashes mean equal keys.

    >>> from seine.algebra.types import BIGINT, STRING
    >>> hash_is_exact([BIGINT]), hash_is_exact([STRING]), hash_is_exact([BIGINT, BIGINT])
    (True, False, False)
    """
    kinds = list(types)
    if len(kinds) != 1:
        return not kinds
    return kinds[0].kind in _BIJECTIVE_KINDS or (kinds[0].kind is Kind.DECIMAL and kinds[0].precision <= 18)


def null_mask(arrays: Sequence[pa.Array]) -> BoolArray | None:
    """Which rows have a NULL in any of the arrays; None if no row has."""
    masks = [pc.is_null(a).to_numpy(zero_copy_only=False) for a in arrays if a.null_count]
    if not masks:
        return None
    mask: BoolArray = np.logical_or.reduce(masks)
    return mask


def bucket_of(hashes: IntArray, buckets: int) -> npt.NDArray[np.uint16]:
    """The hash partition (bucket) of each hash, in [0, buckets), evenly for up to 2**16 buckets.

    The hash is mixed once more, so that the hashes within one bucket are still spread over all 64
    bits. The results have 16 bits, which NumPy sorts by counting (radix sort).
    """
    high = mix(hashes.view(np.uint64)) >> np.uint64(32)
    return ((high * np.uint64(buckets)) >> np.uint64(32)).astype(np.uint16)


def mix(values: UIntArray) -> UIntArray:
    """The bijective finaliser of splitmix64 over uint64."""
    z = values + _GOLDEN_GAMMA
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def _hash_column(array: pa.Array) -> UIntArray:
    if pa.types.is_null(array.type):
        return np.full(len(array), NULL_HASH).view(np.uint64)
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    hashes = _hash_values(array)
    if array.null_count:
        hashes[pc.is_null(array).to_numpy(zero_copy_only=False)] = NULL_HASH.view(np.uint64)
    return hashes


def _hash_values(array: pa.Array) -> UIntArray:
    """Hashes of one column; arbitrary where it is NULL."""
    kind = array.type
    if pa.types.is_floating(kind):
        return _hash_doubles(_filled(array.cast(pa.float64()), 0.0))
    if pa.types.is_decimal(kind):
        return _hash_decimals(array.cast(pa.decimal128(38, kind.scale)))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _hash_strings(array.cast(pa.large_string()))
    return mix(_filled(_integers(array), 0).view(np.uint64))


def _integers(array: pa.Array) -> pa.Array:
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    return array.cast(pa.int64())


def _filled(array: pa.Array, value: float) -> AnyArray:
    values: AnyArray = (array.fill_null(value) if array.null_count else array).to_numpy(zero_copy_only=True)
    return values


def _hash_doubles(values: FloatArray) -> UIntArray:
    values = values + 0.0  # a copy in which -0.0 is 0.0
    values[np.isnan(values)] = np.nan
    return mix(values.view(np.uint64))


def _hash_decimals(array: pa.Array) -> UIntArray:
    """Hashes of the 128-bit unscaled values; one that fits 64 bits hashes as that integer."""
    words = np.frombuffer(buffer_of(array, 1), np.int64).reshape(-1, 2)
    low, high = words[array.offset : array.offset + len(array)].T.copy()
    hashes = mix(low.view(np.uint64))
    wide = np.flatnonzero(high != low >> 63)
    hashes[wide] = mix(hashes[wide] * _GOLDEN_GAMMA + high[wide].view(np.uint64))
    return hashes


def _hash_strings(array: pa.Array) -> UIntArray:
    offsets = np.frombuffer(buffer_of(array, 1), np.int64)[array.offset : array.offset + len(array) + 1]
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = mix(lengths.view(np.uint64))
    if len(array) and lengths.any():
        text = np.frombuffer(buffer_of(array, 2), np.uint8)[offsets[0] : offsets[-1]]
        _fold_words(hashes, text, starts - offsets[0], lengths)
        _fold_long(hashes, text, starts - offsets[0], lengths)
    return hashes


def _fold_words(hashes: UIntArray, text: AnyArray, starts: IntArray, lengths: IntArray) -> None:
    """Fold strings of at most _MAX_FOLDED_BYTES into their hashes, eight bytes of each a round."""
    words = np.zeros((len(text) >> 3) + 2, np.uint64)
    words.view(np.uint8)[: len(text)] = text
    rows = np.flatnonzero((lengths > 0) & (lengths <= _MAX_FOLDED_BYTES))
    place = 0
    while len(rows):
        word = _unaligned_words(words, starts[rows] + place)
        rest = lengths[rows] - place
        surplus = np.clip(8 - rest, 0, 7).view(np.uint64) << np.uint64(3)
        word = (word << surplus) >> surplus
        hashes[rows] = mix(hashes[rows] * _GOLDEN_GAMMA + word)
        rows = rows[rest > 8]
        place += 8


def _unaligned_words(words: UIntArray, at: IntArray) -> UIntArray:
    """The little-endian word that begins at each byte position, from aligned words."""
    slot, shift = at >> 3, (at & 7).view(np.uint64) << np.uint64(3)
    upper = (words[slot + 1] << np.uint64(1)) << (np.uint64(63) - shift)
    whole: UIntArray = (words[slot] >> shift) | upper
    return whole


def _fold_long(hashes: UIntArray, text: AnyArray, starts: IntArray, lengths: IntArray) -> None:
    """Replace the hashes of longer strings by their BLAKE2 digests."""
    for row in np.flatnonzero(lengths > _MAX_FOLDED_BYTES):
        piece = text[starts[row] : starts[row] + lengths[row]]
        digest = hashlib.blake2b(piece.tobytes(), digest_size=8).digest()
        hashes[row] = np.uint64(int.from_bytes(digest, "little"))
