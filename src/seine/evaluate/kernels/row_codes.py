"""Kernels of rows as one value: HASH and XXHASH64 (Spark's Murmur3 and xxHash), and ORDER_KEY.

Law: the hash of a row begins with 42; each value that is not NULL is hashed with the hash so far as its seed.

ORDER_KEY: rows as texts that sort as the rows do, column by column from left to right, NULLs first.

Law: order_key(a) < order_key(b) if and only if row a is before row b. The texts have hexadecimal digits and
full stops alone. So what comes first or last of some rows is a MIN or MAX of such keys.
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray
from seine.algebra.expressions import Call
from seine.algebra.types import Kind, Type
from seine.evaluate.kernels.datum import Datum, Kernel, as_array, build, row_count, valid, values
from seine.evaluate.kernels.decimals import unscaled
from seine.evaluate.kernels.ordinals import codes_of
from seine.evaluate.kernels.strings import map_distinct
from seine.rows.column_arrays import buffer_of

_SEED = 42
_LONG_DIGITS = 18  # a decimal of more is hashed by its bytes
_Unsigned = npt.NDArray[Any]
_U32, _U64 = np.uint32, np.uint64
_P1, _P2, _P3, _P4, _P5 = (
    _U64(number)
    for number in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_SIGN = np.uint64(1 << 63)
_WIDTH = 16  # bytes of a DECIMAL


class RowHash(Protocol):
    """A hash of values of 4 bytes, of 8 bytes, and of texts, each with a seed for each row."""

    dtype: Any

    def of_ints(self, data: _Unsigned, seeds: _Unsigned) -> _Unsigned: ...

    def of_longs(self, data: _Unsigned, seeds: _Unsigned) -> _Unsigned: ...

    def of_bytes(self, data: ByteRows, seeds: _Unsigned) -> _Unsigned: ...


class ByteRows:
    """Texts as rows of a matrix of bytes, which are zero behind the end of a text."""

    def __init__(self, texts: pa.Array) -> None:
        encoded = texts.cast(pa.large_binary()).fill_null(b"")
        starts = np.frombuffer(buffer_of(encoded, 1), np.int64)[
            encoded.offset : encoded.offset + len(encoded) + 1
        ]
        self.lengths = np.diff(starts)
        width = int(self.lengths.max(initial=0)) // 32 * 32 + 32
        self.matrix = np.zeros((len(encoded), width), np.uint8)
        self.matrix[np.arange(width) < self.lengths[:, None]] = _bytes_of(encoded, starts)

    def words(self, dtype: Any) -> AnyArray:
        """The bytes as little-endian words."""
        return self.matrix.view(dtype)


def _bytes_of(encoded: pa.Array, starts: AnyArray) -> AnyArray:
    return np.frombuffer(buffer_of(encoded, 2), np.uint8)[starts[0] : starts[-1]]


def _rotated(data: _Unsigned, bits: int) -> _Unsigned:
    width = data.dtype.itemsize * 8
    kind = data.dtype.type
    rotated: _Unsigned = (data << kind(bits)) | (data >> kind(width - bits))
    return rotated


class Murmur3:
    """Spark's Murmur3_x86_32, whose last bytes are mixed one by one."""

    dtype = _U32

    def of_ints(self, data: _Unsigned, seeds: _Unsigned) -> _Unsigned:
        """Of the low 32 bits."""
        return self._finished(self._mixed(seeds, data.astype(_U32)), _U32(4))

    def of_longs(self, data: _Unsigned, seeds: _Unsigned) -> _Unsigned:
        """Of the low, then the high half."""
        low, high = data.astype(_U32), (data >> _U64(32)).astype(_U32)
        return self._finished(self._mixed(self._mixed(seeds, low), high), _U32(8))

    def of_bytes(self, data: ByteRows, seeds: _Unsigned) -> _Unsigned:
        """Word by word, then byte by byte as signed numbers."""
        state, words = seeds, data.words(_U32)
        for at in range(int(data.lengths.max(initial=0)) // 4):
            state = np.where(data.lengths >= 4 * at + 4, self._mixed(state, words[:, at]), state)
        rows, whole = np.arange(len(state)), data.lengths // 4 * 4
        for extra in range(3):
            inside = whole + extra < data.lengths
            byte = data.matrix[rows, np.where(inside, whole + extra, 0)].view(np.int8).astype(np.int32)
            state = np.where(inside, self._mixed(state, byte.view(_U32)), state)
        return self._finished(state, data.lengths.astype(_U32))

    @staticmethod
    def _mixed(state: _Unsigned, word: _Unsigned) -> _Unsigned:
        word = _rotated(word * _U32(0xCC9E2D51), 15) * _U32(0x1B873593)
        mixed: _Unsigned = _rotated(state ^ word, 13) * _U32(5) + _U32(0xE6546B64)
        return mixed

    @staticmethod
    def _finished(state: _Unsigned, length: Any) -> _Unsigned:
        state = state ^ length
        state = (state ^ (state >> _U32(16))) * _U32(0x85EBCA6B)
        state = (state ^ (state >> _U32(13))) * _U32(0xC2B2AE35)
        finished: _Unsigned = state ^ (state >> _U32(16))
        return finished


class XxHash64:
    """xxHash of 64 bits."""

    dtype = _U64

    def of_ints(self, data: _Unsigned, seeds: _Unsigned) -> _Unsigned:
        """Of the low 32 bits."""
        state = seeds + _P5 + _U64(4)
        return self._finished(self._with_int(state, data & _U64(0xFFFFFFFF)))

    def of_longs(self, data: _Unsigned, seeds: _Unsigned) -> _Unsigned:
        """Of 64 bits."""
        return self._finished(self._with_long(seeds + _P5 + _U64(8), data))

    def of_bytes(self, data: ByteRows, seeds: _Unsigned) -> _Unsigned:
        """In stripes of 32 bytes, then in words of 8, one of 4, and bytes."""
        lengths, rows = data.lengths, np.arange(len(data.lengths))
        state = np.where(lengths >= 32, self._stripes(data, seeds), seeds + _P5) + lengths.astype(_U64)
        longs, ints = data.words(_U64), data.words(_U32)
        at = lengths // 32 * 32
        for _ in range(3):
            inside = at + 8 <= lengths
            word = longs[rows, np.where(inside, at // 8, 0)]
            state = np.where(inside, self._with_long(state, word), state)
            at = np.where(inside, at + 8, at)
        inside = at + 4 <= lengths
        word = ints[rows, np.where(inside, at // 4, 0)].astype(_U64)
        state = np.where(inside, self._with_int(state, word), state)
        at = np.where(inside, at + 4, at)
        for _ in range(3):
            inside = at < lengths
            byte = data.matrix[rows, np.where(inside, at, 0)].astype(_U64)
            state = np.where(inside, _rotated(state ^ (byte * _P5), 11) * _P1, state)
            at = at + inside
        return self._finished(state)

    def _stripes(self, data: ByteRows, seeds: _Unsigned) -> _Unsigned:
        longs = data.words(_U64)
        lanes = [seeds + _P1 + _P2, seeds + _P2, seeds, seeds - _P1]
        for stripe in range(int(data.lengths.max(initial=0)) // 32):
            inside = data.lengths >= 32 * stripe + 32
            for i in range(4):
                lanes[i] = np.where(inside, self._round(lanes[i], longs[:, 4 * stripe + i]), lanes[i])
        first, second, third, fourth = lanes
        state = _rotated(first, 1) + _rotated(second, 7) + _rotated(third, 12) + _rotated(fourth, 18)
        for lane in lanes:
            state = (state ^ self._round(np.zeros_like(lane), lane)) * _P1 + _P4
        return state

    @staticmethod
    def _round(state: _Unsigned, word: _Unsigned) -> _Unsigned:
        rounded: _Unsigned = _rotated(state + word * _P2, 31) * _P1
        return rounded

    def _with_long(self, state: _Unsigned, word: _Unsigned) -> _Unsigned:
        mixed: _Unsigned = _rotated(state ^ self._round(np.zeros_like(word), word), 27) * _P1 + _P4
        return mixed

    @staticmethod
    def _with_int(state: _Unsigned, word: _Unsigned) -> _Unsigned:
        mixed: _Unsigned = _rotated(state ^ (word * _P1), 23) * _P2 + _P3
        return mixed

    @staticmethod
    def _finished(state: _Unsigned) -> _Unsigned:
        state = (state ^ (state >> _U64(33))) * _P2
        state = (state ^ (state >> _U64(29))) * _P3
        finished: _Unsigned = state ^ (state >> _U64(32))
        return finished


def _row_hash(function: RowHash) -> Kernel:
    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        size = row_count(args)
        state = np.full(size, _SEED, function.dtype)
        for arg, datum in zip(call.args, args, strict=True):
            array = as_array(datum, size)
            state = np.where(
                np.broadcast_to(valid(array), size), _hashed(function, arg.type, array, state), state
            )
        return build(
            call.type, state.view(np.int32 if function.dtype is _U32 else np.int64), _EVERYWHERE, size
        )

    return kernel


_EVERYWHERE: BoolArray = np.array([True])


def _hashed(function: RowHash, type_: Type, array: pa.Array, seeds: _Unsigned) -> _Unsigned:
    """The hashes of one column; arbitrary where it is NULL."""
    if type_.kind is Kind.NULL:
        return seeds
    if type_.is_text:
        return _hashed_texts(function, array, seeds)
    if type_.kind is Kind.DECIMAL:
        return _hashed_decimals(function, type_, array, seeds)
    data = values(array)
    if type_.kind is Kind.DOUBLE:
        plain = np.where(data == 0, 0.0, np.where(np.isnan(data), np.nan, data))
        return function.of_longs(plain.view(_U64), seeds)
    whole = data.astype(np.int64).view(_U64)
    narrow = type_.kind in (Kind.BOOLEAN, Kind.INT, Kind.DATE, Kind.YEAR_MONTH)
    return function.of_ints(whole, seeds) if narrow else function.of_longs(whole, seeds)


def _hashed_texts(function: RowHash, texts: pa.Array, seeds: _Unsigned) -> _Unsigned:
    """Texts of about the same length together, so that their matrix has little but texts."""
    lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
    sizes = np.ceil(np.log2(lengths // 32 + 1)).astype(np.int64)
    hashes = seeds.copy()
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        hashes[rows] = function.of_bytes(ByteRows(texts.take(pa.array(rows))), seeds[rows])
    return hashes


def _hashed_decimals(function: RowHash, type_: Type, array: pa.Array, seeds: _Unsigned) -> _Unsigned:
    """Decimals by their unscaled number, as 64 bits if their type has no more than 18 digits."""
    numbers = unscaled(array)
    if type_.precision <= _LONG_DIGITS:
        return function.of_longs(numbers.astype(np.int64).view(_U64), seeds)
    return _hashed_texts(function, pa.array([_two_complement(int(n)) for n in numbers], pa.binary()), seeds)


def _two_complement(number: int) -> bytes:
    """The fewest bytes of a number, the first with the sign."""
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def _order_key(_: Call, args: Sequence[Datum]) -> pa.Array:
    """
    >>> from seine.algebra.types import STRING
    >>> keys = _order_key(Call("order_key", (), STRING), [pa.array([7, 7, None]), pa.array(["a", "B", "x"])])
    >>> keys.to_pylist()
    ['18000000000000007161.', '18000000000000007142.', '0178.']
    """
    rows = row_count(args)
    parts = [_part(as_array(arg, rows)) for arg in args]
    return pc.binary_join_element_wise(*parts, "")


def _part(array: pa.Array) -> pa.Array:
    """The key of one column: 0 for NULL, else 1 and the digits of the value."""
    code = pc.binary_join_element_wise("1", _digits(array), "")
    return pc.if_else(array.is_valid(), code, "0") if array.null_count else code


def _digits(array: pa.Array) -> pa.Array:
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_string(array.type):
        return map_distinct(lambda text: text.encode().hex() + ".", array, pa.string())
    if pa.types.is_decimal(array.type):
        return _hexadecimal(_decimal_bytes(array).tobytes(), _WIDTH)
    return _hexadecimal((codes_of(array).view(np.uint64) ^ _SIGN).astype(">u8").tobytes(), 8)


def _decimal_bytes(array: pa.Array) -> AnyArray:
    """The bytes of DECIMALs from the highest on, such that they sort as the numbers do."""
    data = np.frombuffer(buffer_of(array, 1), np.uint8)
    first = array.offset * _WIDTH
    words = data[first : first + len(array) * _WIDTH].reshape(-1, _WIDTH)[:, ::-1].copy()
    words[:, 0] ^= 0x80
    return words


def _hexadecimal(data: bytes, width: int) -> pa.Array:
    """The hexadecimal digits of every `width` bytes."""
    offsets = np.arange(len(data) // width + 1, dtype=np.int32) * 2 * width
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(hexlify(data)))


KERNELS: dict[str, Kernel] = {
    "hash": _row_hash(Murmur3()),
    "xxhash64": _row_hash(XxHash64()),
    "order_key": _order_key,
}
