"""Fewer garbage collections where very many objects stay. Imports nothing heavy.

Python looks through all objects again whenever there are a quarter more of them. Where a network of 100,000
queries is built that is a third of the time, and nothing is ever there to be freed. Later each batch makes
objects that soon go, and every now and then all those that stay are looked through for them.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_THRESHOLDS = (10_000_000, 100, 1_000)  # of the garbage collector, by generation
_MOST_GROWTH = 1.25  # of memory, until what is set aside is looked through as well
_TASKS_BETWEEN_LOOKS = 64  # at memory
_lock = Lock()
_within = 0  # threads that make much which stays
_usual = gc.get_threshold()  # while nobody does
_blocks_kept = 0  # of memory, when what is set aside was looked through last
_tasks = 0  # since memory was looked at


@contextmanager
def rare_collections(wanted: bool = True) -> Iterator[None]:
    """Let garbage hardly ever be looked for among objects that all stay.

    What is made and dropped meanwhile should have no cycles, so that it needs no collection. What was made is
    set aside in the end, and no later collection looks through it; it is looked through before more are made,
    if memory has grown.
    """
    global _blocks_kept
    if not wanted:
        yield
        return
    if _blocks_kept:
        set_aside()
    _enter(+1)
    try:
        yield
    finally:
        _enter(-1)
    gc.freeze()
    _blocks_kept = _blocks_kept or sys.getallocatedblocks()


def _enter(step: int) -> None:
    """One thread more, or less; the first and the last set the thresholds, in whatever order they leave."""
    global _within, _usual
    with _lock:
        if _within == 0:
            _usual = gc.get_threshold()
        _within += step
        gc.set_threshold(*(_THRESHOLDS if _within else _usual))


def set_aside() -> None:
    """Leave all objects that there are now out of further collections; those that nobody names still go.

    Blocks of memory are asked for instead of the objects that are set aside: to count these is to visit all.
    """
    global _blocks_kept
    gc.freeze()
    if sys.getallocatedblocks() > _MOST_GROWTH * _blocks_kept:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        _blocks_kept = sys.getallocatedblocks()


def set_aside_after_task() -> None:
    """The same after each task, at next to no cost: what is there between two tasks stays as a rule.

    Much of what is compiled is made when rows first come, batch after batch.
    """
    global _tasks
    _tasks += 1
    if _tasks < _TASKS_BETWEEN_LOOKS:
        gc.freeze()
    else:
        _tasks = 0
        set_aside()
