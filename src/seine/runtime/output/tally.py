"""How many records each query has delivered and how important they were.

It is durable at a price that grows with what is delivered.

A log of additions, one line a micro-batch, beside the file that says how long it is. When it has grown
far beyond what there is to say it is begun anew, under another name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from seine.disk_sync import write_whole
from seine.runtime.folder.settings import damaged
from seine.typed_json import read_json, write_json

_NAME = r"tally-\d+\.jsonl"
_LEAST_BYTES = 1 << 16  # a shorter log is never begun anew
_MOST_GROWTH = 8  # times longer than a log of the sums alone


class TallyPlace(Struct, frozen=True):
    """The name of a log, and how much of it counts."""

    name: str
    bytes: int


class TallyChange(Struct, frozen=True):
    """A line of a log: queries whose counts end, then what is added to the counts of others."""

    gone: list[str]
    added: dict[str, int]
    importance: dict[str, float]


class Tally:
    """The counts of queries by name. `settle` makes them durable; what it returns finds them again."""

    def __init__(self, folder: str, place: TallyPlace | None) -> None:
        self.counts: dict[str, int] = {}
        self.importance: dict[str, float] = {}
        self._folder = folder
        if place and not (re.fullmatch(_NAME, place.name) and place.bytes >= 0):
            raise damaged(folder)
        self._name = place.name if place else None
        self._bytes = place.bytes if place else 0
        self._whole = 0  # bytes of the line that the log began with
        self._added: dict[str, int] = {}
        self._weighed: dict[str, float] = {}
        self._gone: dict[str, None] = {}
        if place:
            self._read()

    def add(self, counts: Mapping[str, int]) -> None:
        for sums in (self.counts, self._added):
            if sums.keys().isdisjoint(counts):
                sums.update(counts)
                continue
            for query, count in counts.items():
                sums[query] = sums.get(query, 0) + count

    def weigh(self, sums: Mapping[str, float]) -> None:
        """The importance of what was added."""
        for query, more in sums.items():
            self.importance[query] = self.importance.get(query, 0.0) + more
            self._weighed[query] = self._weighed.get(query, 0.0) + more

    def forget(self, queries: Iterable[str]) -> None:
        """The counts of these end; a query of the same name is another one."""
        for query in queries:
            if self.counts.pop(query, None) is not None:
                for part in (self.importance, self._added, self._weighed):
                    part.pop(query, None)
                self._gone[query] = None

    def settle(self, entry: int) -> TallyPlace | None:
        """Make what was added durable; None as long as there is nothing to count."""
        if self._added or self._gone:
            if self._name is None or self._bytes > max(_LEAST_BYTES, _MOST_GROWTH * self._whole):
                self._begin(entry)
            else:
                self._append(TallyChange(list(self._gone), self._added, self._weighed))
            self._added, self._weighed, self._gone = {}, {}, {}
        return None if self._name is None else TallyPlace(self._name, self._bytes)

    def tidy(self) -> None:
        """Remove logs that are no longer needed; their successor is."""
        for name in os.listdir(self._folder):
            if name.startswith("tally-") and name != self._name:
                os.unlink(os.path.join(self._folder, name))

    def _begin(self, entry: int) -> None:
        self._name = f"tally-{entry:012d}.jsonl"
        content = _line(TallyChange([], self.counts, self.importance))
        write_whole(self._path, content)
        self._bytes = self._whole = len(content)

    def _append(self, change: TallyChange) -> None:
        content = _line(change)
        with open(self._path, "r+b") as file:
            file.truncate(self._bytes)  # what a crash left behind the end
            file.seek(self._bytes)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self._bytes += len(content)

    def _read(self) -> None:
        try:
            with open(self._path, "rb") as file:
                content = file.read(self._bytes)
            for line in content.splitlines():
                change = read_json(line, TallyChange)
                self._whole = self._whole or len(line)
                for query in change.gone:
                    self.counts.pop(query, None)
                    self.importance.pop(query, None)
                for query, count in change.added.items():
                    self.counts[query] = self.counts.get(query, 0) + count
                for query, more in change.importance.items():
                    self.importance[query] = self.importance.get(query, 0.0) + more
        except (OSError, ValueError):
            raise damaged(self._path) from None
        if len(content) < self._bytes:
            raise damaged(self._path)

    @property
    def _path(self) -> str:
        return os.path.join(self._folder, str(self._name))


def _line(change: TallyChange) -> bytes:
    """The line of a change; an importance may be infinite, which only `write_json` can say."""
    return (write_json(change) if change.importance else msgspec.json.encode(change)) + b"\n"
