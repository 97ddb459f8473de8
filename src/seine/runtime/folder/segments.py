"""The state of one stage in one bucket, as segments: blobs of immutable runs.

Small runs of one micro-batch share a segment, so that a stage with many operators
writes few records; a large run has its own, so that it can go when it has expired. A
segment goes when its last run goes. The head names what is alive.

What becomes durable is condensed. A cache of segments has them expanded: both forms are a blob of parts,
and reading takes either.

Compression of batches: columns that follow from others are left out.

What a run carries for speed need not be durable: an index, the hash of a key, a time that is another
time and a constant. Law: expand(condense(batch)) equals batch, whatever the batch.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct

from seine.algebra.arrays import IntArray
from seine.algebra.types import TIMESTAMP
from seine.operators.state.sorted_run import INDEX, KEY, index_of
from seine.rows.arrow_ipc import Piece, ipc_pieces, read_ipc, size_of
from seine.rows.hashing import hash_columns
from seine.runtime.folder.handover import PartKey, StateHead
from seine.typed_json import json_decoder

_SMALL_BYTES = 1 << 16  # of a run that shares a segment
_ALIGN = 64
_LENGTH_BYTES = 8

Fetch = Callable[[str], pa.Buffer]
Parts: TypeAlias = dict[PartKey, pa.RecordBatch]  # the runs of a segment


class Segments:
    """State opened for one micro-batch; `changes` says what must become durable.

    `head` is what the last micro-batch left (None at first); `fetch` gets a segment by name. Runs that are
    `at_hand`, by segment and part, need not be fetched; which are alive only the head says. An operator knows
    a run by a name that is unique for ever: its segment, node and number, and size, as text.
    """

    def __init__(
        self,
        head: StateHead | None,
        fetch: Fetch,
        bucket: int,
        at_hand: Mapping[str, Parts] | None = None,
    ) -> None:
        head = head or StateHead()
        self._heads = head.nodes
        self._segments = head.segments  # the parts that are alive
        self._fetch = fetch
        self._at_hand = at_hand or {}
        self.bucket = bucket
        self._opened: dict[str, dict[PartKey, pa.Buffer]] = {}
        self._fresh: dict[str, Parts] = {}  # put in this micro-batch, by segment
        self._shared = uuid.uuid4().hex
        self._count = 0
        self._stores: dict[int, NodeStore] = {}

    def of(self, node_id: int) -> NodeStore:
        if node_id not in self._stores:
            self._stores[node_id] = NodeStore(self, node_id, self._heads.setdefault(node_id, {}))
        return self._stores[node_id]

    def forget_except(self, node_ids: Iterable[int]) -> None:
        alive = set(node_ids)
        for node in [node for node in self._heads if node not in alive]:
            del self._heads[node]
        for parts in self._segments.values():
            parts[:] = [part for part in parts if part.node in alive]

    def put(self, node_id: int, batch: pa.RecordBatch) -> str:
        self._count += 1
        segment = self._shared if batch.nbytes < _SMALL_BYTES else uuid.uuid4().hex
        part = PartKey(node_id, self._count)
        self._fresh.setdefault(segment, {})[part] = batch
        return _run_name(segment, part, batch.nbytes)

    def get(self, name: str) -> pa.RecordBatch:
        segment, part = _run_of(name)
        if part in self._fresh.get(segment, ()):
            return self._fresh[segment][part]
        if part not in self._segments.get(segment, ()):
            raise KeyError(name)
        if segment in self._at_hand:
            return self._at_hand[segment][part]
        if segment not in self._opened:
            self._opened[segment] = _parts_of(self._fetch(segment))
        return expand(read_ipc(self._opened[segment][part]))

    def drop(self, name: str) -> None:
        segment, part = _run_of(name)
        if self._fresh.get(segment, {}).pop(part, None) is None:
            self._segments[segment].remove(part)

    def changes(self) -> tuple[StateHead, dict[str, bytes], list[str]]:
        """The new head, the segments to add and the names of those to remove; asking changes nothing."""
        heads = {node: head for node, head in self._heads.items() if head}
        segments = {name: parts for name, parts in self._segments.items() if parts}
        gone = [name for name, parts in self._segments.items() if not parts]
        added: dict[str, bytes] = {}
        for segment, members in self.fresh().items():
            segments[segment] = list(members)
            condensed = {part: ipc_pieces(condense(batch, part.node)) for part, batch in members.items()}
            added[segment] = b"".join(_lay_out(condensed))
        return StateHead(heads, segments), added, gone

    def expanded(self) -> dict[str, list[Piece]]:
        """The segments to add as the pieces of blobs that are quick to read."""
        return {
            segment: _lay_out({part: ipc_pieces(batch) for part, batch in members.items()})
            for segment, members in self.fresh().items()
        }

    def fresh(self) -> dict[str, Parts]:
        """The runs put in this micro-batch, by segment and part."""
        return {segment: parts for segment, parts in self._fresh.items() if parts}


def expand_segment(blob: bytes) -> list[Piece]:
    """The pieces of the quick blob of a durable one."""
    parts = _parts_of(pa.py_buffer(blob))
    return _lay_out({part: ipc_pieces(expand(read_ipc(buffer))) for part, buffer in parts.items()})


def _run_name(segment: str, part: PartKey, size: int) -> str:
    return f"{segment}/{part.node}.{part.number}.{size}"


def _run_of(name: str) -> tuple[str, PartKey]:
    """The inverse of `_run_name`; names of before runs had sizes are understood, too.

    >>> _run_of("ab/7.1.4096") == _run_of("ab/7.1") == ("ab", PartKey(7, 1))
    True
    """
    segment, _, part = name.partition("/")
    node, number, *_ = part.split(".")
    return segment, PartKey(int(node), int(number))


_SIZED_NAME = re.compile(r"[0-9a-f]{32}/\d+\.\d+\.(\d+)")


def held_bytes(head: object) -> int:
    """The bytes of the runs that a head names, in memory; of runs from before they had sizes, none.

    >>> held_bytes({"rows": [{"run": "0" * 32 + "/7.1.4096", "min_s": 3}], "mask": "0" * 32 + "/7.2.4"})
    4100
    """
    if isinstance(head, str):
        name = _SIZED_NAME.fullmatch(head)
        return int(name[1]) if name else 0
    if isinstance(head, dict):
        return sum(map(held_bytes, head.values()))
    return sum(map(held_bytes, head)) if isinstance(head, list) else 0


class _PartSize(NamedTuple):
    """A part in the header of a blob, with the bytes that it takes."""

    node: int
    number: int
    size: int


_SIZES = json_decoder(list[_PartSize])


def _lay_out(members: dict[PartKey, list[Piece]]) -> list[Piece]:
    """A blob in pieces: the sizes of its parts, then the parts, all aligned for Arrow."""
    sizes = {part: size_of(body) for part, body in members.items()}
    header = msgspec.json.encode([_PartSize(*part, size) for part, size in sizes.items()])
    header += b" " * (-(len(header) + _LENGTH_BYTES) % _ALIGN)
    pieces: list[Piece] = [len(header).to_bytes(_LENGTH_BYTES, "little"), header]
    for part, body in members.items():
        pieces += [*body, bytes(-sizes[part] % _ALIGN)]
    return pieces


def _parts_of(blob: pa.Buffer) -> dict[PartKey, pa.Buffer]:
    """The inverse of joining what `_lay_out` gives."""
    offset = _LENGTH_BYTES + int.from_bytes(blob.slice(0, _LENGTH_BYTES), "little")
    parts: dict[PartKey, pa.Buffer] = {}
    for node, number, size in _SIZES.decode(blob.slice(_LENGTH_BYTES, offset - _LENGTH_BYTES)):
        parts[PartKey(node, number)] = blob.slice(offset, size)
        offset += size + -size % _ALIGN
    return parts


class NodeStore:
    """The Store of one operator, on the segments of its bucket."""

    def __init__(self, segments: Segments, node_id: int, head: dict[str, Any]) -> None:
        self.head = head
        self.bucket = segments.bucket
        self.put = partial(segments.put, node_id)
        self.get = segments.get
        self.drop = segments.drop


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
