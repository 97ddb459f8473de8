"""A lease: who may write for a while, by the swap of one object. Imports nothing heavy.

Clocks only decide who tries: that a holder which slept does no harm is the law of the log, whose next record
the new holder claims first, in the epoch of its lease.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable

from msgspec import Struct

from seine.storage.store import MissingObjectError, Store, UnknownOutcomeError
from seine.typed_json import read_json, write_json

_logger = logging.getLogger(__name__)


class LeaseRecord(Struct, frozen=True):
    """Who holds a lease, until when by his clock; each has a nonce that no other has."""

    epoch: int
    who: str
    until: float
    nonce: str


class Lease:
    """The lease of one name in a store, as one process sees it.

    >>> from seine.storage.memory import MemoryStore
    >>> store, clock = MemoryStore(), [100.0]
    >>> one, other = (Lease(store, "lease", who, clock=lambda: clock[0]) for who in ("one", "other"))
    >>> one.take(), other.take(), one.renew()
    (0, None, True)
    >>> clock[0] += 11
    >>> other.take(), one.renew()
    (1, False)
    """

    def __init__(
        self,
        store: Store,
        name: str,
        who: str,
        seconds: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._name, self._who = store, name, who
        self._seconds, self._clock = seconds, clock
        self._mine: bytes | None = None

    def take(self) -> int | None:
        """Take the lease if nobody seems to hold it: the epoch; None if somebody does, or was quicker."""
        content, record = self._read()
        if record is not None and record.until > self._clock():
            return None
        epoch = 0 if record is None else record.epoch + 1
        if not self._swap(epoch, self._clock() + self._seconds, content):
            return None
        _logger.info("a lease is taken", extra={"lease": self._name, "epoch": epoch})
        return epoch

    def renew(self) -> bool:
        """Hold it for longer; False if it is another's."""
        return self._again(self._clock() + self._seconds)

    def release(self) -> None:
        """Let others have it at once."""
        self._again(0.0)

    def _again(self, until: float) -> bool:
        if self._mine is None:
            return False
        return self._swap(read_json(self._mine, LeaseRecord).epoch, until, self._mine)

    def _swap(self, epoch: int, until: float, before: bytes | None) -> bool:
        content = write_json(LeaseRecord(epoch, self._who, until, uuid.uuid4().hex))
        try:
            swapped = self._store.swap(self._name, content, before)
        except UnknownOutcomeError:
            swapped = self._read()[0] == content
        self._mine = content if swapped else None
        if not swapped:
            _logger.warning("a lease is another's", extra={"lease": self._name, "epoch": epoch})
        return swapped

    def _read(self) -> tuple[bytes | None, LeaseRecord | None]:
        try:
            content = self._store.get(self._name)
        except MissingObjectError:
            return None, None
        return content, read_json(content, LeaseRecord)
