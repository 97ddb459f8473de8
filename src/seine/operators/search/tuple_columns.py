"""The columns of a searched tuple, whatever table it is of: what a `WatchNode` emits and a search holds.

    c0 table   the number of its table        c4 terms    the terms that it contains, by number, ascending
    c1 number  its arrival number there       c5 places   where it can be joined: a hash for each side
    c2 epoch   the epoch of its arrival       c6 sides    which side of which edge each place is of
    c3 text    {"stream": .., "row": {..}}    c7 keys     values of keys that hashes do not decide, as text

A *place* is an end of a join condition together with a value there: the tuples at (movie.did, 7) and those at
(director.did, 7) are joined. The two places of one edge and value differ by a constant, so that a hop from
a tuple is one probe for `opposite(its place)`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.algebra.types import BIGINT, JSON, NUMBERS
from seine.rows.hashing import hash_columns, mix

TABLE, NUMBER, EPOCH, TEXT, TERMS, PLACES, SIDES, KEYS = (f"c{i}" for i in range(8))
TUPLE_NAMES = (TABLE, NUMBER, EPOCH, TEXT, TERMS, PLACES, SIDES, KEYS)
TUPLE_TYPES = (BIGINT, BIGINT, BIGINT, JSON, NUMBERS, NUMBERS, NUMBERS, JSON)  # c7 is a list of texts
KEY_TEXTS = pa.list_(pa.string())

_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_OTHER_SIDE = np.int64(0x5851F42D4C957F2D)  # spread over all bits, like the hashes that it is added to


def side_code(edge: int, right: bool) -> int:
    """The number of a side of an edge."""
    return 2 * edge + right


def place_hashes(keys: pa.Array, edge: int, right: bool) -> IntArray:
    """The places of tuples at a side of an edge; `keys` are of the edge's common type."""
    hashes = hash_columns([keys], len(keys)).view(np.uint64)
    places: IntArray = mix(hashes * _GOLDEN_GAMMA + mix(np.array([edge], np.uint64))).view(np.int64)
    return opposite(places) if right else places


def opposite(places: IntArray) -> IntArray:
    """The places of partners.

    >>> keys = pa.array([7, 8])
    >>> (opposite(place_hashes(keys, 3, False)) == place_hashes(keys, 3, True)).all()
    np.True_
    """
    partners: IntArray = places ^ _OTHER_SIDE
    return partners


def spread(numbers: IntArray) -> IntArray:
    """Numbers as key hashes, one to one."""
    hashes: IntArray = mix(np.asarray(numbers, np.int64).view(np.uint64)).view(np.int64)
    return hashes


def list_values(lists: pa.Array) -> tuple[IntArray, AnyArray]:
    """The lengths of lists of numbers, and all their values one after another."""
    lengths: IntArray = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths, lists.flatten().to_numpy(zero_copy_only=False)


def lists_of(lengths: IntArray, values: AnyArray | pa.Array, type_: pa.DataType) -> pa.Array:
    """The inverse of `list_values`."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    column = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.ListArray.from_arrays(pa.array(offsets), column.cast(type_.value_type))
