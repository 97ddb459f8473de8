"""Faults of tasks: which nodes of an entry went over their budget or raised, for the driver to read.

    faults/<entry>/<unique>.json      written whole by the task that then fails

A pipeline that dies and has left a fault of an entry died of a query; one without died of something else.
"""

from __future__ import annotations

import os
import shutil
import uuid

from msgspec import Struct

from seine.disk_sync import make_folder, write_whole
from seine.evaluate.kernels.spending import Called
from seine.operators.state.work_budget import FaultKind, NodeFault
from seine.runtime.folder.settings import read_record
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


class Faults:
    """The faults in the folder of a pipeline."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def write(self, entry: int, fault: NodeFault) -> None:
        """Leave a fault; when this returns it is durable."""
        record = Fault(entry, fault.kind, fault.reason, fault.nodes, fault.queries, fault.calls)
        folder = os.path.join(self._folder, f"{entry:012d}")
        make_folder(folder)
        write_whole(os.path.join(folder, f"{uuid.uuid4().hex}.json"), write_json(record))

    def read(self) -> list[Fault]:
        """All that tasks have left: those of the first entry first, then budgets, then the nodes upstream."""
        faults = [
            read_record(os.path.join(place, name), Fault)
            for place, _, names in os.walk(self._folder)
            for name in names
            if name.endswith(".json")
        ]
        return sorted(faults, key=lambda fault: (fault.entry, fault.kind, fault.nodes, fault.queries))

    def clear(self) -> None:
        """Forget them, once they are acted on."""
        shutil.rmtree(self._folder, ignore_errors=True)
