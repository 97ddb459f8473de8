"""The state of a stage in a bucket: how it gets from one pipeline to the next.

    handover/<entry>/heads/<stage>-<bucket>/     which attempt left the state last, and its head
    handover/<entry>/segments/<attempt>/<name>   what that head names

A batch that is repeated writes other segments and replaces the head, which comes last: whatever head is read,
all that it names is there. The settings of the next pipeline say how many stages the one before had: that a
head of theirs is missing is an error, it never means empty state.
Imports nothing heavy: Spark starts many processes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from seine.errors import RunError
from seine.storage.log import Register
from seine.storage.store import Store
from seine.typed_json import msgpack_decoder, plain_number

HANDOVERS = "handover/"  # what all names here begin with


class Handover:
    """What the stages of a pipeline leave with an entry.

    >>> from seine.storage.memory import MemoryStore
    >>> left = Handover(MemoryStore(), 7)
    >>> left.leave(1, 0, StateHead(segments={"ab": []}), lambda name: b"rows")
    >>> head = left.head(1, 0)
    >>> head.state.segments, left.segment(head, "ab"), left.head(2, 0)
    ({'ab': []}, b'rows', None)
    """

    def __init__(self, store: Store, entry: int) -> None:
        self._store, self._top = store, f"{HANDOVERS}{entry:012d}"

    def leave(self, stage: int, bucket: int, head: StateHead, get: Callable[[str], bytes]) -> None:
        """Leave a head and the segments that it names, for good when this returns."""
        attempt = uuid.uuid4().hex
        for name in head.segments:
            self._store.put(self._segment(attempt, name), get(name))
        content = _ENCODER.encode(LeftHead(attempt, head))
        self._head(stage, bucket).change(lambda _: content)

    def head(self, stage: int, bucket: int, stages: int = 0) -> LeftHead | None:
        """The head that a stage left; None if the pipeline, which had so many stages, had no such stage."""
        content = self._head(stage, bucket).read()
        if content is not None:
            return _LEFT.decode(content)
        if stage > stages:
            return None
        place = f"{self._store.place}/{self._top}"
        message = f"the state that stage {stage} handed over in bucket {bucket} is missing: '{place}'"
        raise RunError(message, hint="put it back, as from a backup, or begin with a new folder")

    def segment(self, head: LeftHead, name: str) -> bytes:
        """A segment that a head names."""
        return self._store.get(self._segment(head.attempt, name))

    def _head(self, stage: int, bucket: int) -> Register:
        return Register(self._store, f"{self._top}/heads/{stage}-{bucket}")

    def _segment(self, attempt: str, name: str) -> str:
        return f"{self._top}/segments/{attempt}/{name}"


class PartKey(NamedTuple):
    """A run of one node in a segment: no other run of that segment has this node and number."""

    node: int
    number: int


class StateHead(Struct, frozen=True):
    """What the operators remember, by node, and of each segment the runs that are alive."""

    nodes: dict[int, dict[str, Any]] = field(default_factory=dict)
    segments: dict[str, list[PartKey]] = field(default_factory=dict)

    def packed(self) -> bytes:
        """As MessagePack: a head is read and written by every stage in every micro-batch.

        >>> head = StateHead({7: {"rows": [1, -1.5]}}, {"ab": [PartKey(7, 1)]})
        >>> StateHead.unpacked(head.packed()) == head
        True
        """
        return _ENCODER.encode(self)

    @staticmethod
    def unpacked(blob: bytes) -> StateHead:
        return _DECODER.decode(blob)


class LeftHead(Struct, frozen=True):
    """A head, and the attempt that left its segments."""

    attempt: str
    state: StateHead


_ENCODER = msgspec.msgpack.Encoder(enc_hook=plain_number)
_DECODER = msgpack_decoder(StateHead)
_LEFT = msgpack_decoder(LeftHead)
