"""ORDER_KEY: rows as texts that sort as the rows do, column by column from left to right, NULLs first.

Law: order_key(a) < order_key(b) if and only if row a is before row b. The texts have hexadecimal digits and
full stops alone. So what comes first or last of some rows is a MIN or MAX of such keys.
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call
from seine.evaluate.kernels.datum import Datum, Kernel, as_array, row_count
from seine.evaluate.kernels.strings import map_distinct
from seine.evaluate.ordinals import codes_of

_SIGN = np.uint64(1 << 63)
_WIDTH = 16  # bytes of a DECIMAL


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
    data = np.frombuffer(array.buffers()[1], np.uint8)
    first = array.offset * _WIDTH
    words = data[first : first + len(array) * _WIDTH].reshape(-1, _WIDTH)[:, ::-1].copy()
    words[:, 0] ^= 0x80
    return words


def _hexadecimal(data: bytes, width: int) -> pa.Array:
    """The hexadecimal digits of every `width` bytes."""
    offsets = np.arange(len(data) // width + 1, dtype=np.int32) * 2 * width
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(hexlify(data)))


KERNELS: dict[str, Kernel] = {"order_key": _order_key}
