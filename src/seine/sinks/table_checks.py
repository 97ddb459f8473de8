"""What is checked of a sink into a table before it stands."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from seine.algebra.plan import Query
from seine.algebra.sink_definition import SinkDef
from seine.errors import SeineError
from seine.network.plan.output_form import form_of


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
