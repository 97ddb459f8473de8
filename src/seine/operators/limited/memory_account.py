"""What a join within a memory has come to. Imports nothing heavy."""

from __future__ import annotations

from msgspec import Struct


class MemoryAccount(Struct, frozen=True):
    """Tuples shed, the most that were held, the importance emitted, and that which is likely to be lost."""

    shed: int
    peak: int
    emitted: float
    lost: float
