"""What counts: one record a micro-batch in the log of a pipeline.

Law: a micro-batch is delivered when its record is in the log, and not before. The last record says what all
before it came to, but for the counts of queries, which are sums of changes: a record that is whole has them
all. Whoever opens the log writes it from then on; another writer is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct, structs

from seine.runtime.folder.deployment import LOG, Deployment
from seine.runtime.folder.settings import damaged
from seine.runtime.output.totals import Totals
from seine.storage.log import Log
from seine.typed_json import msgpack_decoder


class TallyChange(Struct, frozen=True, omit_defaults=True):
    """Queries whose counts end, then what is added to the counts of others."""

    gone: tuple[str, ...] = ()
    added: dict[str, int] = {}
    importance: dict[str, float] = {}


class Tally:
    """The counts of queries by name, and what changed since that was last taken.

    Law: changes that are taken and given to another tally, in order, make the same counts.

    >>> tally, other = Tally(), Tally()
    >>> tally.add({"q": 2}), tally.weigh({"q": 0.5}), other.change(tally.take()), other.counts
    (None, None, None, {'q': 2})
    >>> tally.forget(["q"]), tally.add({"q": 7}), other.change(tally.take()), other.counts, other.importance
    (None, None, None, {'q': 7}, {})
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.importance: dict[str, float] = {}
        self._added: dict[str, int] = {}
        self._weighed: dict[str, float] = {}
        self._gone: dict[str, None] = {}

    def add(self, counts: Mapping[str, int]) -> None:
        """These were delivered."""
        for sums in (self.counts, self._added):
            if sums.keys().isdisjoint(counts):
                sums.update(counts)
                continue
            for query, count in counts.items():
                sums[query] = sums.get(query, 0) + count

    def weigh(self, sums: Mapping[str, float]) -> None:
        """The importance of what was added."""
        for weights in (self.importance, self._weighed):
            for query, more in sums.items():
                weights[query] = weights.get(query, 0.0) + more

    def forget(self, queries: Iterable[str]) -> None:
        """The counts of these end; a query of the same name is another one."""
        for query in queries:
            if self.counts.pop(query, None) is not None:
                for part in (self.importance, self._added, self._weighed):
                    part.pop(query, None)
                self._gone[query] = None

    def change(self, change: TallyChange) -> None:
        """What another tally has come to; it is not taken from this one."""
        self.forget(change.gone)
        self.add(change.added)
        self.weigh(change.importance)
        self.take()

    def take(self) -> TallyChange:
        """What has changed since this was last called."""
        change = TallyChange((*self._gone,), self._added, self._weighed)
        self._added, self._weighed, self._gone = {}, {}, {}
        return change

    def take_whole(self) -> TallyChange:
        """All counts, as a change of a tally that has none."""
        self.take()
        return TallyChange((), self.counts, self.importance)


_MOST_RECORDS = 256  # that a start has to read
_LEAST_BYTES = 1 << 16  # of changes, before the counts are written whole
_MOST_GROWTH = 8  # times longer than the counts that were written whole


class BatchRecord(Struct, frozen=True):
    """The totals after a micro-batch without the counts of queries, and what it changed in these."""

    totals: Totals
    change: TallyChange


class BatchLog:
    """The totals of a pipeline and the counts of its queries, to be changed and then settled."""

    def __init__(self, deployment: Deployment) -> None:
        self._log = Log(deployment.store, LOG)
        self._place = deployment.log
        self._tally = Tally()
        self._bytes = self._whole = 0  # of the changes since the last whole record, and of that one
        totals = Totals()
        for record in self._read():
            self._tally.change(record.change)
            totals = record.totals
        self.totals = structs.replace(totals, outputs=self._tally.counts, importance=self._tally.importance)

    @property
    def tally(self) -> Tally:
        """What each query has delivered; the totals show its counts."""
        return self._tally

    def settle(self, entry: int) -> None:
        """Let the micro-batch of an entry count."""
        whole = self._is_whole_due()
        change = self._tally.take_whole() if whole else self._tally.take()
        totals = structs.replace(self.totals, entry=entry, outputs={}, importance={})
        content = msgspec.msgpack.encode(BatchRecord(totals, change))
        self._log.append(content, whole=whole)
        self._note(len(content), whole)

    def tidy(self) -> None:
        """Remove the records that no start reads any more."""
        self._log.tidy()

    def _is_whole_due(self) -> bool:
        grown = self._bytes > max(_LEAST_BYTES, _MOST_GROWTH * self._whole)
        return grown or not self._whole or self._log.since_whole >= _MOST_RECORDS

    def _note(self, size: int, whole: bool) -> None:
        self._bytes = 0 if whole else self._bytes + size
        self._whole = size if whole else self._whole

    def _read(self) -> list[BatchRecord]:
        """The records that count, of which the first is whole."""
        try:
            known = self._log.begin()
            records = [msgpack_decoder(BatchRecord).decode(record.content) for record in known]
        except (ValueError, msgspec.DecodeError):
            raise damaged(self._place) from None
        for record in known:
            self._note(len(record.content), record.is_whole)
        if known and not self._whole:
            raise damaged(self._place)
        return records
