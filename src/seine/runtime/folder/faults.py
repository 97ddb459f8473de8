"""Faults of tasks: which nodes of an entry went over their budget or raised, for the driver to read.

    faults/<entry>/<unique>      left by the task that then fails

A pipeline that dies and has left a fault of an entry died of a query; one without died of something else.
"""

from __future__ import annotations

import uuid

from msgspec import Struct

from seine.evaluate.kernels.spending import Called
from seine.operators.state.work_budget import FaultKind, NodeFault
from seine.runtime.folder.settings import decoded
from seine.storage.store import Store
from seine.typed_json import write_json


class Fault(Struct, frozen=True):
    """What one task met: the nodes at fault or, where their own results are too many, the queries.

    `calls` are those of functions that were at fault: on which the nodes spent too much, or of a user's.
    """

    entry: int
    kind: FaultKind
    reason: str
    nodes: tuple[int, ...] = ()
    queries: tuple[str, ...] = ()
    calls: tuple[Called, ...] = ()


_FAULTS = "faults/"


class Faults:
    """The faults in the store of a pipeline."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, entry: int, fault: NodeFault) -> None:
        """Leave a fault; when this returns it is durable."""
        record = Fault(entry, fault.kind, fault.reason, fault.nodes, fault.queries, fault.calls)
        self._store.put(f"{_FAULTS}{entry:012d}/{uuid.uuid4().hex}", write_json(record))

    def read(self) -> list[Fault]:
        """All that tasks have left: those of the first entry first, then budgets, then the nodes upstream."""
        faults = [
            decoded(self._store.get(name), Fault, f"{self._store.place}/{name}")
            for name in self._store.list(_FAULTS)
        ]
        return sorted(faults, key=lambda fault: (fault.entry, fault.kind, fault.nodes, fault.queries))

    def clear(self) -> None:
        """Forget them, once they are acted on."""
        self._store.delete(self._store.list(_FAULTS))
