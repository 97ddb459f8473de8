"""A hash index over the tuples of a relation, by key.

An on-disk hash index: a sorted run of (key hash, row number) in a memory-mapped file.

Law: the rows of `write_run` are those of `SortedRun.of` over all pieces together, in the same order.

The file is built by an external least-significant-digit radix sort of the leading 32 bits, in two passes of
16 bits: each pass reads chunks in order and scatters every row to where the count of smaller digits says, so
equal keys cost no more than others. A file has the columns of a run one after another, 22 bytes a row, and
no header. It is probed through a memory map, so the system's page cache is the only memory.

    | _k int64 .. | _n int64 .. | _b int32 .. (slots) | _f uint16 .. (filter) |
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.disk_sync import sync_to_disk
from seine.errors import RunError
from seine.operators.state.sorted_run import FILTER, KEY, SLOTS, SortedRun, filter_width, leads_of, slot_bits
from seine.operators.state.work_budget import spend_candidates
from seine.rows.grouping import ranges
from seine.rows.hashing import hash_columns, null_mask

Key = Callable[[pa.RecordBatch], Sequence[pa.Array]]


class RelationIndex:
    """A relation's tuples (columns c0, c1, ..) by the hash of some key; a NULL in it is never found.

    >>> index = RelationIndex(pa.record_batch({"c0": [7, 8, 7]}), [pa.array([1, 2, 1])])
    >>> [sorted(zip(*(a.tolist() for a in found))) for found in index.candidates([pa.array([2, 3, 1])], 3)]
    [[(0, 1), (2, 0), (2, 2)]]
    """

    def __init__(self, batch: pa.RecordBatch, key: Sequence[pa.Array]) -> None:
        self.batch = batch
        self._run: SortedRun | None = None
        if key:
            keys, rows = _hashed(key, batch.num_rows)
            self._run = SortedRun.of(pa.record_batch({KEY: keys, NUMBER: rows}), KEY)

    @classmethod
    def in_file(cls, batch: pa.RecordBatch, path: str) -> Self:
        """The same over an index that `write_index` made; nothing of it is held."""
        index = cls(batch, [])
        index._run = open_run(path)
        return index

    def candidates(self, key: Sequence[pa.Array], count: int) -> Iterator[tuple[AnyArray, AnyArray]]:
        """Pairs (row, tuple) of equal hash, in chunks; all pairs where there is no key."""
        if self._run is None:
            for rows, tuples in ranges(np.zeros(count, np.int64), np.full(count, self.batch.num_rows)):
                spend_candidates(len(rows))
                yield rows, tuples
            return
        keys, asking = _hashed(key, count)
        numbers = self._run.batch[NUMBER].to_numpy()
        for rows, places in self._run.equal_keys(keys):
            yield asking[rows], numbers[places]


def write_index(path: str, batch: pa.RecordBatch, key: Key) -> None:
    """Index tuples in a file, some at a time; `key` gives the key columns of some of them."""
    write_run(path, _pieces(batch, key))


def _pieces(batch: pa.RecordBatch, key: Key) -> Iterator[tuple[AnyArray, AnyArray]]:
    for start in range(0, batch.num_rows, CHUNK):
        chunk = batch.slice(start, CHUNK)
        keys, rows = _hashed(key(chunk), chunk.num_rows)
        yield keys, rows + start


def _hashed(key: Sequence[pa.Array], count: int) -> tuple[AnyArray, AnyArray]:
    """The hashes of the keys without NULL, and whose they are."""
    nulls = null_mask(key)
    rows = np.arange(count) if nulls is None else np.flatnonzero(~nulls)
    return hash_columns(key, count)[rows], rows


NUMBER = "_n"
CHUNK = 1 << 16  # rows sorted at once: what building costs in memory
_COLUMNS = ((KEY, np.int64), (NUMBER, np.int64), (SLOTS, np.int32), (FILTER, np.uint16))
_ROW_BYTES = sum(np.dtype(type_).itemsize for _, type_ in _COLUMNS)
_DIGITS = 1 << 16

FileColumns = dict[str, AnyArray]
Digit = Callable[[IntArray], AnyArray]


def write_run(path: str, pieces: Iterable[tuple[IntArray, IntArray]]) -> None:
    """Build the run of (keys, numbers); the file appears at its path when it is complete."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path), prefix=".index-") as folder:
        whole, spooled, between = (os.path.join(folder, name) for name in ("whole", "spooled", "between"))
        low, high = _spool(spooled, pieces)
        rows = int(high.sum())
        _allocate(whole, rows)
        if rows:
            if slot_bits(rows) > 16:
                _allocate(between, rows)
                _scatter(_columns(spooled, rows), _columns(between, rows, "r+"), _low, low)
                spooled = between
            target = _columns(whole, rows, "r+")
            _scatter(_columns(spooled, rows), target, _high, high)
            _index(target, rows)
        sync_to_disk(whole)
        os.replace(whole, path)


def open_run(path: str) -> SortedRun:
    """The run in a file, memory-mapped."""
    rows, rest = divmod(os.path.getsize(path), _ROW_BYTES)
    if rest:
        raise RunError(f"'{path}' is damaged", hint="remove it: it is built again when it is needed")
    columns = _columns(path, rows) if rows else {name: np.zeros(0, type_) for name, type_ in _COLUMNS}
    return SortedRun(pa.record_batch({name: pa.array(column) for name, column in columns.items()}))


def _allocate(path: str, rows: int) -> None:
    """A file of zeros with its blocks reserved: a full disk must show here, not when a page is written."""
    with open(path, "wb") as file:
        if rows:
            os.posix_fallocate(file.fileno(), 0, rows * _ROW_BYTES)


def _columns(path: str, rows: int, mode: str = "r") -> FileColumns:
    whole = np.memmap(path, np.uint8, mode, shape=(rows * _ROW_BYTES,))  # type: ignore[call-overload]
    columns: FileColumns = {}
    start = 0
    for name, type_ in _COLUMNS:
        end = start + rows * np.dtype(type_).itemsize
        columns[name] = np.asarray(whole[start:end]).view(type_)
        start = end
    return columns


def _spool(path: str, pieces: Iterable[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Write pieces as the first two columns of a file; counts how often each low and high digit occurs."""
    low, high = np.zeros(_DIGITS, np.int64), np.zeros(_DIGITS, np.int64)
    rows = 0
    with open(path, "wb") as file, open(f"{path}-numbers", "wb+") as beside:
        for keys, numbers in pieces:
            low += np.bincount(_low(keys), minlength=_DIGITS)
            high += np.bincount(_high(keys), minlength=_DIGITS)
            file.write(np.ascontiguousarray(keys, np.int64).data)
            beside.write(np.ascontiguousarray(numbers, np.int64).data)
            rows += len(keys)
        beside.seek(0)
        while block := beside.read(8 * CHUNK):
            file.write(block)
        file.truncate(rows * _ROW_BYTES)
    return low, high


def _scatter(source: FileColumns, target: FileColumns, digit: Digit, counts: IntArray) -> None:
    """One pass of the radix sort: a stable counting sort of rows by one digit of their keys."""
    place = np.cumsum(counts) - counts
    for part in _parts(len(source[KEY])):
        digits = digit(source[KEY][part])
        order = np.argsort(digits, kind="stable")
        present, sizes = np.unique(digits, return_counts=True)
        shift = place[present] - (np.cumsum(sizes) - sizes)
        to = np.arange(len(order)) + np.repeat(shift, sizes)
        for name in (KEY, NUMBER):
            target[name][to] = source[name][part][order]
        place[present] += sizes


def _index(run: FileColumns, rows: int) -> None:
    """Fill the slot and filter columns, which are zero, for sorted keys."""
    slots, bits = slot_bits(rows) if rows > 1 else 0, filter_width(rows)
    packed = run[FILTER].view(np.uint8)
    for part in _parts(rows):
        leads = leads_of(run[KEY][part])
        number = leads >> (32 - bits)
        np.bitwise_or.at(packed, number >> 3, (1 << (number & 7)).astype(np.uint8))
        if rows > 1:
            slot, sizes = np.unique(leads >> (32 - slots), return_counts=True)
            run[SLOTS][slot + 1] += sizes.astype(np.int32)
    before = 0
    for part in _parts(1 << slots) if rows > 1 else ():
        ends = run[SLOTS][part.start + 1 : part.stop + 1]
        np.cumsum(ends, out=ends)
        ends += np.int32(before)
        before = int(ends[-1])


def _parts(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK))


def _low(keys: IntArray) -> AnyArray:
    return leads_of(keys).astype(np.uint16)


def _high(keys: IntArray) -> AnyArray:
    return (leads_of(keys) >> 16).astype(np.uint16)
