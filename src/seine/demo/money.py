"""Amounts of money as Arrow decimals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray


def money(amount: AnyArray) -> pa.Array:
    """DECIMAL(14,2) of amounts that are not negative: cents in the low half of 128 bits.

    >>> money(np.array([0.1, 12.345])).to_pylist()
    [Decimal('0.10'), Decimal('12.34')]
    """
    words = np.zeros((len(amount), 2), dtype="<i8")
    words[:, 0] = np.round(amount * 100)
    return pa.Array.from_buffers(pa.decimal128(14, 2), len(amount), [None, pa.py_buffer(words.tobytes())])
