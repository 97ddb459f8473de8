"""What a sink is doing, as a service answers it."""

from __future__ import annotations

from datetime import UTC, datetime

from seine.service.answers import MissedAnswer, SinkAnswer, WaitingAnswer
from seine.sinks.record_piece import Waiting
from seine.sinks.sink_progress import MissedResults
from seine.sinks.sink_threads import SinkStatus


def sink_answer(status: SinkStatus) -> SinkAnswer:
    """The answer of `status`."""
    sink, trouble = status.sink.definition, status.trouble
    return {
        "sink": sink.name,
        "queries": list(sink.queries),
        "target": sink.target,
        "format": sink.format,
        "state": "running" if trouble is None else "retrying",
        "reason": None if trouble is None else trouble[0],
        "since": None if trouble is None else trouble[1],
        "records": status.records,
        "position": status.position,
        "lag": status.lag,
        "undelivered": status.undelivered,
        "missed": None if status.missed is None else _missed_answer(status.missed),
        "waiting": None if status.waiting is None else _waiting_answer(status.waiting),
    }


def _missed_answer(missed: MissedResults) -> MissedAnswer:
    return {"bytes": missed.bytes, "start": missed.start, "end": missed.end, "since": missed.since}


def _waiting_answer(waiting: Waiting) -> WaitingAnswer:
    since = datetime.fromtimestamp(waiting.since, UTC).isoformat(timespec="seconds")
    return {"batches": waiting.batches, "records": waiting.records, "since": since}
