"""Queries without which entries go on: those that failed, and those that were dropped meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from seine.operators.state.work_budget import FaultKind
from seine.runtime.folder.settings import read_register
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
