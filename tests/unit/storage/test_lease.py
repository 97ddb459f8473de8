"""A lease: one holder, in an epoch of its own."""

from __future__ import annotations

from seine.storage.lease import Lease
from tests.support.faulty_store import FaultyStore, lost_answer


def test_who_loses_the_answer_knows_whose_it_is() -> None:
    store = FaultyStore()
    store.fault = lambda number, call: lost_answer() if call.startswith("swap") else None
    one, other = Lease(store, "lease", "one"), Lease(store, "lease", "other")
    assert one.take() == 0
    assert other.take() is None
    assert one.renew()


def test_what_is_released_is_taken_at_once() -> None:
    store = FaultyStore()
    one, other = Lease(store, "lease", "one"), Lease(store, "lease", "other")
    assert not one.renew()
    one.take()
    one.release()
    assert other.take() == 1
    assert not one.renew()


def test_of_two_that_saw_it_free_one_gets_it() -> None:
    store = FaultyStore()
    one, other = Lease(store, "lease", "one"), Lease(store, "lease", "other")
    got: list[int | None] = []
    swap = store.swap

    def late(name: str, content: bytes, before: bytes | None) -> bool:
        if not got:
            got.append(-1)
            got.append(other.take())
        return swap(name, content, before)

    store.swap = late  # type: ignore[method-assign]
    assert one.take() is None
    assert got == [-1, 0]
