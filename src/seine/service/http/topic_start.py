"""Lets the answer to a registration wait until what comes to a topic counts for the queries that begin.

    entry 7   cut before the change; it has what is in the topic when Spark plans it
    entry 8   the first that counts; the answer is given once 7 is done

So whoever has the answer and then appends to a topic misses nothing.
"""

from __future__ import annotations

from fastapi import Request

from seine.service.http.result_position import has_gone
from seine.service.http.service_calls import ServiceCalls
from seine.service.outcome import Outcome
from seine.service.published_state import PublishedState

_MOST_SECONDS = 5.0  # a pipeline that is behind is not waited for longer: the answer names the first entry


async def wait_for_topics(calls: ServiceCalls, request: Request, outcome: Outcome) -> None:
    """Return when topics count for the queries of a change, or nobody listens, or after some seconds."""
    publisher = calls.service.publisher
    if not topics_count(publisher.current, outcome):
        await calls.wakeup.wait_for(
            lambda: publisher.ended or topics_count(publisher.current, outcome),
            _MOST_SECONDS,
            lambda: has_gone(request),
        )


def topics_count(state: PublishedState, outcome: Outcome) -> bool:
    """Whether no entry from before a change may still read a stream of its queries that Spark reads."""
    return state.figures.entry >= outcome.entry - 1 or not _reads_topics(state, outcome)


def _reads_topics(state: PublishedState, outcome: Outcome) -> bool:
    streams, queries = state.view.declared.streams, state.view.registered
    begun = [queries[name.lower()] for name in outcome.registered if name.lower() in queries]
    names = {name.lower() for query in begun for name in query.position.streams}
    return any(streams[name].reader is not None for name in names if name in streams)
