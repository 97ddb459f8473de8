"""The sinks that stand after a change: those that come get an identity and a place to begin at."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from types import MappingProxyType

from seine.algebra.definitions import SinkDef
from seine.catalog.tables.stored import StoredSink
from seine.frontends.script.script import Declarations
from seine.lifecycle.view import View, frozen


def standing_sinks(
    declared: Declarations, view: View, start: int, refuse: Callable[[SinkDef, Declarations], None]
) -> MappingProxyType[str, StoredSink]:
    """The sinks by lower-case name. One that was declared before stays as it is; others begin at `start`."""
    renewed = [one for key, one in declared.sinks.items() if view.declared.sinks.get(key) is not one]
    if declared.sinks == view.declared.sinks and not renewed:
        return view.sinks
    for sink in renewed:  # they come, or were dropped and created again, perhaps with the same words
        refuse(sink, declared)
    return frozen({key: _standing(key, one, view, start) for key, one in declared.sinks.items()})


def _standing(key: str, sink: SinkDef, view: View, start: int) -> StoredSink:
    before = view.sinks.get(key)
    if before is not None and before.definition is sink:
        return before
    return StoredSink(sink, uuid.uuid4().hex, start)
