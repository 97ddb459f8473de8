"""The sinks that stand after a change: those that come get an identity and a place to begin at."""

from __future__ import annotations

import uuid
from types import MappingProxyType

from seine.algebra.definitions import SinkDef
from seine.catalog import StoredSink
from seine.frontends.script.script import Declarations
from seine.runtime.option_secrets import OptionSecrets
from seine.service.folder import ServiceFolder
from seine.service.published_view import ServiceView, frozen
from seine.sinks.run_sinks import refuse_too_many, refuse_unfit


def standing_sinks(
    declared: Declarations, view: ServiceView, folder: ServiceFolder, start: int, secrets: OptionSecrets
) -> MappingProxyType[str, StoredSink]:
    """The sinks by lower-case name. One that was declared before stays as it is; others begin at `start`."""
    if declared.sinks == view.declared.sinks and not _renewed(declared, view):
        return view.sinks
    refuse_too_many(len(declared.sinks))
    for sink in _renewed(declared, view):
        refuse_unfit(sink, declared.queries, declared.paths)
        if sink.kind == "folder":
            folder.refuse_inside(sink.target)
        secrets.values(f"sink {sink.name}", sink.options)
    return frozen({key: _standing(key, one, view, start) for key, one in declared.sinks.items()})


def _renewed(declared: Declarations, view: ServiceView) -> list[SinkDef]:
    """Those that come, or were dropped and created again, perhaps with the same words."""
    return [one for key, one in declared.sinks.items() if view.declared.sinks.get(key) is not one]


def _standing(key: str, sink: SinkDef, view: ServiceView, start: int) -> StoredSink:
    before = view.sinks.get(key)
    if before is not None and before.definition is sink:
        return before
    return StoredSink(sink, uuid.uuid4().hex, start)
