"""Columns as what is cheapest to pick from: INT and BIGINT without NULL as numpy's, all others as Arrow's."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa

Plain: TypeAlias = np.ndarray | pa.Array
_NUMBERS = (pa.int64().id, pa.int32().id)


def plain(array: Plain) -> Plain:
    """
    >>> plain(pa.array([1, 2])), plain(pa.array(["a"])).to_pylist()
    (array([1, 2]), ['a'])
    """
    if isinstance(array, np.ndarray) or array.type.id not in _NUMBERS or array.null_count:
        return array
    return array.to_numpy()


def arrow(column: Plain) -> pa.Array:
    return pa.array(column) if isinstance(column, np.ndarray) else column


def pick(column: Plain, places: np.ndarray | None) -> Plain:
    """The values at some places; None means all."""
    if places is None:
        return column
    return column.take(places if isinstance(column, np.ndarray) else pa.array(places))


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
