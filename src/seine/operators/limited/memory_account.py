"""The reported metrics of a memory-limited join. Imports nothing heavy."""

from __future__ import annotations

from msgspec import Struct


class MemoryAccount(Struct, frozen=True):
    """Tuples shed, the most that were held, importance delivered, and importance lost (an estimate)."""

    shed: int
    peak: int
    delivered: float
    lost: float
