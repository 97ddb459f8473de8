"""Fewer garbage collections while very many objects are made that all stay. Imports nothing heavy.

Python looks through all objects again whenever there are a quarter more of them. Where a network of 100,000
queries is built that is a third of the time, and nothing is ever there to be freed.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (1_000_000, 100, 1_000)  # of the garbage collector, by generation


@contextmanager
def rare_collections(wanted: bool = True) -> Iterator[None]:
    """Let garbage be looked for among the young, and hardly ever among objects that all stay."""
    usual = gc.get_threshold()
    if wanted:
        gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
