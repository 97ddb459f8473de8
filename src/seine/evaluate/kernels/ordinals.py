"""Order-preserving integer codes of values, so that one index structure compares values of every type.

A coder serves the constants of one expression in many selections. Law: for a value v and a
constant c, neither NULL, v <op> c in SQL if and only if code(v) <op> code(c). Codes of numbers,
dates, timestamps and DECIMALs of up to 18 digits depend on the value alone. Strings and longer
DECIMALs are ranked among the sorted constants: the k-th constant is 2k + 1, and a value between
constants k - 1 and k is 2k.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, FloatArray, IntArray
from seine.algebra.types import Kind, Type
from seine.evaluate.kernels.datum import values as stored
from seine.rows.column_arrays import buffer_of

MAX_CODE = np.iinfo(np.int64).max
_MAX_INT64_DIGITS = 18  # a DECIMAL of so many digits fits 64 bits
_INSERTS_PER_SEARCH = 6  # inserts into a hash table that cost as much as one binary search


def has_own_codes(type_: Type) -> bool:
    """Whether codes of this type depend on the value alone, not on a set of constants."""
    return not type_.is_text and not (type_.kind is Kind.DECIMAL and type_.precision > _MAX_INT64_DIGITS)


def codes_of(array: pa.Array) -> IntArray:
    """The codes of values of a type whose codes depend on the value alone; arbitrary where NULL.

    >>> nan = float("nan")
    >>> codes = codes_of(pa.array([nan, 1.5, -0.0, 0.0, -2.0, float("inf")]))
    >>> np.argsort(codes, kind="stable").tolist(), bool(codes[2] == codes[3])
    ([4, 2, 3, 1, 5, 0], True)
    """
    if pa.types.is_decimal(array.type):
        return np.ascontiguousarray(_words(array)[:, 0])
    numbers = stored(array)
    return _double_codes(numbers) if numbers.dtype == np.float64 else numbers.astype(np.int64, copy=False)


def _double_codes(numbers: FloatArray) -> IntArray:
    """The bits of doubles as integers in the order of the numbers: -0.0 is 0.0, and NaN is the largest."""
    numbers = numbers + 0.0
    numbers[np.isnan(numbers)] = np.nan
    bits = numbers.view(np.int64)
    below = bits >> 63
    below &= MAX_CODE
    bits ^= below
    return bits


def _words(array: pa.Array) -> IntArray:
    """A DECIMAL's unscaled values as pairs (low, high) of 64-bit words."""
    data = buffer_of(array, 1)
    if not data or not len(array):
        return np.zeros((len(array), 2), np.int64)
    return np.frombuffer(data, np.int64, 2 * len(array), 16 * array.offset).reshape(-1, 2)


class Coder:
    """Codes that depend on the value alone; base class of those that depend on constants."""

    def encode(self, array: pa.Array) -> IntArray:
        """The codes of an array; arbitrary where NULL."""
        return codes_of(array)


VALUE_CODES = Coder()


class Places(Coder):
    """Codes by rank among constants; if not `ordered`, only equality with a constant is preserved."""

    def __init__(self, constants: Sequence[pa.Array], ordered: bool) -> None:
        known = pa.concat_arrays(constants).unique()
        self._constants = known.take(pc.array_sort_indices(known))
        self._sorted = _sortable(self._constants)
        self._ordered = ordered
        self._places: dict[str, int] = {}
        if not ordered and not pa.types.is_decimal(known.type):
            self._places = {text: 2 * place + 1 for place, text in enumerate(self._sorted.tolist())}

    def encode(self, array: pa.Array) -> IntArray:
        if not len(self._sorted):
            return np.zeros(len(array), np.int64)
        if len(array) * _INSERTS_PER_SEARCH < len(self._sorted):
            return self._look_up(array) if self._places else self._search(array)
        if not self._ordered:
            places = pc.index_in(array, value_set=self._constants)
            ranks: IntArray = stored(places.fill_null(-1)).astype(np.int64)
            return ranks * 2 + 1
        encoded = array.fill_null(self._constants[0]).dictionary_encode()
        codes: IntArray = self._search(encoded.dictionary)[stored(encoded.indices)]
        return codes

    def _look_up(self, array: pa.Array) -> IntArray:
        """By the existing Python dictionary, which needs a Python string for each value."""
        texts = map(self._places.get, array.to_numpy(zero_copy_only=False), repeat(-1))
        return np.fromiter(texts, np.int64, len(array))

    def _search(self, array: pa.Array) -> IntArray:
        """By binary search."""
        keys = _sortable(array)
        places = np.searchsorted(self._sorted, keys)
        is_constant = self._sorted[np.minimum(places, len(self._sorted) - 1)] == keys
        codes: IntArray = 2 * places + is_constant
        return codes


def _sortable(array: pa.Array) -> AnyArray:
    """Keys that NumPy orders like the values; arbitrary where NULL.

    Python orders strings by code point, which is also the order of their UTF-8 bytes.
    """
    if not pa.types.is_decimal(array.type):
        texts: AnyArray = (array.fill_null("") if array.null_count else array).to_numpy(zero_copy_only=False)
        return texts
    words = _words(array).view(np.uint64)
    big_endian = np.stack([words[:, 1] ^ np.uint64(1 << 63), words[:, 0]], axis=1).astype(">u8")
    return big_endian.view("S16").ravel()
