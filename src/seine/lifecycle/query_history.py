"""The history that a query asks for: what it begins with, and why it may be refused.

CREATE QUERY q WITH (history = 'window') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
"""

from __future__ import annotations

from collections.abc import Mapping

from seine.algebra.definitions import WINDOW, StreamDef
from seine.algebra.document_plan import DocumentQuery, is_published
from seine.algebra.plan import Query, Scan, walk
from seine.algebra.search_plan import Search
from seine.errors import SeineError
from seine.intake.journal import Entry
from seine.intake.retained_entries import RetainedEntries
from seine.lifecycle.view import View
from seine.runtime.history_replay import HistoryStart, PendingReplay, pending_replay

BEFORE_ALL_TIME = -(2**63)


def history_of(query: Query) -> str | None:
    """'window', 'retained', or None for a query that begins with its registration."""
    kind = query.option("history")
    return kind if isinstance(kind, str) else None


def refuse_history(query: Query, retained: RetainedEntries | None) -> None:
    """Refuse a history that there cannot be, whatever was retained."""
    kind = history_of(query)
    if kind is None:
        return
    if retained is None:
        raise SeineError(
            f"query {query.name} wants history = '{kind}', and this service retains nothing",
            hint="start it with seine serve --retain 30d, or --retain 50GB",
        )
    if isinstance(query.plan, Search | DocumentQuery):
        message = f"query {query.name}: history is for SELECT, not for SEARCH and XSCL"
        raise SeineError(message, hint="leave history out: it counts from its registration on")
    for stream in _streams(query).values():
        if is_published(stream):
            message = f"query {query.name}: stream {stream.name} is published by a query, and not retained"
            raise SeineError(message, hint="leave history out")
        if stream.reader is not None:
            message = f"query {query.name}: stream {stream.name} is read by Spark, and not retained"
            raise SeineError(message, hint="leave history out")
        if kind == WINDOW and stream.window is None:
            raise SeineError(
                f"query {query.name} wants history = 'window', and stream {stream.name} has no window",
                hint=f"declare a WINDOW on {stream.name}, or say history = 'retained'",
            )


def with_history(queries: Mapping[str, Query]) -> dict[str, Query]:
    """The queries that are to begin with tuples from before their registration."""
    return {key: query for key, query in queries.items() if history_of(query) is not None}


def starts_of(
    queries: Mapping[str, Query],
    retained: RetainedEntries | None,
    since: Mapping[str, int],
    until: int,
    last: Entry | None,
) -> dict[str, HistoryStart]:
    """What queries with history begin with; they were refused if nothing is retained."""
    if retained is None:
        return {}
    return {key: start_of(query, retained, since, until, last) for key, query in queries.items()}


def start_of(
    query: Query, retained: RetainedEntries, since: Mapping[str, int], until: int, last: Entry | None
) -> HistoryStart:
    """What a query begins with that is registered between the last entry and the entry `until`.

    `since` has, of each stream, the first entry that can have tuples of it.
    """
    streams = _streams(query)
    begun = {name: max(since.get(name, 0), retained.first or 0) for name in streams}
    if history_of(query) != WINDOW or last is None:
        return HistoryStart(until, begun)
    ended = {name: _instant(stream, streams, last) for name, stream in streams.items()}
    for name, stream in streams.items():
        _refuse_short(query, stream, retained, since.get(name, 0), ended[name])
    return HistoryStart(until, begun, ended)


def _instant(stream: StreamDef, streams: Mapping[str, StreamDef], last: Entry) -> int:
    """Up to where the instants of all streams of a query that have one sort of time are complete."""
    known = [name for name, one in streams.items() if one.domain == stream.domain]
    if not all(name in last.clock.watermarks for name in known):
        return BEFORE_ALL_TIME  # a stream of it has not begun
    return last.clock.progress(known)


def _refuse_short(
    query: Query, stream: StreamDef, retained: RetainedEntries, since: int, instant: int
) -> None:
    """Refuse if a tuple whose life has not ended may be retained no more."""
    assert stream.window is not None
    # Which tuple a deletion was meant for is known only with all tuples from the first one on.
    reach = BEFORE_ALL_TIME if stream.retractable else max(instant - stream.window, BEFORE_ALL_TIME)
    if not retained.reach_back(stream.name, since, reach):
        raise SeineError(
            f"query {query.name} wants history = 'window', and not all tuples of {stream.name} that count "
            "are retained",
            hint="retain more (seine serve --retain), wait until a window has passed, or say 'retained'",
        )


def pending_replays(view: View, last: Entry | None) -> list[PendingReplay]:
    """The running queries that have not caught up with their history, in order of registration."""
    pending = []
    for key, start in view.histories.items():
        one = view.registered[key]
        receivers = (node for node in one.nodes if view.nodes[node].owner == one.query.name)
        replay = pending_replay(one.query.name, receivers, start, one.position.entry, last)
        if replay is not None:
            pending.append(replay)
    return pending


def _streams(query: Query) -> dict[str, StreamDef]:
    return {part.stream.name: part.stream for part in walk(query.plan) if isinstance(part, Scan)}
