"""A standing sink as the catalog keeps it."""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.definitions import SinkDef


@dataclass(frozen=True)
class StoredSink:
    """A sink, an `identity` that no other has or will have, and where it begins to read.

    `start` is the length of the results at its creation, in bytes: it delivers what comes after.
    """

    definition: SinkDef
    identity: str
    start: int
