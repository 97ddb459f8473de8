"""What a sink is doing, as a service answers it."""

from __future__ import annotations

from seine.service.answers import SinkAnswer
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
    }
