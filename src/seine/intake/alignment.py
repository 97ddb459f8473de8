"""Alignment: how far each stream may be read in event time, so that streams that are joined advance together.

A stream that runs ahead of one that it is joined with fills the join's state with rows that wait. So within
a component (streams that queries combine) and a time domain no stream passes the event time that the slowest
one with more data reaches, but for a *lead*. Streams of different components know nothing of each other.

Law: alignment says when a line is let in and never whether, so it changes no answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from seine.rows.delta import FOREVER

Components = Iterable[frozenset[str]]


@dataclass(frozen=True)
class Lead:
    """How far a stream may run ahead of those that it is joined with, in event time, by time domain."""

    plain: int = 0
    timestamp: int = 0  # microseconds

    def of(self, domain: str) -> int:
        """The lead within a time domain."""
        return self.timestamp if domain == "timestamp" else self.plain


NO_LEAD = Lead()


class StreamReach(NamedTuple):
    """The event time that the lines at hand of a stream reach; None if it holds nobody up."""

    stream: str
    domain: str
    latest: int | None


def horizons(reaches: Iterable[StreamReach], components: Components | None, lead: Lead) -> dict[str, int]:
    """The event time up to which each stream is let in; FOREVER where nobody holds it up.

    Without components, all streams of a time domain are one.

    >>> reaches = [StreamReach("a", "plain", 5), StreamReach("b", "plain", 900), StreamReach("c", "plain", 7)]
    >>> horizons(reaches, [frozenset("ac")], Lead())
    {'a': 5, 'b': 900, 'c': 5}
    >>> horizons(reaches, [frozenset("ac")], Lead(plain=1))
    {'a': 6, 'b': 901, 'c': 6}
    """
    places = list(reaches)
    group_of = groups_of((place.stream for place in places), components)
    slowest: dict[tuple[str, str], int] = {}
    for stream, domain, latest in places:
        if latest is not None:
            key = group_of[stream], domain
            slowest[key] = min(slowest.get(key, FOREVER), latest)
    return {
        stream: min(slowest.get((group_of[stream], domain), FOREVER) + lead.of(domain), FOREVER)
        for stream, domain, _ in places
    }


def groups_of(streams: Iterable[str], components: Components | None) -> dict[str, str]:
    """A name for the component of each stream; one that is in none is alone.

    >>> groups_of("abc", [frozenset("ac")])
    {'a': 'a', 'b': 'b', 'c': 'a'}
    """
    if components is None:
        return dict.fromkeys(streams, "")
    names = {member: min(component) for component in components for member in component}
    return {stream: names.get(stream, stream) for stream in streams}
