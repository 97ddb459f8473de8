"""The network versions of a pipeline: now and then a whole one, between them what changed.

    networks/<version>/record/     a register: the whole network, or the change since the version before
    networks/<version>/dead/       a register: what was wrong with relations that came with it, if anything
    networks/<version>/relation-.. a relation that came with it; see relation_files

A version that no entry names yet may be written again: the change before it never became true.

A registration writes what it changes, not the network; a worker that has one version makes the
next from it. A whole version is written when the changes since the last one outgrow it.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from msgspec import Struct

from seine.algebra.definitions import StreamDef
from seine.algebra.serialise import stream_from_json, stream_to_json
from seine.graph.snapshot import NetworkChange, Snapshot
from seine.network.network import Network
from seine.network.network_record import NetworkRecord
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.operators.kinds import KINDS
from seine.rows.arrow_ipc import ipc_views
from seine.runtime.folder.relation_files import mapped
from seine.runtime.folder.settings import damaged, read_register
from seine.storage.log import Register
from seine.storage.store import Store
from seine.typed_json import write_json

_logger = logging.getLogger(__name__)

LEAST_PENDING_BYTES = 1 << 20  # bytes of changes that are never worth a whole version
_NETWORKS = "networks/"
_RELATION = r"\d+/relation-[\w.]+"
_ROW_BYTES = 100  # about what a row of a table takes

Letters = list[dict[str, Any]]


@dataclass(frozen=True)
class Version:
    """One version: what runs, over which streams, with which relations (objects by name)."""

    number: int
    snapshot: Snapshot
    streams: Mapping[str, StreamDef]
    relations: Mapping[str, str]


class VersionRecord(Struct, frozen=True):
    """A version as it is kept: its streams and relations, and the whole network or what changed in it."""

    streams: list[dict[str, Any]]  # in their JSON form
    relations: dict[str, str]  # where they are among all versions
    network: NetworkRecord | None = None
    change: NetworkChange | None = None


class Versions:
    """The versions in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pending: int | None = None  # bytes of changes since the last whole version
        self._whole = 0  # bytes of it
        self._wholes: list[int] = []  # whole versions that were written by this process
        self._first: int | None = None  # the whole version before which nothing is kept
        self._written: dict[str, tuple[pa.RecordBatch, str]] = {}  # relations, and where they are

    def save(
        self,
        network: Network,
        streams: Iterable[StreamDef],
        relations: Mapping[str, pa.RecordBatch],
        dead: Iterable[dict[str, Any]] = (),
    ) -> None:
        """Write a whole version; relations are part of it, so a replay sees the same tuples.

        `dead` are the dead letters of reading them.
        """
        places = self._put_relations(network.version, relations)
        record = VersionRecord(_stream_forms(streams), places, network=network.record())
        self._whole, self._pending = self._write(network.version, record, dead), 0
        self._wholes = [*self._wholes_before(network.version), network.version]

    def extend(
        self,
        network: Network,
        change: NetworkChange,
        streams: Iterable[StreamDef],
        relations: Mapping[str, pa.RecordBatch],
        dead: Iterable[dict[str, Any]] = (),
    ) -> None:
        """Write the next version, given what it changes; whole if changes outgrow the last whole one.

        So whoever brings very much pays for it, not the one who comes next.
        """
        large = len(change.rows) * _ROW_BYTES
        if self._pending is None or self._pending + large > max(LEAST_PENDING_BYTES, self._whole):
            self.save(network, streams, relations, dead)
            return
        self._wholes = self._wholes_before(network.version)
        places = self._put_relations(network.version, relations)
        record = VersionRecord(_stream_forms(streams), places, change=change)
        self._pending += self._write(network.version, record, dead)

    def _wholes_before(self, number: int) -> list[int]:
        """A version may be written again: a change that never became true left it."""
        return [whole for whole in self._wholes if whole < number]

    def load(self, number: int, before: Version | None = None) -> tuple[Version, set[int] | None]:
        """A version, and the ids of the nodes that changed since the given one; None if all may have."""
        newest = self._read(number)
        base, changes = self._history(number, newest, None if before is None else before.number)
        known = before if before is not None and base is None else None
        snapshot = known.snapshot if known is not None else self._whole_network(base).snapshot()
        changed: set[int] = set()
        for change in changes:
            snapshot, more = snapshot.applied(change, KINDS)
            changed |= more
        streams = {stream.name: stream for stream in map(stream_from_json, newest.streams)}
        version = Version(number, snapshot, streams, _relation_names(newest, self._place(number)))
        return version, None if known is None else changed

    def without(self, number: int, withheld: Iterable[str]) -> Version:
        """A version without some of its queries; names of others are ignored."""
        version, _ = self.load(number)
        network = self.network(number)
        for name in sorted(withheld):
            if name in network.queries:
                network.remove(name)
        return replace(version, snapshot=Snapshot(network.nodes, network.tables))

    def network(self, number: int, strategy: Strategy = CONFIGURATIONS["all"]) -> Network:
        """The network of a version, for adding to it."""
        base, changes = self._history(number, self._read(number))
        return Network.of(self._whole_network(base), strategy, changes)

    def first(self) -> int:
        """The oldest version that is kept."""
        numbers = [_version_of(name) for name in self._store.list(_NETWORKS) if "/record/" in name]
        if not numbers:
            raise damaged(f"{self._store.place}/networks")
        return min(numbers)

    def _history(
        self, number: int, record: VersionRecord, known: int | None = None
    ) -> tuple[VersionRecord | None, list[NetworkChange]]:
        """What a version is made of: the last whole one, and the changes since, in order.

        The changes alone if they lead back to a version that is known.
        """
        changes: list[NetworkChange] = []
        while number != known:
            if record.change is None:
                return record, changes[::-1]
            changes.append(record.change)
            number -= 1
            if number != known:
                record = self._read(number)
        return None, changes[::-1]

    def _whole_network(self, record: VersionRecord | None) -> NetworkRecord:
        if record is None or record.network is None:
            raise damaged(f"{self._store.place}/networks")
        return record.network

    def relations(self, number: int) -> dict[str, pa.RecordBatch]:
        """The relations of a version, mapped."""
        names = _relation_names(self._read(number), self._place(number))
        self._written = {name: (mapped(self._store, where), where) for name, where in names.items()}
        return {name: batch for name, (batch, _) in self._written.items()}

    def discard_before(self, number: int) -> None:
        """Forget what no version from this one on is made of, whichever process wrote it."""
        bases = [whole for whole in self._wholes if whole <= number]
        if not bases or bases[-1] == self._first:
            return
        self._first, self._wholes = bases[-1], self._wholes[len(bases) - 1 :]
        used = {where for _, where in self._written.values()}
        kept = [*self._store.list(_NETWORKS)]
        self._store.delete([name for name in kept if _version_of(name) < self._first and name not in used])

    def dead_letters(self, number: int) -> Letters:
        """What was wrong with the relations that came with a version, if anything was."""
        content = self._dead(number).read()
        letters: Letters = [] if content is None else json.loads(content)
        return letters

    def _put_relations(self, number: int, relations: Mapping[str, pa.RecordBatch]) -> dict[str, str]:
        """Write the relations that are not there yet; where each is, among all versions."""
        for name, batch in sorted(relations.items()):
            known = self._written.get(name)
            if known is None or known[0] is not batch:
                where = f"{_NETWORKS}{number:012d}/relation-{uuid.uuid4().hex}"
                self._store.put(where, ipc_views(batch))
                self._written[name] = (batch, where)
        return {name: self._written[name][1].removeprefix(_NETWORKS) for name in relations}

    def _write(self, number: int, record: VersionRecord, dead: Iterable[dict[str, Any]]) -> int:
        letters = json.dumps([*dead]).encode()
        before = self._dead(number).read() or b"[]"  # there may be some of a change that never became true
        if letters != before:
            self._dead(number).change(lambda _: letters)
        content = write_json(record)
        self._register(number).change(lambda _: content)
        _logger.info("network version written", extra={"version": number, "bytes": len(content)})
        return len(content)

    def _read(self, number: int) -> VersionRecord:
        record = read_register(self._store, record_of_version(number), VersionRecord)
        if record is None:
            raise damaged(self._place(number))
        return record

    def _register(self, number: int) -> Register:
        return Register(self._store, record_of_version(number))

    def _dead(self, number: int) -> Register:
        return Register(self._store, dead_of_version(number))

    def _place(self, number: int) -> str:
        """Where a version is, for people."""
        return f"{self._store.place}/{record_of_version(number)}"


def record_of_version(number: int) -> str:
    """The register that has a version."""
    return f"{_NETWORKS}{number:012d}/record"


def dead_of_version(number: int) -> str:
    """The register that has the dead letters of a version."""
    return f"{_NETWORKS}{number:012d}/dead"


def _version_of(name: str) -> int:
    return int(name.split("/")[1])


def _relation_names(record: VersionRecord, place: str) -> dict[str, str]:
    """The objects that relations are; a record that names others was not written by us."""
    for where in record.relations.values():
        if not re.fullmatch(_RELATION, where):
            raise damaged(place)
    return {name: f"{_NETWORKS}{where}" for name, where in record.relations.items()}


def _stream_forms(streams: Iterable[StreamDef]) -> list[dict[str, Any]]:
    return [stream_to_json(stream) for stream in streams]
