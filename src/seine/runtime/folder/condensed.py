"""Compression of batches: columns that follow from others are left out.

What a run carries for speed need not be durable: an index, the hash of a key, a time that is another
time and a constant. Law: expand(condense(batch)) equals batch, whatever the batch.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct

from seine.algebra.arrays import IntArray
from seine.algebra.types import TIMESTAMP
from seine.operators.state.sorted_run import INDEX, KEY, index_of
from seine.rows.hashing import hash_columns
from seine.typed_json import json_decoder

_NOTE = b"seine"  # where the schema of a condensed batch says how to make the rest
_LEAST_CONDENSED_ROWS = 256  # rows; below this the note costs more than it saves
_SAMPLE_ROWS = 8  # rows that are compared before all are
_MOST_GUESSES = 1 << 12  # guesses that are remembered
_WHOLE = (pa.int64(), TIMESTAMP.arrow())


class _Shift(NamedTuple):
    """A column that is another one and a constant, modulo 2**64; its type by the place in `_WHOLE`."""

    base: str
    constant: int
    type: int


class _Note(Struct, frozen=True):
    """All columns in order, how to make those that are left out, and the column whose hash is the key."""

    columns: list[str]
    shifts: dict[str, _Shift]
    key: str | None = None


_NOTES = json_decoder(_Note)


def condense(batch: pa.RecordBatch, owner: int | None = None) -> pa.RecordBatch:
    """The columns that do not follow from others, and a note in the schema of how to make those that do.

    `owner` is the node that has such batches: in all of them the key is taken to be the hash of the same
    column.

    >>> rows = pa.record_batch({"_s": range(300), "_e": range(10, 310), "c0": ["x"] * 300})
    >>> condense(rows).schema.names, expand(condense(rows)).equals(rows)
    (['_s', 'c0'], True)
    """
    if batch.num_rows < _LEAST_CONDENSED_ROWS or batch.schema.metadata:
        return batch
    kept: dict[str, pa.Array] = {}
    shifts: dict[str, _Shift] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name == KEY or name in INDEX:
            continue
        if (shift := _shift(column, kept)) is not None:
            shifts[name] = shift
        else:
            kept[name] = column
    hashed = None
    if KEY in batch.schema.names:
        hashed = _hashed(batch[KEY], kept, owner)
        if hashed is None:
            kept[KEY] = batch[KEY]
    note = _Note(batch.schema.names, shifts, hashed)
    schema = pa.schema([(name, column.type) for name, column in kept.items()])
    schema = schema.with_metadata({_NOTE: msgspec.json.encode(note)})
    return pa.RecordBatch.from_arrays(list(kept.values()), schema=schema)


def expand(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What was condensed; any other batch as it is."""
    metadata = batch.schema.metadata
    if not metadata or _NOTE not in metadata:
        return batch
    note = _NOTES.decode(metadata[_NOTE])
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name, (base, constant, kind) in note.shifts.items():
        columns[name] = pa.array(_numbers(columns[base]) + np.int64(constant)).view(_WHOLE[kind])
    if note.key is not None:
        columns[KEY] = pa.array(hash_columns([columns[note.key]], batch.num_rows))
    if set(INDEX) <= set(note.columns):
        columns.update(zip(INDEX, map(pa.array, index_of(columns[KEY].to_numpy())), strict=True))
    return pa.RecordBatch.from_arrays([columns[name] for name in note.columns], note.columns)


def _shift(column: pa.Array, kept: dict[str, pa.Array]) -> _Shift | None:
    """The kept column, and the constant to add to it, that give this one."""
    if not _is_whole(column):
        return None
    numbers = _numbers(column)
    for name, other in kept.items():
        if _is_whole(other):
            base = _numbers(other)
            constant = (numbers[:1] - base[:1])[0]  # modulo 2**64
            if all(
                (numbers[part] - base[part] == constant).all()
                for part in (slice(-_SAMPLE_ROWS, None), slice(None))
            ):
                return _Shift(name, int(constant), _WHOLE.index(column.type))
    return None


# By owner and names of columns: to try each column costs time.
_guesses: dict[tuple[int | None, tuple[str, ...]], str | None] = {}


def _hashed(keys: pa.Array, kept: dict[str, pa.Array], owner: int | None) -> str | None:
    """The kept column whose hash is the key."""
    numbers, key = keys.to_numpy(), (owner, tuple(kept))
    if key not in _guesses or owner is None:
        if len(_guesses) >= _MOST_GUESSES:
            _guesses.clear()
        _guesses[key] = next((n for n in kept if _is_hashed(kept[n], numbers, _SAMPLE_ROWS)), None)
    name = _guesses.get(key)  # another thread may have cleared them
    return name if name is not None and _is_hashed(kept[name], numbers, len(numbers)) else None


def _is_hashed(column: pa.Array, keys: IntArray, count: int) -> bool:
    """Are the first keys hashes of that column?"""
    if pa.types.is_nested(column.type):
        return False
    sample = column.slice(0, count)
    return bool((hash_columns([sample], len(sample)) == keys[:count]).all())


def _is_whole(column: pa.Array) -> bool:
    return column.type in _WHOLE and not column.null_count


def _numbers(column: pa.Array) -> IntArray:
    numbers: IntArray = column.view(pa.int64()).to_numpy()
    return numbers
