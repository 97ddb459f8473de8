"""The sinks that stand after a change: those that come get an identity and a place to begin at."""

from __future__ import annotations

import os
import uuid
from types import MappingProxyType

from seine.algebra.sink_definition import SinkDef
from seine.catalog import StoredSink
from seine.errors import SeineError
from seine.frontends.script.script import Declarations
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.overwriting import refuse_overwriting
from seine.service.folder import ServiceFolder
from seine.service.published_view import ServiceView, frozen
from seine.sinks.kafka_client import refuse_without_client
from seine.sinks.table_checks import refuse_unfit_tables

_MOST_SINKS = 200  # of a service: each has a thread


def standing_sinks(
    declared: Declarations, view: ServiceView, folder: ServiceFolder, start: int, secrets: OptionSecrets
) -> MappingProxyType[str, StoredSink]:
    """The sinks by lower-case name. One that was declared before stays as it is; others begin at `start`."""
    if declared.sinks == view.declared.sinks and not _renewed(declared, view):
        return view.sinks
    if len(declared.sinks) > _MOST_SINKS:
        raise SeineError(
            f"{len(declared.sinks)} sinks are more than {_MOST_SINKS}", hint="one sink may read many queries"
        )
    for sink in _renewed(declared, view):
        _check(sink, declared, folder, secrets)
    return frozen({key: _standing(key, one, view, start) for key, one in declared.sinks.items()})


def _renewed(declared: Declarations, view: ServiceView) -> list[SinkDef]:
    """Those that come, or were dropped and created again, perhaps with the same words."""
    return [one for key, one in declared.sinks.items() if view.declared.sinks.get(key) is not one]


def _check(sink: SinkDef, declared: Declarations, folder: ServiceFolder, secrets: OptionSecrets) -> None:
    """Refuse what could never deliver."""
    if sink.kind == "folder":
        refuse_overwriting([os.path.join(sink.target, "part")], declared.paths)
        folder.refuse_inside(sink.target)
    if sink.kind == "kafka":
        refuse_without_client(sink.name)
    if sink.kind == "postgresql":
        refuse_unfit_tables(sink, [declared.queries[name.lower()] for name in sink.queries])
    secrets.values(f"sink {sink.name}", sink.options)


def _standing(key: str, sink: SinkDef, view: ServiceView, start: int) -> StoredSink:
    before = view.sinks.get(key)
    if before is not None and before.definition is sink:
        return before
    return StoredSink(sink, uuid.uuid4().hex, start)
