"""Segments: state survives as its head and blobs, and nothing outlives its last run."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from seine.runtime.folder.handover import StateHead
from seine.runtime.folder.segments import Segments


class Disk:
    """What a host keeps: the head packed, and the segments as blobs."""

    def __init__(self) -> None:
        self.head: bytes | None = None
        self.blobs: dict[str, bytes] = {}
        self.fetched: list[str] = []

    def open(self) -> Segments:
        return Segments(StateHead.unpacked(self.head) if self.head else None, self._fetch, 3)

    def _fetch(self, name: str) -> pa.Buffer:
        self.fetched.append(name)
        return pa.py_buffer(self.blobs[name])

    def save(self, segments: Segments) -> StateHead:
        head, added, gone = segments.changes()
        self.head = head.packed()
        assert not set(added) & set(self.blobs)
        self.blobs.update(added)
        for name in gone:
            del self.blobs[name]
        return head


def run(values: list[int]) -> pa.RecordBatch:
    return pa.record_batch({"v": pa.array(values, pa.int64()), "s": pa.array([f"é{v}" for v in values])})


def test_runs_and_heads_read_back() -> None:
    disk = Disk()
    first = disk.open()
    store = first.of(7)
    assert store.bucket == 3 and first.of(7) is store
    store.head["runs"] = [store.put(run([1, 2])), store.put(run([])), store.put(run([3]).slice(0, 1))]
    assert [store.get(name).num_rows for name in store.head["runs"]] == [2, 0, 1]
    disk.save(first)
    again = disk.open().of(7)
    assert [again.get(name).to_pydict() for name in again.head["runs"]] == [
        run([1, 2]).to_pydict(),
        run([]).to_pydict(),
        run([3]).to_pydict(),
    ]


def test_small_runs_share_a_segment_and_a_large_one_has_its_own() -> None:
    disk = Disk()
    segments = disk.open()
    small = [segments.of(node).put(run([node])) for node in (1, 2, 3)]
    large = segments.of(1).put(run(list(range(20_000))))
    assert len({name.split("/")[0] for name in small}) == 1
    head = disk.save(segments)
    assert set(disk.blobs) == {small[0].split("/")[0], large.split("/")[0]} == set(head.segments)
    later = disk.open()
    assert later.get(large).num_rows == 20_000 and len(disk.fetched) == 1
    for name in small:
        assert later.get(name).num_rows == 1
    assert len(disk.fetched) == 2, "a segment is fetched once"


def test_a_slice_is_as_small_as_its_rows() -> None:
    disk = Disk()
    segments = disk.open()
    segments.of(1).put(run(list(range(100_000))).slice(5, 2))
    disk.save(segments)
    assert sum(map(len, disk.blobs.values())) < 4096


def test_a_segment_goes_with_its_last_run() -> None:
    disk = Disk()
    segments = disk.open()
    one, two = segments.of(1).put(run([1])), segments.of(2).put(run([2]))
    disk.save(segments)
    segments = disk.open()
    segments.of(1).drop(one)
    disk.save(segments)
    assert len(disk.blobs) == 1
    segments = disk.open()
    with pytest.raises(KeyError):
        segments.get(one)
    segments.of(2).drop(two)
    assert disk.save(segments) == StateHead() and disk.blobs == {}


def test_a_run_dropped_at_once_is_never_written() -> None:
    disk = Disk()
    segments = disk.open()
    segments.of(1).drop(segments.of(1).put(run([1])))
    assert segments.changes() == (StateHead(), {}, [])


def test_asking_for_changes_changes_nothing() -> None:
    disk = Disk()
    segments = disk.open()
    kept, old = segments.of(1).put(run([1])), segments.of(2).put(run(list(range(20_000))))
    disk.save(segments)
    segments = disk.open()
    segments.of(1).head["at"] = [kept]
    segments.of(2).drop(old)
    fresh = segments.of(2).put(run([3]))
    assert segments.changes() == segments.changes()
    _, added, gone = segments.changes()
    assert len(added) == 1 and gone == [old.split("/")[0]]
    segments.of(2).drop(fresh)
    assert segments.changes()[1] == {}


def test_forgotten_operators_leave_nothing() -> None:
    disk = Disk()
    segments = disk.open()
    for node in (1, 11, 2):
        store = segments.of(node)
        store.head["runs"] = [store.put(run([node])), store.put(run(list(range(20_000))))]
    disk.save(segments)
    assert len(disk.blobs) == 4
    segments = disk.open()
    segments.forget_except([11, 5])
    kept = segments.of(11)
    assert [kept.get(name).num_rows for name in kept.head["runs"]] == [1, 20_000]
    assert segments.of(1).head == {}
    head = disk.save(segments)
    assert set(head.nodes) == {11} and len(disk.blobs) == 2
    segments = disk.open()
    segments.forget_except([])
    assert disk.save(segments) == StateHead() and disk.blobs == {}


def test_random_lives_of_runs() -> None:
    rng = random.Random(4)
    disk, alive = Disk(), dict[str, tuple[int, list[int]]]()
    checked = 0
    for _ in range(80):
        segments = disk.open()
        nodes = rng.sample(range(6), 5)
        segments.forget_except(nodes)
        alive = {name: (node, values) for name, (node, values) in alive.items() if node in nodes}
        for name in [name for name in alive if rng.random() < 0.4]:
            segments.of(alive.pop(name)[0]).drop(name)
        for _ in range(rng.randrange(4)):
            node, values = rng.choice(nodes), list(range(rng.choice([0, 1, 5, 9000])))
            alive[segments.of(node).put(run(values))] = (node, values)
        for name, (node, values) in alive.items():
            assert segments.of(node).get(name)["v"].to_pylist() == values
            checked += 1
        head = disk.save(segments)
        assert set(disk.blobs) == {name.split("/")[0] for name in alive} == set(head.segments)
    assert checked > 200
