"""What is checked of a sink before it stands; imports no client of a target."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence

from seine.algebra.definitions import SinkDef
from seine.algebra.plan import Query
from seine.errors import SeineError
from seine.frontends.script.script import Declarations
from seine.network.plan.output_form import form_of
from seine.runtime.output.overwriting import refuse_overwriting

STARTS_OVER = "a run that is started again delivers everything to its sinks once more"
_MOST_SINKS = 200  # each has a thread


def refuse_unfit(sink: SinkDef, declared: Declarations) -> None:
    """Refuse a sink that is one too many, could never deliver, or whose files would be read as a source."""
    if len(declared.sinks) > _MOST_SINKS:
        message = f"{len(declared.sinks)} sinks are more than {_MOST_SINKS}"
        raise SeineError(message, hint="one sink may read many queries")
    if sink.kind == "folder":
        refuse_overwriting([os.path.join(sink.target, "part")], declared.paths)
    if sink.kind == "kafka":
        from seine.sinks.kafka_client import refuse_without_client

        refuse_without_client(sink.name)
    if sink.kind == "postgresql":
        refuse_unfit_tables(sink, [declared.queries[name.lower()] for name in sink.queries])


def refuse_unfit_tables(sink: SinkDef, queries: Sequence[Query]) -> None:
    """Refuse a sink whose driver is not installed, and records of two kinds of time in one table."""
    if importlib.util.find_spec("psycopg") is None:
        raise SeineError(
            f"sink {sink.name} needs the package psycopg", hint="pip install 'seine-streams[postgres]'"
        )
    if len({form_of(query).domain for query in queries}) > 1:
        raise SeineError(
            f"sink {sink.name}: one table cannot have times that are TIMESTAMP and times that are numbers",
            hint="make two sinks",
        )
