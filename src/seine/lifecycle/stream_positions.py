"""Where the streams are at a moment: what a query's registration records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seine.algebra.plan import Query, Scan, walk
from seine.catalog.tables.stored import QueryPosition
from seine.intake.journal import Journal


@dataclass(frozen=True)
class StreamPositions:
    """The next entry, the number of the next arrival of each stream, and the length of the results.

    `latest` has for each stream a timestamp that no tuple so far has exceeded; none if there was no tuple.
    """

    entry: int
    arrivals: Mapping[str, int]
    results: int
    latest: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def next(journal: Journal, results: int) -> StreamPositions:
        last = journal.last()
        if last is None:
            return StreamPositions(0, {}, results)
        arrivals = {
            name: state.admission.arrivals if state.spark is None else state.spark.rows
            for name, state in last.intake.streams.items()
        }
        now, domains = last.clock.now, last.clock.domains
        latest = {name: now[domains[name]] for name in last.clock.watermarks if domains[name] in now}
        return StreamPositions(last.number + 1, arrivals, results, latest)

    def of(self, query: Query) -> QueryPosition:
        """The position of a query that begins here."""
        streams = {scan.stream.name: self.arrivals.get(scan.stream.name, 0) for scan in _scans(query)}
        latest = {name: self.latest[name] for name in streams if name in self.latest}
        return QueryPosition(self.entry, self.results, streams, latest)


def _scans(query: Query) -> list[Scan]:
    scans = [part for part in walk(query.plan) if isinstance(part, Scan)]
    return sorted(scans, key=lambda scan: scan.stream.name)
