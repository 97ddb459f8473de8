"""Groups rows by equality: candidates by hash, verified by value.

Values are equal as in SQL's GROUP BY: NULL equals NULL, NaN equals NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.rows.column_arrays import ColumnArray, as_arrow, as_column, buffer_of, take_values

_MIN_ROWS_FOR_COUNTING_SORT = 1 << 14  # from so many on, a sort of 16-bit digits (by counting) is faster
_ROWS_PER_MISPLACED_ROW = 64  # if more than one row in so many is out of order afterwards, it is sorted anew


MAX_PAIRS_AT_ONCE = 1_000_000  # bounds the memory that a probe with very many matches takes


class Groups(NamedTuple):
    """A permutation of rows in which those of a group are adjacent, and the start of each group in it."""

    order: IntArray
    starts: IntArray

    @property
    def firsts(self) -> IntArray:
        """The first row of each group."""
        rows: IntArray = self.order[self.starts]
        return rows

    def labels(self) -> IntArray:
        """The number of the group at each place of the order."""
        marks = np.zeros(len(self.order), np.int64)
        marks[self.starts[1:]] = 1
        return np.cumsum(marks)

    def sorted_by(self, times: IntArray) -> Groups:
        """The groups with the rows of each sorted by time; the sort is stable.

        >>> Groups(np.array([0, 1, 2]), np.array([0, 1])).sorted_by(np.array([5, 9, 7])).order.tolist()
        [0, 2, 1]
        """
        ordered = times.take(self.order)
        late = ordered[1:] < ordered[:-1]
        late[self.starts[1:] - 1] = False
        wrong = late.nonzero()[0]
        if not len(wrong):
            return self
        labels = self.labels()
        bad = np.zeros(len(self.starts), bool)
        bad[labels.take(wrong)] = True
        places = bad.take(labels).nonzero()[0]
        order = self.order.copy()
        order[places] = order.take(places.take(_order_of_pairs(labels.take(places), ordered.take(places))))
        return Groups(order, self.starts)


def group_rows(hashes: IntArray, columns: Sequence[ColumnArray]) -> Groups:
    """Group rows that are equal in all columns; groups are in order of hash, rows in their given order.

    >>> order, starts = group_rows(np.array([7, 3, 7, 3]), [pa.array(["a", "b", "c", "b"])])
    >>> order.tolist(), starts.tolist()
    ([1, 3, 0, 2], [0, 2, 3])
    """
    order = _order_of_hashes(hashes)
    same = _equals_previous(hashes.take(order))
    places = same.nonzero()[0]
    if len(places):
        collide = _collisions(order, places, columns)
        if len(collide):
            _separate_collisions(order, same, collide, hashes, columns)
    return Groups(order, _starts(same, len(order)))


def equal_values(left: ColumnArray, right: ColumnArray) -> BoolArray:
    """Which values are equal, element by element.

    >>> nan = float("nan")
    >>> equal_values(pa.array([1.0, None, nan, 2.0]), pa.array([1.0, None, nan, None])).tolist()
    [True, True, True, False]
    """
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.asarray(left == right)
    left, right = as_arrow(left), as_arrow(right)
    if pa.types.is_null(left.type):
        return np.ones(len(left), bool)
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    if not (left.null_count or right.null_count):
        return as_mask(same)
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return as_mask(pc.or_(pc.fill_null(same, False), both))


def all_equal(left: Sequence[ColumnArray], right: Sequence[ColumnArray], num_rows: int) -> BoolArray:
    """Which rows are equal in every column."""
    same = np.ones(num_rows, bool)
    for one, other in zip(left, right, strict=True):
        same &= equal_values(one, other)
    return same


def dense_ranks(values: pa.Array) -> tuple[IntArray, IntArray]:
    """The dense rank of each value (NaN is greatest but for NULL), and for each rank the index of a value.

    >>> [a.tolist() for a in dense_ranks(pa.array(["b", "a", "b"]))]
    [[1, 0, 1], [1, 0]]
    """
    missing = as_mask(values.is_null())
    numbers = _sortable_numbers(values)
    if numbers is None:
        order = pc.sort_indices(values).to_numpy().astype(np.int64)
        ordered = values.take(pa.array(order))
        same = equal_values(ordered[1:], ordered[:-1])
    else:
        known = (~missing).nonzero()[0]
        order = np.append(known.take(numbers.take(known).argsort()), missing.nonzero()[0])
        numbers = numbers.take(order)
        same = (numbers[1:] == numbers[:-1]) | ((numbers[1:] != numbers[1:]) & (numbers[:-1] != numbers[:-1]))
        same[max(len(known) - 1, 0) :] = True
        same[len(known) - 1 : len(known)] = not len(known)
    starts = _starts(same, len(order))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = Groups(order, starts).labels()
    return ranks, order[starts]


def normalise(array: pa.Array) -> pa.Array:
    """Doubles with one zero and one NaN, so that equal ones have equal bits; other columns as they are."""
    if not pa.types.is_floating(array.type):
        return array
    array = pc.add(array, 0.0)
    return pc.if_else(pc.is_nan(array), float("nan"), array)


def as_mask(flags: pa.Array) -> BoolArray:
    """An Arrow array of BOOLEAN without NULL as a NumPy mask."""
    mask: BoolArray = flags.to_numpy(zero_copy_only=False)
    return mask


def _sortable_numbers(values: pa.Array) -> AnyArray | None:
    """Numbers of at most 64 bits in the order of the values, arbitrary where NULL; None if there are none."""
    type_ = values.type
    if pa.types.is_decimal(type_):
        words = np.frombuffer(buffer_of(values, 1), np.int64).reshape(-1, 2)
        low, high = words[values.offset : values.offset + len(values)].T
        wide = high != low >> 63
        decimals: IntArray = low
        return None if (wide & as_mask(values.is_valid())).any() else decimals
    if pa.types.is_boolean(type_):
        values = values.cast(pa.int8())
    elif pa.types.is_temporal(type_):
        values = values.view(pa.int32() if type_.bit_width == 32 else pa.int64())
    elif not (pa.types.is_integer(type_) or pa.types.is_floating(type_)):
        return None
    numbers: AnyArray = (values.fill_null(0) if values.null_count else values).to_numpy()
    return numbers


def _order_of_pairs(firsts: IntArray, seconds: IntArray) -> IntArray:
    """A stable argsort by (first, second), through one combined integer where that fits 64 bits."""
    low = int(seconds.min())
    span = int(seconds.max()) - low + 1
    if (int(firsts[-1]) + 1) * span >= 2**63:
        return np.lexsort((seconds, firsts))
    return (firsts * span + (seconds - low)).argsort(kind="stable")


def _order_of_hashes(hashes: IntArray) -> IntArray:
    """A stable argsort: of many hashes, a radix sort by the leading 32 bits, then a repair of the rest."""
    if len(hashes) < _MIN_ROWS_FOR_COUNTING_SORT:
        return hashes.argsort(kind="stable")
    order = (hashes >> 32).astype(np.uint16).argsort(kind="stable")
    leads = hashes >> 48
    order = order.take((leads + 2**15).astype(np.uint16).take(order).argsort(kind="stable"))
    ordered = hashes.take(order)
    wrong = (ordered[1:] < ordered[:-1]).nonzero()[0]
    if len(wrong) * _ROWS_PER_MISPLACED_ROW > len(hashes):
        return hashes.argsort(kind="stable")
    if len(wrong):
        leads = ordered >> 32
        low, high = (np.unique(np.searchsorted(leads, leads[wrong], side)) for side in ("left", "right"))
        places = np.concatenate([np.arange(a, b) for a, b in zip(low, high, strict=True)])
        order[places] = order[places[ordered[places].argsort(kind="stable")]]
    return order


def _collisions(order: IntArray, places: IntArray, columns: Sequence[ColumnArray]) -> IntArray:
    """Of the places whose successor has the same hash, those whose successor has other values."""
    one, other = order.take(places), order.take(places + 1)
    columns = [as_column(column) for column in columns]
    left = [take_values(column, one) for column in columns]
    right = [take_values(column, other) for column in columns]
    return places[~all_equal(left, right, len(places))]


def _separate_collisions(
    order: IntArray,
    same: BoolArray,
    collide: IntArray,
    hashes: IntArray,
    columns: Sequence[ColumnArray],
) -> None:
    """Sort the rows whose hashes collide by their values too, in place."""
    runs = np.append(0, np.cumsum(~same))
    bad = np.zeros(runs[-1] + 1, bool)
    bad[runs[collide]] = True
    places = np.flatnonzero(bad[runs])
    rows = order[places]
    codes = [_codes(as_arrow(column).take(pa.array(rows))) for column in columns]
    by_value = np.lexsort((*codes, hashes[rows]))
    order[places] = rows[by_value]
    for code in codes:
        same[places[:-1]] &= _equals_previous(code[by_value])


def _codes(column: pa.Array) -> IntArray:
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    return dense_ranks(column)[0]


def _equals_previous(ordered: AnyArray) -> BoolArray:
    same: BoolArray = ordered[1:] == ordered[:-1]
    return same


def _starts(same_as_before: BoolArray, size: int) -> IntArray:
    if not size:
        return np.zeros(0, np.int64)
    starts = np.ones(size, bool)
    np.logical_not(same_as_before, out=starts[1:])
    return starts.nonzero()[0]


class Pairs(NamedTuple):
    """Pairs of a probing row and a row of a stored run, by index, and the lifetime that they share."""

    probe: IntArray
    run: IntArray
    start: IntArray
    end: IntArray

    def where(self, mask: BoolArray) -> Pairs:
        """The pairs at which the mask is true."""
        kept = np.flatnonzero(mask)
        return Pairs(*(column[kept] for column in self))

    @property
    def size(self) -> int:
        """The number of pairs."""
        return len(self.probe)


def ranges(
    low: AnyArray, high: AnyArray, chunk: int = MAX_PAIRS_AT_ONCE
) -> Iterator[tuple[IntArray, IntArray]]:
    """Expand ranges [low, high) to pairs (number of the range, index in it), at most `chunk` at once.

    >>> [[a.tolist() for a in piece] for piece in ranges(np.array([5, 0, 7]), np.array([8, 0, 8]), chunk=3)]
    [[[0, 0, 0], [5, 6, 7]], [[2], [7]]]
    """
    owners = np.flatnonzero(low < high)
    low, sizes = low[owners].astype(np.int64), (high - low)[owners]
    stops = np.cumsum(sizes, dtype=np.int64)
    total = int(stops[-1]) if len(stops) else 0
    for begin in range(0, total, chunk):
        end = min(begin + chunk, total)
        first, last = np.searchsorted(stops, begin, "right"), np.searchsorted(stops, end) + 1
        bounds = np.clip(stops[first:last], begin, end)
        shares = np.diff(bounds, prepend=begin)
        shift = low[first:last] - (stops - sizes)[first:last]
        yield np.repeat(owners[first:last], shares), np.arange(begin, end) + np.repeat(shift, shares)


def bounded_slices(sizes: IntArray, most: int) -> list[slice]:
    """Cut rows of known sizes into pieces of at most `most` in sum; a larger row is a piece alone.

    >>> bounded_slices(np.array([3, 3, 9, 1, 1]), 7)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    sums = np.cumsum(sizes, dtype=np.int64)
    slices, begin, spent = [], 0, 0
    while begin < len(sums):
        end = max(begin + 1, int(np.searchsorted(sums, spent + most, "right")))
        slices.append(slice(begin, end))
        begin, spent = end, int(sums[end - 1])
    return slices
