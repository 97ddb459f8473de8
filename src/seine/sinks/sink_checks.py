"""What is checked of a sink before it stands, in a run and in a service alike."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from seine.algebra.plan import Query
from seine.algebra.sink_definition import SinkDef
from seine.errors import SeineError
from seine.runtime.output.overwriting import refuse_overwriting
from seine.sinks.kafka_client import refuse_without_client
from seine.sinks.table_checks import refuse_unfit_tables

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
