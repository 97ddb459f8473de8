"""Queries without which entries go on, and the faults of tasks by which the driver finds them.

    faults/<entry>/<unique>      left by the task that then fails

A fault names the nodes of an entry that went over their budget or raised. A pipeline that dies and has left
a fault of an entry died of a query; one without died of something else. Entries go on without queries that
failed, and without those that were dropped meanwhile.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from seine.evaluate.kernels.spending import Called
from seine.operators.state.work_budget import FaultKind, NodeFault
from seine.runtime.folder.settings import decoded, read_register
from seine.storage.log import Register
from seine.storage.store import Store
from seine.typed_json import write_json

if TYPE_CHECKING:
    from seine.runtime.folder.deployment import Deployment


class Failure(Struct, frozen=True):
    """Why a query failed, and the first entry whose share is withheld from it."""

    entry: int
    kind: FaultKind
    reason: str


class _FailureRecord(Struct, frozen=True):
    """Failures by query, as a run keeps them; a service has them in its catalog."""

    queries: dict[str, Failure]


FAILURES = "failures"  # the register that has them


def read_failures(store: Store) -> dict[str, Failure]:
    """The failed queries of a run, by name."""
    record = read_register(store, FAILURES, _FailureRecord)
    return {} if record is None else record.queries


def write_failures(store: Store, failures: Mapping[str, Failure]) -> None:
    """Make failures durable, and those that were there before no more."""
    content = write_json(_FailureRecord(dict(failures)))
    Register(store, FAILURES).change(lambda _: content)


def withhold_gone(deployment: Deployment, first: int, version: int, standing: Mapping[str, int]) -> None:
    """Let the entries that are written, from one on, go on without queries that stand no more.

    `standing` are the queries of the present `version` and those that rest, each with the entry from which on
    it is that query. To be called when nothing runs: all tasks of an entry must know of the same queries.
    """
    queries: dict[int, Collection[str]] = {version: ()}  # of older versions; in the present one all stand
    for entry in deployment.journal.entries():
        if entry.number >= first:
            if entry.network not in queries:
                queries[entry.network] = deployment.versions.network(entry.network).queries
            names = queries[entry.network]
            gone = [name for name in names if name not in standing or standing[name] > entry.number]
            deployment.journal.withhold(entry.number, gone)


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
