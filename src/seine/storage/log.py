"""A log of numbered records, and registers that are replaced, in any store. Imports nothing heavy.

    <log>/000000000012     "epoch nonce whole", a line end, and the content

A record is claimed, so that two writers never have the same one. Whoever begins to write claims the next
record first, with an epoch above all before it: the claim of a writer that slept meanwhile is refused.

A record that is *whole* says all that those before it said: readers begin with the last such one. What is
before it is garbage, but for the records by which epochs began: the next claim of a writer that sleeps is of
the number that the next epoch began with. Only the newest `_EPOCHS_KEPT` stay: nobody sleeps longer.
"""

from __future__ import annotations

import errno
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

from seine.storage.store import MissingObjectError, Store, UnknownOutcomeError

_EPOCHS_KEPT = 256
_MOST_CLAIMS = 5  # of one record, while answers are lost
_BEGIN, _PLAIN, _WHOLE = "begin", "plain", "whole"


class FencedError(RuntimeError):
    """Somebody else writes here now."""


@dataclass(frozen=True)
class Record:
    """A record of a log."""

    number: int
    epoch: int
    kind: str
    content: bytes

    @property
    def is_whole(self) -> bool:
        """Does it say all that those before it said?"""
        return self.kind == _WHOLE


class Log:
    """Records in order; one writer at a time, any number of readers.

    >>> from seine.storage.memory import MemoryStore
    >>> store = MemoryStore()
    >>> log = Log(store, "log")
    >>> log.begin(), log.append(b"a"), log.append(b"a, b", whole=True), log.append(b"c")
    ([], 1, 2, 3)
    >>> [record.content for record in Log(store, "log").read()]
    [b'a, b', b'c']
    >>> log.tidy()
    >>> [*store.list("log/")]
    ['log/000000000000', 'log/000000000002', 'log/000000000003']
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self.epoch = -1  # of this writer; there is none before it has begun
        self._next = 0
        self._begins: list[int] = []  # the numbers with which epochs began
        self._garbage: list[int] = []  # what `tidy` removes
        self._since: list[int] = []  # the records from the last whole one on
        self._turn = Lock()

    def read(self) -> list[Record]:
        """What has been written, from the last whole record on."""
        return [record for record in self._tail()[1] if record.kind != _BEGIN]

    def begin(self, epoch: int | None = None) -> list[Record]:
        """Become the writer, in the next epoch or the one given; what has been written.

        A ValueError if records are missing, or are none of ours.
        """
        with self._turn:
            while True:
                numbers, records = self._tail()
                if records and len(records) <= records[-1].number - records[0].number:
                    raise ValueError(f"'{self._name}' lacks records")
                last = max((record.epoch for record in records), default=-1)
                if epoch is not None and epoch <= last:
                    raise FencedError(f"'{self._name}' is written in epoch {last}, not below {epoch}")
                self.epoch = last + 1 if epoch is None else epoch
                self._next = numbers[-1] + 1 if numbers else 0
                if self._claim(b"", _BEGIN) and not any(self._after(self._next)):
                    break
            self._since = [record.number for record in records]
            self._begins = self._begun(numbers, records)
            self._garbage = [number for number in numbers if number not in {*self._since, *self._begins}]
            self._count(_BEGIN)
            return [record for record in records if record.kind != _BEGIN]

    def append(self, content: bytes, *, whole: bool = False) -> int:
        """Write the next record, durably; its number. A FencedError if another writer has begun."""
        with self._turn:
            kind, number = _WHOLE if whole else _PLAIN, self._next
            if self.epoch < 0 or not self._claim(content, kind):
                raise FencedError(f"another process writes '{self._name}'")
            self._count(kind)
            return number

    def tidy(self) -> None:
        """Remove what nobody reads."""
        with self._turn:
            names = [self._place(number) for number in self._garbage]
            if names:
                self._store.delete(names)
            self._garbage = []

    @property
    def since_whole(self) -> int:
        """How many records a reader has to read."""
        return len(self._since)

    def _count(self, kind: str) -> None:
        """Note a record that has just been written."""
        if kind == _WHOLE:
            self._garbage += [number for number in self._since if number not in self._begins]
            self._since = []
        if kind == _BEGIN:
            self._begins.append(self._next)
            self._garbage += self._begins[:-_EPOCHS_KEPT]
            self._begins = self._begins[-_EPOCHS_KEPT:]
        self._since.append(self._next)
        self._next += 1

    def _claim(self, content: bytes, kind: str) -> bool:
        head = f"{self.epoch} {uuid.uuid4().hex} {kind}\n".encode()
        return claim_surely(self._store, self._place(self._next), head + content)

    def _tail(self) -> tuple[list[int], list[Record]]:
        """The numbers that are there, and the records from the last whole one on.

        It is read anew if a writer has removed records meanwhile.
        """
        while True:
            numbers = [int(name.rpartition("/")[2]) for name in self._store.list(f"{self._name}/")]
            records: list[Record] = []
            try:
                for number in reversed(numbers):
                    records.append(self._read(number))
                    if records[-1].is_whole:
                        break
            except MissingObjectError:
                continue
            return numbers, records[::-1]

    def _begun(self, numbers: list[int], records: list[Record]) -> list[int]:
        """The numbers with which epochs began: before the last whole record they alone stay for long."""
        kinds = {record.number: record.kind for record in records}
        for number in numbers:
            with suppress(MissingObjectError):  # the writer before has just removed it
                kinds[number] = kinds.get(number) or self._read(number).kind
        return sorted(number for number, kind in kinds.items() if kind == _BEGIN)

    def _read(self, number: int) -> Record:
        head, _, content = self._store.get(self._place(number)).partition(b"\n")
        epoch, _, kind = head.decode().split(" ")
        return Record(number, int(epoch), kind, content)

    def _after(self, number: int) -> Iterator[str]:
        return self._store.list(f"{self._name}/", after=self._place(number))

    def _place(self, number: int) -> str:
        return f"{self._name}/{number:012d}"


class Register:
    """A small content that is replaced whole, by whoever has seen the one before.

    >>> from seine.storage.memory import MemoryStore
    >>> store = MemoryStore()
    >>> one, other = Register(store, "settings"), Register(store, "settings")
    >>> one.read() is None, one.write(b"1"), one.write(b"2"), other.read()
    (True, None, None, b'2')
    >>> [*store.list("settings/")]
    ['settings/000000000001']
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._number = -1  # of the content that was seen last

    def read(self) -> bytes | None:
        """The present content; None before the first."""
        while True:
            names = self._store.list(f"{self._name}/")
            name = max((name for name in names if name.rpartition("/")[2].isdigit()), default=None)
            try:
                content = None if name is None else self._content(name)
            except MissingObjectError:  # it has just been replaced
                continue
            self._number = -1 if name is None else int(name.rpartition("/")[2])
            return content

    def write(self, content: bytes) -> None:
        """Replace the content that was read or written last; a FencedError if somebody else has."""
        if not self._replaced(content):
            raise FencedError(f"another process has changed '{self._name}'")

    def change(self, change: Callable[[bytes | None], bytes]) -> bytes:
        """Replace the content by what is made of it, as often as somebody else is quicker."""
        while True:
            content = change(self.read())
            if self._replaced(content):
                return content

    def _replaced(self, content: bytes) -> bool:
        name = self._place(self._number + 1)
        if not claim_surely(self._store, name, uuid.uuid4().hex.encode() + b"\n" + content):
            return False
        if any(self._store.list(f"{self._name}/", after=name)):
            self._store.delete([name])  # it was there before, and has been removed since
            return False
        self._number += 1
        if self._number:
            self._store.delete([self._place(self._number - 1)])
        return True

    def _content(self, name: str) -> bytes:
        return self._store.get(name).partition(b"\n")[2]

    def _place(self, number: int) -> str:
        return f"{self._name}/{number:012d}"


def claim_surely(store: Store, name: str, content: bytes) -> bool:
    """Claim an object with a content that nobody else writes; if an answer is lost, look whose it is.

    One that others have made garbage and removed meanwhile may be there again; it counts once all the same.
    """
    unknown = False
    for _ in range(_MOST_CLAIMS):
        try:
            if store.claim(name, content):
                return True
            if not unknown:
                return False
        except UnknownOutcomeError:
            unknown = True
        try:
            return store.get(name) == content
        except MissingObjectError:
            continue
    raise UnknownOutcomeError(errno.EIO, "no answer to a claim", name)
