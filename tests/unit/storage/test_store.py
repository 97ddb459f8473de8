"""The laws of a store, of every one that there is."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from seine.storage.local import LocalStore
from seine.storage.memory import MemoryStore
from seine.storage.store import MissingObjectError, Store
from tests.support.faulty_store import FaultyStore

STORES: dict[str, Callable[[Path], Store]] = {
    "local": lambda folder: LocalStore(str(folder / "store")),
    "memory": lambda folder: MemoryStore(),
    "faulty": lambda folder: FaultyStore(),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return STORES[request.param](tmp_path)


def test_what_was_put_is_got(store: Store) -> None:
    store.put("a/b/one", b"0123456789")
    store.put("parts", (part for part in (b"01", memoryview(b"23"), bytearray(b"4"))))
    store.put("empty", b"", settled=False)

    assert store.get("a/b/one") == b"0123456789"
    assert store.get("a/b/one", 3) == b"3456789"
    assert store.get("a/b/one", 3, 5) == b"34"
    assert store.get("a/b/one", 8, 100) == b"89"
    assert store.get("parts") == b"01234"
    assert store.get("empty") == b""


def test_what_is_not_there_is_missing(store: Store) -> None:
    store.put("a/b", b"1")
    for name in ("b", "a/c", "a", "a/b/c"):
        with pytest.raises(MissingObjectError):
            store.get(name)


def test_a_claim_is_won_once(store: Store) -> None:
    won: list[int] = []

    def claim(number: int) -> None:
        if store.claim("log/0", f"{number}".encode() * 1000):
            won.append(number)

    threads = [Thread(target=claim, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert store.get("log/0") == f"{won[0]}".encode() * 1000
    assert not store.claim("log/0", b"later")


def test_a_swap_replaces_what_was_read_alone(store: Store) -> None:
    assert not store.swap("lease", b"1", b"0")
    assert store.swap("lease", b"1", None)
    assert not store.swap("lease", b"2", None)
    assert store.swap("lease", b"2", b"1")
    assert not store.swap("lease", b"3", b"1")
    assert store.get("lease") == b"2"


def test_names_come_in_order(store: Store) -> None:
    names = ["a-b/c", "a/b", "a/b-c", "a/b/c/d", "a/x", "b"]
    for name in reversed(names):
        if name != "a/b":  # a name is no part of another one
            store.put(name, b"")
    names.remove("a/b")
    assert [*store.list("")] == names
    assert [*store.list("a/")] == ["a/b-c", "a/b/c/d", "a/x"]
    assert [*store.list("a/b")] == ["a/b-c", "a/b/c/d"]
    assert [*store.list("a/", after="a/b-c")] == ["a/b/c/d", "a/x"]
    assert [*store.list("c/")] == []


def test_what_is_deleted_is_gone(store: Store) -> None:
    for name in ("a/1", "a/2", "b"):
        store.put(name, b"1")
    kept = store.local("a/1")
    store.delete(["a/1", "a/3", "c/d"])
    assert [*store.list("")] == ["a/2", "b"]
    store.delete(["a/2"])
    store.put("a/4", b"4")
    assert [*store.list("")] == ["a/4", "b"]
    assert kept.to_pybytes() == b"1"


def test_an_object_is_read_in_place(store: Store) -> None:
    store.put("rows", b"0123456789")
    store.put("none", b"")
    assert store.local("rows").slice(2, 3).to_pybytes() == b"234"
    assert store.local("none").to_pybytes() == b""
    with pytest.raises(MissingObjectError):
        store.local("other")


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "../a", "a/.hidden", "."])
def test_bad_names_are_refused(store: Store, name: str) -> None:
    for call in (lambda: store.put(name, b""), lambda: store.claim(name, b"")):
        with pytest.raises(ValueError, match="is no name of an object"):
            call()


def test_a_store_is_given_to_others(store: Store) -> None:
    store.put("a", b"1")
    other: Store = pickle.loads(pickle.dumps(store))  # noqa: S301
    other.put("b", b"2")
    assert (other.get("a"), store.get("b")) == (b"1", b"2")


def test_settling_an_empty_store_does_nothing(store: Store) -> None:
    store.settle()
    assert [*store.list("")] == []
