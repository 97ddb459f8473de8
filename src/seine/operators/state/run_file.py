"""Runs of keys and numbers in files, built and probed without holding them in memory.

Law: the rows of `write_run` are those of `SortedRun.of` over all pieces together, in the same order.

They are sorted by their leading bits, 16 at a time from the low ones on: each pass reads chunks in order and
puts every row where the count of smaller digits says, so equal keys cost no more than others. A file has
the columns of a run one after another, 22 bytes a row, and no header; what is asked of it is mapped, so the
system's page cache is the only memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from seine.disk_sync import sync_to_disk
from seine.errors import RunError
from seine.operators.state.sorted_run import FILTER, KEY, SLOTS, SortedRun, filter_width, leads_of, slot_bits

NUMBER = "_n"
CHUNK = 1 << 16  # rows worked on at once
_COLUMNS = ((KEY, np.int64), (NUMBER, np.int64), (SLOTS, np.int32), (FILTER, np.uint16))
_ROW = sum(np.dtype(type_).itemsize for _, type_ in _COLUMNS)
_DIGITS = 1 << 16

Columns = dict[str, np.ndarray]
Digit = Callable[[np.ndarray], np.ndarray]


def write_run(path: str, pieces: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
    """Build a run of (keys, numbers); the file is there when it is whole."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path), prefix=".index-") as folder:
        whole, came, between = (os.path.join(folder, name) for name in ("whole", "came", "between"))
        low, high = _spool(came, pieces)
        rows = int(high.sum())
        _allocate(whole, rows)
        if rows:
            if slot_bits(rows) > 16:
                _allocate(between, rows)
                _scatter(_columns(came, rows), _columns(between, rows, "r+"), _low, low)
                came = between
            target = _columns(whole, rows, "r+")
            _scatter(_columns(came, rows), target, _high, high)
            _index(target, rows)
        sync_to_disk(whole)
        os.replace(whole, path)


def open_run(path: str) -> SortedRun:
    """A run as it lies in its file, mapped."""
    rows, rest = divmod(os.path.getsize(path), _ROW)
    if rest:
        raise RunError(f"'{path}' is damaged", hint="remove it: it is built again when it is needed")
    columns = _columns(path, rows) if rows else {name: np.zeros(0, type_) for name, type_ in _COLUMNS}
    return SortedRun(pa.record_batch({name: pa.array(column) for name, column in columns.items()}))


def _allocate(path: str, rows: int) -> None:
    """A file of zeros that has its place on disk: a full one must not show when it is mapped."""
    with open(path, "wb") as file:
        if rows:
            os.posix_fallocate(file.fileno(), 0, rows * _ROW)


def _columns(path: str, rows: int, mode: str = "r") -> Columns:
    whole = np.memmap(path, np.uint8, mode, shape=(rows * _ROW,))  # type: ignore[call-overload]
    found, start = {}, 0
    for name, type_ in _COLUMNS:
        end = start + rows * np.dtype(type_).itemsize
        found[name] = np.asarray(whole[start:end]).view(type_)
        start = end
    return found


def _spool(path: str, pieces: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Write pieces down as the first two columns; how often each low and each high digit occurs."""
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
        while some := beside.read(8 * CHUNK):
            file.write(some)
        file.truncate(rows * _ROW)
    return low, high


def _scatter(source: Columns, target: Columns, digit: Digit, counts: np.ndarray) -> None:
    """Put rows in the order of a digit; those of equal digits stay in theirs."""
    place = np.cumsum(counts) - counts
    for part in _parts(len(source[KEY])):
        digits = digit(source[KEY][part])
        order = np.argsort(digits, kind="stable")
        found, sizes = np.unique(digits, return_counts=True)
        shift = place[found] - (np.cumsum(sizes) - sizes)
        to = np.arange(len(order)) + np.repeat(shift, sizes)
        for name in (KEY, NUMBER):
            target[name][to] = source[name][part][order]
        place[found] += sizes


def _index(run: Columns, rows: int) -> None:
    """Fill the columns of the index, which are zero, for sorted keys."""
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


def _low(keys: np.ndarray) -> np.ndarray:
    return leads_of(keys).astype(np.uint16)


def _high(keys: np.ndarray) -> np.ndarray:
    return (leads_of(keys) >> 16).astype(np.uint16)
