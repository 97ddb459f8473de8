"""What is checked of a sink before it stands, in a run and in a service alike.

What is checked of a sink into a table before it stands.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Mapping, Sequence

from seine.algebra.plan import Query
from seine.algebra.sink_definition import SinkDef
from seine.errors import SeineError
from seine.network.plan.output_form import form_of
from seine.runtime.output.overwriting import refuse_overwriting
from seine.sinks.kafka_client import refuse_without_client

_MOST_SINKS = 200  # each has a thread


def refuse_too_many(sinks: int) -> None:
    """Refuse more sinks than there may be threads."""
    if sinks > _MOST_SINKS:
        raise SeineError(f"{sinks} sinks are more than {_MOST_SINKS}", hint="one sink may read many queries")


def refuse_unfit(sink: SinkDef, queries: Mapping[str, Query], read: Iterable[str]) -> None:
    """Refuse what could never deliver, and a folder whose files would be `read` as a source.

    `queries` are by lower-case name.
    """
    if sink.kind == "folder":
        refuse_overwriting([os.path.join(sink.target, "part")], read)
    if sink.kind == "kafka":
        refuse_without_client(sink.name)
    if sink.kind == "postgresql":
        refuse_unfit_tables(sink, [queries[name.lower()] for name in sink.queries])


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
