"""The capacity of windows: how many tuples the window of each stream of a memory-limited join may hold.

A limit in tuples is divided evenly among the streams, rounded down. A limit in bytes is divided by what one
tuple of each stream takes: the mean over all tuples that arrived before the last fixed point of event time.
Fixed points are the multiples of sixteen of the longest windows.

Law: the capacity at an instant depends on the tuples before it alone, not on how the input was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.operators.limited.residents import ArrivedTuples
from seine.shedding.policy import FLOATS, INTS

if TYPE_CHECKING:
    from seine.operators.limited.limited_node import LimitedNode

_RANK_BYTES = 8 * len(INTS + FLOATS)  # what shedding keeps of a tuple besides its tokens
_TOKEN_BYTES = 8
_WINDOWS_BETWEEN_POINTS = 16  # of the longest window, between two fixed points
_ASSUMED_BYTES = 32  # of a tuple's columns and tokens, before any has arrived


class WindowCapacity:
    """The capacity of the windows of one join; `note` is the part of the store's head where it is kept."""

    def __init__(self, node: LimitedNode, note: dict[str, Any]) -> None:
        self._limit, self._ports = node.memory, len(node.ports)
        windows = [node.star.items[number].window for number in node.star.streams]
        self.period = _WINDOWS_BETWEEN_POINTS * max(window for window in windows if window is not None)
        self._note = note
        if not note:
            nothing = [[0, 0] for _ in windows]
            note.update(point=None, seen=nothing, measured=self._tuples(nothing), granted=None, reached=None)

    @property
    def tuples(self) -> int:
        """How many tuples each window may hold."""
        measured: int = self._note["measured"]
        granted: int | None = self._note["granted"]
        return measured if granted is None else min(measured, granted)

    @property
    def most(self) -> int:
        """How many tuples all windows together may hold by the query's limit, without a grant."""
        return self._ports * int(self._note["measured"])

    def grant(self, tuples: int) -> None:
        """From a shared budget: all windows together may hold so many tuples, until the next grant."""
        self._note["granted"] = tuples // self._ports

    def reach(self, point: int) -> bool:
        """The shared budget reaches a fixed point; returns whether it is a new one."""
        new = self._note["reached"] is None or point > self._note["reached"]
        self._note["reached"] = point
        return new

    @property
    def varies(self) -> bool:
        """Whether the capacity changes at fixed points: the limit is in bytes."""
        return self._limit.bytes is not None

    def pass_point(self, instant: int) -> None:
        """Before the arrivals of an instant: measure again if a fixed point has been passed."""
        point = instant // self.period
        if self.varies and (self._note["point"] is None or point > self._note["point"]):
            self._note["point"] = point
            self._note["measured"] = self._tuples(self._note["seen"])

    def see(self, arrived: Sequence[ArrivedTuples]) -> None:
        """Count the bytes of arrivals."""
        if self.varies:
            for seen, stream in zip(self._note["seen"], arrived, strict=True):
                seen[0] += stream.batch.num_rows
                seen[1] += _bytes_of(stream)

    def _tuples(self, seen: Sequence[Sequence[int]]) -> int:
        """The capacity of each window, given (tuples, bytes) of what has arrived by each port."""
        if self._limit.tuples is not None:
            return self._limit.tuples // self._ports
        assert self._limit.bytes is not None
        each = sum(_RANK_BYTES + (size / count if count else _ASSUMED_BYTES) for count, size in seen)
        return int(self._limit.bytes / each)


def _bytes_of(arrived: ArrivedTuples) -> int:
    """The bytes of tuples as Arrow columns, and of their tokens."""
    tokens = int(arrived.arrivals.offsets[-1] - arrived.arrivals.offsets[0]) * _TOKEN_BYTES
    return tokens + sum(map(_column_bytes, arrived.batch.columns))


def _column_bytes(column: pa.Array) -> int:
    """The bytes of the values, independent of buffers and offsets."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return 4 * len(column) + int(pc.sum(pc.binary_length(column)).as_py() or 0)
    return int(np.ceil(len(column) * column.type.bit_width / 8))
