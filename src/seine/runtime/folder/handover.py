"""The state of a stage in a bucket as files: how it gets from one pipeline to the next.

A folder has the segments by name and the file `head`, which is written last. A batch that is repeated
writes other segments and replaces the head: whatever head is read, all that it names is there. The settings
of the next pipeline say how many stages the one before had: that a head of theirs is missing is an error, it
never means empty state.
Imports nothing heavy: Spark starts many processes.

The head of the state of one stage in one bucket: it names what is alive. Imports nothing heavy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from seine.disk_sync import make_folder, write_whole
from seine.errors import RunError
from seine.typed_json import msgpack_decoder, plain_number

_HEAD = "head"  # no name of a segment, which is a number in hexadecimal


def handover_path(folder: str, entry: int) -> str:
    """Where an entry of a deployment leaves the state of all stages."""
    return os.path.join(folder, "handover", f"{entry:012d}")


def write_state(path: str, stage: int, bucket: int, head: StateHead, get: Callable[[str], bytes]) -> None:
    """Leave a head and the segments that it names, for good when this returns."""
    folder = _folder(path, stage, bucket)
    make_folder(folder)
    for name in head.segments:
        write_whole(os.path.join(folder, name), get(name))
    write_whole(os.path.join(folder, _HEAD), head.packed())


def read_head(path: str, stage: int, bucket: int, stages: int = 0) -> StateHead | None:
    """The head that a stage left; None if the pipeline, which had so many stages, had no such stage."""
    name = os.path.join(_folder(path, stage, bucket), _HEAD)
    if not os.path.exists(name):
        if stage <= stages:
            message = f"the state that stage {stage} handed over in bucket {bucket} is missing: '{name}'"
            raise RunError(message, hint="put it back, as from a backup, or begin with a new folder")
        return None
    with open(name, "rb") as file:
        return StateHead.unpacked(file.read())


def read_segment(path: str, stage: int, bucket: int, name: str) -> bytes:
    with open(os.path.join(_folder(path, stage, bucket), name), "rb") as file:
        return file.read()


def _folder(path: str, stage: int, bucket: int) -> str:
    return os.path.join(path, f"{stage}-{bucket}")


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


_ENCODER = msgspec.msgpack.Encoder(enc_hook=plain_number)
_DECODER = msgpack_decoder(StateHead)
