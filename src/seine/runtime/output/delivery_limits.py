"""Which queries may deliver how much, as of an entry: registrations take effect between two entries."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class _Notice:
    """From an entry on, queries that are gone, and the limits of queries that begin."""

    entry: int
    gone: tuple[str, ...]
    limits: Mapping[str, int]


class Roster:
    """The limits of queries by name; `announce` by any thread, the rest by the one that commits.

    A query that is dropped and registered again under its name is another one: it is in `gone`
    and in `limits` of the same notice.
    """

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._limits = dict(limits)
        self._lowest = min(limits.values(), default=sys.maxsize)
        self._notices: list[_Notice] = []
        self._lock = Lock()

    def announce(self, entry: int, gone: Iterable[str], limits: Mapping[str, int]) -> None:
        """Something changes with an entry that has not been committed yet."""
        with self._lock:
            self._notices.append(_Notice(entry, tuple(gone), dict(limits)))

    def advance(self, entry: int) -> set[str]:
        """Move on to an entry; the names whose counts end before it."""
        with self._lock:
            due = [notice for notice in self._notices if notice.entry <= entry]
            self._notices = [notice for notice in self._notices if notice.entry > entry]
        ended: set[str] = set()
        for notice in due:
            for name in notice.gone:
                self._limits.pop(name, None)
            ended.update(notice.gone, notice.limits)
            self._limits.update(notice.limits)
            self._lowest = min([self._lowest, *notice.limits.values()])
        return ended

    def limit(self, query: str) -> int:
        return self._limits.get(query, sys.maxsize)

    @property
    def lowest(self) -> int:
        """No query has a limit below this."""
        return self._lowest
