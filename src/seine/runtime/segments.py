"""The state of one stage in one bucket, as segments: blobs of immutable runs.

Small runs of one micro-batch share a segment, so that a stage with many operators
writes few records; a large run has its own, so that it can go when it has expired. A
segment goes when its last run goes. The head, one JSON record, names what is alive.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pyarrow as pa

from seine.runtime.parcels import ipc_bytes, read_ipc

_SMALL = 1 << 16
_ALIGN = 64

Fetch = Callable[[str], pa.Buffer]


class Segments:
    """State opened for one micro-batch; `changes` says what must become durable.

    `head` is what the last micro-batch left (None at first); `fetch` gets a segment by name.
    """

    def __init__(self, head: dict[str, Any] | None, fetch: Fetch, bucket: int) -> None:
        head = head or {"nodes": {}, "segments": {}}
        self._heads: dict[str, dict[str, Any]] = head["nodes"]
        self._segments: dict[str, dict[str, list[int]]] = head["segments"]
        self._fetch = fetch
        self.bucket = bucket
        self._opened: dict[str, pa.Buffer] = {}
        self._fresh: dict[str, pa.RecordBatch] = {}
        self._shared = uuid.uuid4().hex
        self._count = 0
        self._stores: dict[int, NodeStore] = {}

    def of(self, node_id: int) -> NodeStore:
        if node_id not in self._stores:
            self._stores[node_id] = NodeStore(self, node_id, self._heads.setdefault(str(node_id), {}))
        return self._stores[node_id]

    def forget_except(self, node_ids: Iterable[int]) -> None:
        alive = {str(i) for i in node_ids}
        for name in [name for name in self._heads if name not in alive]:
            del self._heads[name]
        for parts in self._segments.values():
            for part in [part for part in parts if part.split(".")[0] not in alive]:
                del parts[part]

    def put(self, node_id: int, batch: pa.RecordBatch) -> str:
        self._count += 1
        segment = self._shared if batch.nbytes < _SMALL else uuid.uuid4().hex
        name = f"{segment}/{node_id}.{self._count}"
        self._fresh[name] = batch
        return name

    def get(self, name: str) -> pa.RecordBatch:
        if name in self._fresh:
            return self._fresh[name]
        segment, part = name.split("/")
        if segment not in self._opened:
            self._opened[segment] = self._fetch(segment)
        offset, length = self._segments[segment][part]
        return read_ipc(self._opened[segment].slice(offset, length))

    def drop(self, name: str) -> None:
        if self._fresh.pop(name, None) is None:
            segment, part = name.split("/")
            del self._segments[segment][part]

    def changes(self) -> tuple[dict[str, Any], dict[str, bytes], list[str]]:
        """The new head, the segments to add and the names of those to remove; asking changes nothing."""
        heads = {node: head for node, head in self._heads.items() if head}
        segments = {name: parts for name, parts in self._segments.items() if parts}
        gone = [name for name, parts in self._segments.items() if not parts]
        added: dict[str, bytes] = {}
        for segment, members in self._fresh_parts().items():
            segments[segment], added[segment] = _lay_out(members)
        return {"nodes": heads, "segments": segments}, added, gone

    def _fresh_parts(self) -> dict[str, dict[str, pa.Buffer]]:
        """The runs put in this micro-batch, by segment and part."""
        parts: dict[str, dict[str, pa.Buffer]] = {}
        for name, batch in self._fresh.items():
            segment, part = name.split("/")
            parts.setdefault(segment, {})[part] = ipc_bytes(batch)
        return parts


def _lay_out(members: dict[str, pa.Buffer]) -> tuple[dict[str, list[int]], bytes]:
    """The [offset, length] of each part, and the blob that has them there, aligned for Arrow."""
    places: dict[str, list[int]] = {}
    pieces: list[pa.Buffer | bytes] = []
    offset = 0
    for part, buffer in members.items():
        places[part] = [offset, buffer.size]
        padding = -buffer.size % _ALIGN
        pieces += [buffer, bytes(padding)]
        offset += buffer.size + padding
    return places, b"".join(pieces)


class NodeStore:
    """The Store of one operator, on the segments of its bucket."""

    def __init__(self, segments: Segments, node_id: int, head: dict[str, Any]) -> None:
        self.head = head
        self.bucket = segments.bucket
        self.put = partial(segments.put, node_id)
        self.get = segments.get
        self.drop = segments.drop
