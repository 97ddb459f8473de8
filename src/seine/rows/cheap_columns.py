"""Columns as what is cheapest to pick from: INT and BIGINT without NULL as numpy's, all others as Arrow's."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa

Plain: TypeAlias = np.ndarray | pa.Array
_ARROW_TYPES = {np.dtype(np.int64): pa.int64(), np.dtype(np.int32): pa.int32()}
_NUMPY_TYPE_IDS = [type_.id for type_ in _ARROW_TYPES.values()]


def plain(array: Plain) -> Plain:
    """
    >>> plain(pa.array([1, 2])), plain(pa.array(["a"])).to_pylist()
    (array([1, 2]), ['a'])
    """
    if isinstance(array, np.ndarray) or array.type.id not in _NUMPY_TYPE_IDS or array.null_count:
        return array
    return array.to_numpy()


def arrow(column: Plain) -> pa.Array:
    """The column as an array; numbers are not copied."""
    if not isinstance(column, np.ndarray):
        return column
    type_ = _ARROW_TYPES.get(column.dtype)
    if type_ is None or not column.flags.c_contiguous:
        return pa.array(column)
    return pa.Array.from_buffers(type_, len(column), [None, pa.py_buffer(column)])


def doubles(array: pa.Array) -> np.ndarray:
    """
    The nearest double of each number: Arrow's plain cast refuses a BIGINT that is not one exactly.

    >>> doubles(pa.array([2**53 + 1, 3]))
    array([9.00719925e+15, 3.00000000e+00])
    """
    return array.cast(pa.float64(), safe=False).to_numpy()


def pick(column: Plain, places: np.ndarray | None) -> Plain:
    """The values at some places; None means all."""
    if places is None:
        return column
    return column.take(places if isinstance(column, np.ndarray) else arrow(places))


def pick_known(column: Plain, places: np.ndarray) -> Plain:
    """The values at some places; at place -1 there is none, NULL or 0.

    >>> pick_known(pa.array(["a", "b"]), np.array([1, -1])).to_pylist()
    ['b', None]
    """
    missing = places < 0
    if not missing.any():
        return pick(column, places)
    if isinstance(column, np.ndarray):
        return np.append(column, np.zeros(1, column.dtype)).take(places)
    if not len(column):
        return pa.nulls(len(places), column.type)
    return column.take(pa.array(np.maximum(places, 0), mask=missing))


def unless_all(places: np.ndarray, size: int) -> np.ndarray | None:
    """Ascending places, or None if they are all of so many."""
    return None if len(places) == size else places


def join(one: Plain, other: Plain) -> Plain:
    """One column, then the other."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.concatenate([one, other])
    if not len(one):
        return other
    return pa.concat_arrays([arrow(one), arrow(other)]) if len(other) else one
