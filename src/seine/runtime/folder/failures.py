"""Queries without which entries go on: those that failed, and those that were dropped meanwhile."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from msgspec import Struct

from seine.disk_sync import write_whole
from seine.operators.state.work_budget import FaultKind
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import read_record
from seine.typed_json import write_json


class Failure(Struct, frozen=True):
    """Why a query failed, and the first entry whose share is withheld from it."""

    entry: int
    kind: FaultKind
    reason: str


class _FailureRecord(Struct, frozen=True):
    """The file: failures by query."""

    queries: dict[str, Failure]


class RunFailures:
    """The failed queries of a run, in a file of its pipeline; a service has them in its catalog."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.queries: Mapping[str, Failure] = {}
        if os.path.exists(path):
            self.queries = read_record(path, _FailureRecord).queries

    def add(self, failures: Mapping[str, Failure]) -> None:
        """Make failures durable."""
        self.queries = {**self.queries, **failures}
        write_whole(self._path, write_json(_FailureRecord(dict(self.queries))))


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
