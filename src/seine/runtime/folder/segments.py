"""The state of one stage in one bucket, as segments: blobs of immutable runs.

Small runs of one micro-batch share a segment, so that a stage with many operators
writes few records; a large run has its own, so that it can go when it has expired. A
segment goes when its last run goes. The head names what is alive.

What becomes durable is condensed. A cache of segments has them expanded: both forms are a blob of parts,
and reading takes either.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pyarrow as pa

from seine.rows.arrow_ipc import Piece, ipc_pieces, read_ipc, size_of
from seine.runtime.folder.condensed import condense, expand
from seine.runtime.folder.state_head import PartKey, StateHead
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
