"""The bytes of string arrays, without a copy: for what is asked of all texts of a column at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray


def text_bytes(texts: pa.Array) -> memoryview:
    """The concatenated text of a string array; of a NULL whatever is there, mostly nothing.

    >>> bytes(text_bytes(pa.array(["a", "bcd", "ef"]).slice(1)))
    b'bcdef'
    """
    if len(texts) == 0 or texts.buffers()[2] is None:
        return memoryview(b"")
    offsets = text_offsets(texts)
    return memoryview(texts.buffers()[2])[offsets[0] : offsets[-1]]


def text_offsets(texts: pa.Array) -> IntArray:
    """Where each text begins in its buffer, and where the last one ends."""
    positions = texts.buffers()[1]
    array = pa.Array.from_buffers(pa.int32(), len(texts) + 1, [None, positions], offset=texts.offset)
    offsets: IntArray = array.to_numpy()
    return offsets


def same_width(texts: pa.Array) -> AnyArray | None:
    """A row of bytes for each text, if all have equally many and none is NULL.

    >>> same_width(pa.array(["ab", "cd"])).tolist(), same_width(pa.array(["ab", "c"]))
    ([[97, 98], [99, 100]], None)
    """
    if len(texts) == 0 or texts.null_count:
        return None
    offsets = text_offsets(texts)
    width = int(offsets[1] - offsets[0])
    if width == 0 or int(offsets[-1] - offsets[0]) != width * len(texts) or (np.diff(offsets) != width).any():
        return None
    return np.frombuffer(text_bytes(texts), np.uint8).reshape(len(texts), width)
