"""What is set aside is left out of collections, until it has grown."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from seine import rare_collections


class Ring:
    """An object that names itself, so that only a collection frees it."""

    freed = 0

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        Ring.freed += 1


@pytest.fixture(autouse=True)
def _thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Ring, "freed", 0)
    monkeypatch.setattr(rare_collections, "_blocks_kept", 0)
    yield
    gc.unfreeze()


def test_garbage_that_is_set_aside_stays_until_memory_has_grown() -> None:
    rare_collections.set_aside()
    Ring()
    rare_collections.set_aside()
    gc.collect()
    assert Ring.freed == 0
    rare_collections._blocks_kept = 0
    rare_collections.set_aside()
    assert Ring.freed == 1


def test_tasks_set_aside_and_look_at_memory_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rare_collections, "_tasks", 0)
    Ring()
    for _ in range(rare_collections._TASKS_BETWEEN_LOOKS - 1):
        rare_collections.set_aside_after_task()
        gc.collect()
    assert Ring.freed == 0
    rare_collections.set_aside_after_task()
    assert Ring.freed == 1


def test_thresholds_are_as_before_when_threads_leave_in_another_order() -> None:
    before = gc.get_threshold()
    first, second = rare_collections.rare_collections(), rare_collections.rare_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() != before
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_thresholds_are_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with rare_collections.rare_collections():
        assert gc.get_threshold() != before
    assert gc.get_threshold() == before


def test_nothing_is_looked_through_while_and_after_a_bulk_is_made() -> None:
    looks: list[str] = []
    gc.callbacks.append(lambda phase, info: looks.append(phase))
    try:
        with rare_collections.rare_collections():
            kept = [[number] for number in range(200_000)]
    finally:
        gc.callbacks.pop()
    assert len(kept) == 200_000 and not looks


def test_what_a_bulk_has_left_is_looked_through_before_the_next() -> None:
    with rare_collections.rare_collections():
        ring = Ring()
    del ring
    gc.collect()
    assert Ring.freed == 0
    rare_collections._blocks_kept = 1
    with rare_collections.rare_collections():
        assert Ring.freed == 1
