"""Columns in the representation that is cheapest to gather from.

Columns of INT and BIGINT without NULL are NumPy arrays, all others Arrow arrays.
"""

from __future__ import annotations

from typing import TypeAlias, overload

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, FloatArray, IntArray

ColumnArray: TypeAlias = AnyArray | pa.Array
_ARROW_TYPES = {np.dtype(np.int64): pa.int64(), np.dtype(np.int32): pa.int32()}
_NUMPY_TYPE_IDS = [type_.id for type_ in _ARROW_TYPES.values()]


def as_column(array: ColumnArray) -> ColumnArray:
    """A column as a NumPy array if its type allows it and no value is NULL, else as it is.

    >>> as_column(pa.array([1, 2])), as_column(pa.array(["a"])).to_pylist()
    (array([1, 2]), ['a'])
    """
    if isinstance(array, np.ndarray) or array.type.id not in _NUMPY_TYPE_IDS or array.null_count:
        return array
    return array.to_numpy()


def as_arrow(column: ColumnArray) -> pa.Array:
    """A column as an Arrow array; numbers are not copied."""
    if not isinstance(column, np.ndarray):
        return column
    type_ = _ARROW_TYPES.get(column.dtype)
    if type_ is None or not column.flags.c_contiguous:
        return pa.array(column)
    return pa.Array.from_buffers(type_, len(column), [None, pa.py_buffer(column)])


def to_doubles(array: pa.Array) -> FloatArray:
    """Numbers cast to the nearest double; Arrow's safe cast refuses a BIGINT that no double equals.

    >>> to_doubles(pa.array([2**53 + 1, 3]))
    array([9.00719925e+15, 3.00000000e+00])
    """
    numbers: FloatArray = array.cast(pa.float64(), safe=False).to_numpy()
    return numbers


@overload
def take_values(column: pa.Array, places: AnyArray | None) -> pa.Array: ...
@overload
def take_values(column: ColumnArray, places: AnyArray | None) -> ColumnArray: ...
def take_values(column: ColumnArray, places: AnyArray | None) -> ColumnArray:
    """Gather: the values at some places, None meaning all."""
    if places is None:
        return column
    return column.take(places if isinstance(column, np.ndarray) else as_arrow(places))


def take_or_null(column: ColumnArray, places: IntArray) -> ColumnArray:
    """Gather with missing places: at place -1 the value is NULL, of a NumPy column 0.

    >>> take_or_null(pa.array(["a", "b"]), np.array([1, -1])).to_pylist()
    ['b', None]
    """
    missing = places < 0
    if not missing.any():
        return take_values(column, places)
    if isinstance(column, np.ndarray):
        return np.append(column, np.zeros(1, column.dtype)).take(places)
    if not len(column):
        return pa.nulls(len(places), column.type)
    return column.take(pa.array(np.maximum(places, 0), mask=missing))


def none_if_all(places: IntArray, size: int) -> IntArray | None:
    """Distinct ascending places, or None if they are all places of a column of this size."""
    return None if len(places) == size else places


def concat_columns(one: ColumnArray, other: ColumnArray) -> ColumnArray:
    """The concatenation of two columns of one type."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.concatenate([one, other])
    if not len(one):
        return other
    return pa.concat_arrays([as_arrow(one), as_arrow(other)]) if len(other) else one


def buffer_of(array: pa.Array, place: int) -> memoryview:
    """One of the buffers of an array, not copied; empty where Arrow has none.

    >>> len(buffer_of(pa.array([1, 2]), 1)), len(buffer_of(pa.array([1, 2]), 0))
    (16, 0)
    """
    buffer = array.buffers()[place]
    return memoryview(b"" if buffer is None else buffer)


def as_lists(column: pa.Array) -> pa.ListArray:
    """A column of lists, which it must be."""
    if not isinstance(column, pa.ListArray):
        raise TypeError(f"a column of {column.type}, and not of lists")
    return column


def decimal_type(type_: pa.DataType) -> pa.Decimal128Type:
    """The type of a column of DECIMAL, which it must be."""
    if not isinstance(type_, pa.Decimal128Type):
        raise TypeError(f"a column of {type_}, and not of DECIMAL")
    return type_


def text_bytes(texts: pa.Array) -> memoryview:
    """The concatenated text of a string array; of a NULL whatever is there, mostly nothing.

    >>> bytes(text_bytes(pa.array(["a", "bcd", "ef"]).slice(1)))
    b'bcdef'
    """
    if len(texts) == 0:
        return memoryview(b"")
    offsets = text_offsets(texts)
    return buffer_of(texts, 2)[offsets[0] : offsets[-1]]


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
