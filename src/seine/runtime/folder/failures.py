"""Queries that are in quarantine: they failed, and no entry from a certain one on counts for them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from seine.disk_sync import write_whole
from seine.operators.state.work_budget import FaultKind
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
