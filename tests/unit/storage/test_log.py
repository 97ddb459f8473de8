"""A log and its registers: one history, whoever sleeps, whatever answer is lost, whenever the power goes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from threading import Semaphore, Thread, current_thread

import pytest

from seine.storage.lease import Lease
from seine.storage.log import FencedError, Log, Register
from seine.storage.memory import MemoryStore
from seine.storage.store import Content, UnknownOutcomeError
from tests.support.faulty_store import Fault, FaultyStore, StoreCut, distinct_cuts, lost_answer
from tests.support.seeds import seed_range

_ENTRIES = 12


def test_a_writer_that_slept_is_refused() -> None:
    store = MemoryStore()
    old, new = Log(store, "log"), Log(store, "log")
    old.begin()
    old.append(b"1")
    assert [record.content for record in new.begin()] == [b"1"]
    with pytest.raises(FencedError):
        old.append(b"2")
    new.append(b"3")
    assert [record.content for record in Log(store, "log").read()] == [b"1", b"3"]


def test_a_writer_is_refused_where_records_have_gone() -> None:
    store = MemoryStore()
    old, new = Log(store, "log"), Log(store, "log")
    old.begin()
    old.append(b"1")
    new.begin()
    for number in range(10):
        new.append(b"%d" % number, whole=True)
        new.tidy()
    with pytest.raises(FencedError):
        old.append(b"2")
    assert [record.content for record in new.read()] == [b"9"]


def test_a_log_that_has_not_begun_is_not_written() -> None:
    with pytest.raises(FencedError):
        Log(MemoryStore(), "log").append(b"1")


def test_epochs_grow() -> None:
    store = MemoryStore()
    log = Log(store, "log")
    for epoch in range(3):
        log.begin()
        assert log.epoch == epoch
    log.begin(7)
    assert log.epoch == 7
    with pytest.raises(FencedError):
        log.begin(7)


def test_only_some_beginnings_are_kept() -> None:
    store = MemoryStore()
    for _ in range(300):
        log = Log(store, "log")
        log.begin()
        log.append(b"all", whole=True)
        log.tidy()
    assert len(store.objects) == 257
    assert log.since_whole == 1


def test_a_register_is_replaced_by_who_has_seen_it() -> None:
    store = MemoryStore()
    one, other = Register(store, "tokens"), Register(store, "tokens")
    one.write(b"1")
    with pytest.raises(FencedError):
        other.write(b"2")
    assert other.read() == b"1"
    for number in range(3):
        one.write(b"%d" % number)
    with pytest.raises(FencedError):
        other.write(b"2")  # the number that it would have is free again
    assert other.change(lambda now: (now or b"") + b"!") == b"2!"
    assert one.read() == b"2!"
    assert len(store.objects) == 1


def test_no_power_cut_loses_a_record() -> None:
    store = FaultyStore(recording=True)
    log, register = Log(store, "log"), Register(store, "register")
    done: list[tuple[int, list[bytes], bytes | None]] = [(0, [], None)]  # the cuts so far, and what is kept
    kept: list[bytes] = []
    log.begin()
    for number in range(12):
        content = b"%d" % number
        whole = number % 4 == 3
        log.append(content, whole=whole)
        kept = [content] if whole else [*kept, content]
        done.append((len(store.cuts), kept, done[-1][2]))
        log.tidy()
        register.write(content)
        done.append((len(store.cuts), kept, content))
    tried = 0
    for place, cut in enumerate(store.cuts):
        before = [one for one in done if one[0] <= place][-1]
        after = [one for one in done if one[0] > place]
        recovered = FaultyStore(cut.objects)
        records = [record.content for record in Log(recovered, "log").read()]
        held = Register(recovered, "register").read()
        assert records in (before[1], after[0][1] if after else before[1]), cut
        assert held in (before[2], after[0][2] if after else before[2]), cut
        Log(recovered, "log").begin()
        Register(recovered, "register").change(lambda now: b"new")
        assert Register(recovered, "register").read() == b"new"
        assert [record.content for record in Log(recovered, "log").read()] == records
        tried += 1
    assert tried > 60


@pytest.mark.parametrize("lost", [False, True])
def test_a_call_that_fails_leaves_one_history(lost: bool) -> None:
    failed = 0
    for place in range(30):
        store = FaultyStore()
        fault = lost_answer() if lost else Fault(OSError(5, "Input/output error"))
        store.fault = lambda number, call, place=place, fault=fault: fault if number == place else None  # type: ignore[misc]
        for _ in range(2):
            try:
                _count_to(5, Log(store, "log"))
            except OSError:
                failed += 1
        assert [record.content for record in Log(store, "log").read()] == [b"3", b"4", b"5"]
    assert failed >= (1 if lost else 8)


def _count_to(last: int, log: Log) -> None:
    """Go on with the numbers that a log has."""
    records = log.begin()
    for number in range(int(records[-1].content) + 1 if records else 0, last + 1):
        log.append(b"%d" % number, whole=number == 3)
        log.tidy()


class SlowStore(FaultyStore):
    """A store whose callers wait, before and after each call, until it is their turn."""

    def __init__(self, wait: Callable[[], None], rng: random.Random) -> None:
        super().__init__()
        self.committed: list[int] = []  # the entries that records of the log are of, as they came
        self._committed: set[bytes] = set()
        self._wait, self._rng = wait, rng

    def get(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        self._wait()
        return super().get(name, begin, end)

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        self._wait()
        return super().list(prefix, after)

    def put(self, name: str, content: Content, *, settled: bool = True) -> None:
        self._wait()
        super().put(name, content, settled=settled)

    def delete(self, names: Iterable[str]) -> None:
        self._wait()
        super().delete(names)

    def swap(self, name: str, content: bytes, before: bytes | None) -> bool:
        self._wait()
        swapped = super().swap(name, content, before)
        entry = content.partition(b"\n")[2].split()
        if swapped and entry and content not in self._committed:  # what it lost and wrote again is one record
            self._committed.add(content)
            self.committed.append(int(entry[0]))
        self._wait()
        if self._rng.random() < 0.1:
            raise UnknownOutcomeError(110, "the answer was lost", name)
        return swapped


class Drivers:
    """Processes that sleep at any call, with clocks of their own, and entries to commit in order."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.clocks = {me: self.rng.uniform(0, 20) for me in "abc"}
        self.store = SlowStore(self._wait, self.rng)
        self._turns = {me: Semaphore(0) for me in self.clocks}
        self._done = Semaphore(0)  # a driver has had its turn
        self._errors: list[BaseException] = []

    def run(self) -> None:
        running = {me: Thread(target=self._run, name=me, args=(me,)) for me in self.clocks}
        for thread in running.values():
            thread.start()
            self._done.acquire()
        asleep: dict[str, int] = {}
        for step in count():
            running = {me: thread for me, thread in running.items() if me in self._turns}
            if not running:
                break
            for me in self.clocks:
                self.clocks[me] += self.rng.random() * self.rng.choice([0.1, 0.2, 0.5])
            me = self.rng.choice([*running])
            if asleep.get(me, 0) <= step and self.rng.random() < 0.04:
                asleep[me] = step + self.rng.randint(5, 80)
            if asleep.get(me, 0) <= step:
                self._turns[me].release()
                self._done.acquire()
        assert not self._errors, self._errors

    def _wait(self) -> None:
        me = current_thread().name
        self._done.release()
        self._turns[me].acquire()

    def _run(self, me: str) -> None:
        try:
            self._drive(Lease(self.store, "lease", me, 5.0, lambda: self.clocks[me]))
        except BaseException as error:
            self._errors.append(error)
        del self._turns[me]
        self._done.release()

    def _drive(self, lease: Lease) -> None:
        entries = 0
        while entries < _ENTRIES:
            epoch = lease.take()
            log = Log(self.store, "log")
            try:
                if epoch is not None:
                    records = log.begin(epoch)
                    entries = int(records[-1].content.split()[0]) + 1 if records else 0
                    while entries < _ENTRIES:
                        self._commit(log, entries)
                        entries += 1
            except FencedError:
                continue

    def _commit(self, log: Log, entry: int) -> None:
        piece = f"pieces/{log.epoch}-{entry}"
        self.store.put(piece, b"%d %d" % (entry, log.epoch))
        log.append(f"{entry} {piece}".encode(), whole=entry % 4 == 3)
        log.tidy()


def test_drivers_that_sleep_make_one_history() -> None:
    epochs = set()
    for seed in seed_range(20):
        drivers = Drivers(seed)
        drivers.run()
        last = Log(FaultyStore(drivers.store.objects), "log").read()[-1]
        entry, piece = last.content.split()
        assert drivers.store.committed == [*range(_ENTRIES)]
        assert drivers.store.objects[piece.decode()].split()[0] == entry
        epochs.add(last.epoch)
    assert max(epochs) > 3


def test_cuts_that_are_alike_count_once() -> None:
    cuts = [StoreCut("put a", "strict", {"a": b"1"}), StoreCut("put a", "kill", {"a": b"1"})]
    assert distinct_cuts(cuts) == cuts[:1]
