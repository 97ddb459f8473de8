"""The network versions of a pipeline on disk: now and then a whole one, between them what changed.

    <version>/network.json     the whole network, or the change since the version before
    <version>/dead.json        what was wrong with the relations that came with it, if anything
    <version>/relation-0.arrow a relation that came with it; see runtime.relation_files

A registration writes what it changes, not the network; a worker that has one version makes the
next from it. A whole version is written when the changes since the last one outgrow it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.algebra.serialise import stream_from_json, stream_to_json
from seine.graph.parameter_table import ParameterTable
from seine.graph.snapshot import NetworkChange, Snapshot
from seine.network.network import Network
from seine.network.plan.strategy import Strategy
from seine.operators.kinds import KINDS
from seine.runtime.folder.durable import write_whole
from seine.runtime.folder.relation_files import mapped, write_relation
from seine.runtime.folder.settings import damaged, read_object

_logger = logging.getLogger(__name__)

SMALLEST = 1 << 20  # bytes of changes that are never worth a whole version
_RELATION = r"\d+/relation-\d+\.arrow"
_ROW_BYTES = 100  # about what a row of a table takes

Letters = list[dict[str, Any]]


@dataclass(frozen=True)
class Version:
    """One version: what runs, over which streams, with which relations (paths by name)."""

    number: int
    snapshot: Snapshot
    streams: Mapping[str, StreamDef]
    relations: Mapping[str, str]


class Versions:
    """The versions in one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._pending: int | None = None  # bytes of changes since the last whole version
        self._whole = 0  # bytes of it
        self._wholes: list[int] = []  # whole versions that were written here
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
        form = {"network": network.to_json(), **self._frame(network.version, streams, relations)}
        self._whole, self._pending = self._write(network.version, form, dead), 0
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
        if self._pending is None or self._pending + large > max(SMALLEST, self._whole):
            self.save(network, streams, relations, dead)
            return
        self._wholes = self._wholes_before(network.version)
        form = {"change": change.to_json(), **self._frame(network.version, streams, relations)}
        self._pending += self._write(network.version, form, dead)

    def _wholes_before(self, number: int) -> list[int]:
        """A version may be written again: a change that never became true left it."""
        return [whole for whole in self._wholes if whole < number]

    def load(self, number: int, before: Version | None = None) -> tuple[Version, set[int] | None]:
        """A version, and the ids of the nodes that changed since the given one; None if all may have."""
        form = newest = self._read(number)
        changes = []
        while "change" in form and (before is None or number != before.number):
            changes.append(NetworkChange.from_json(form["change"]))
            number -= 1
            form = self._read(number)
        known = before is not None and number == before.number
        snapshot = before.snapshot if known and before is not None else _snapshot(form["network"])
        changed: set[int] = set()
        for change in reversed(changes):
            snapshot, more = snapshot.applied(change, KINDS)
            changed |= more
        streams = {s.name: s for s in map(stream_from_json, newest["streams"])}
        version = Version(number + len(changes), snapshot, streams, self._relation_paths(newest))
        return version, changed if known else None

    def network(self, number: int, strategy: Strategy) -> Network:
        """The network of a version, for adding to it."""
        changes = []
        form = self._read(number)
        while "change" in form:
            changes.append(NetworkChange.from_json(form["change"]))
            number -= 1
            form = self._read(number)
        return Network.from_json(form["network"], strategy, reversed(changes))

    def relations(self, number: int) -> dict[str, pa.RecordBatch]:
        """The relations of a version, mapped."""
        paths = self._relation_paths(self._read(number))
        self._written = {name: (mapped(path), path) for name, path in paths.items()}
        return {name: batch for name, (batch, _) in self._written.items()}

    def _relation_paths(self, form: Mapping[str, Any]) -> dict[str, str]:
        """Where relations are: a version names them below this folder, which may have been moved."""
        for place in form["relations"].values():
            if not re.fullmatch(_RELATION, place):
                raise damaged(self._folder)
        return {name: os.path.join(self._folder, place) for name, place in form["relations"].items()}

    def discard_before(self, number: int) -> None:
        """Forget what no version from this one on is made of."""
        bases = [whole for whole in self._wholes if whole <= number]
        if len(bases) < 2:
            return
        self._wholes = self._wholes[len(bases) - 1 :]
        used = {os.path.dirname(path) for _, path in self._written.values()}
        for name in os.listdir(self._folder):
            folder = os.path.join(self._folder, name)
            if int(name) < bases[-1] and folder not in used:
                shutil.rmtree(folder)

    def dead_letters(self, number: int) -> Letters:
        """What was wrong with the relations that came with a version, if anything was."""
        path = os.path.join(self._path(number), "dead.json")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            letters: Letters = json.load(file)
        return letters

    def _frame(
        self, number: int, streams: Iterable[StreamDef], relations: Mapping[str, pa.RecordBatch]
    ) -> dict[str, Any]:
        for place, (name, batch) in enumerate(sorted(relations.items())):
            known = self._written.get(name)
            if known is None or known[0] is not batch:
                self._written[name] = (batch, self._put(number, place, batch))
        paths = {name: os.path.relpath(self._written[name][1], self._folder) for name in relations}
        return {"streams": [stream_to_json(stream) for stream in streams], "relations": paths}

    def _put(self, number: int, place: int, batch: pa.RecordBatch) -> str:
        path = os.path.join(self._path(number), f"relation-{place}.arrow")
        os.makedirs(self._path(number), exist_ok=True)
        write_relation(path, batch)
        return path

    def _write(self, number: int, form: dict[str, Any], dead: Iterable[dict[str, Any]]) -> int:
        folder = self._path(number)
        os.makedirs(folder, exist_ok=True)
        letters, beside = list(dead), os.path.join(folder, "dead.json")
        if letters:
            write_whole(beside, json.dumps(letters).encode())
        elif os.path.exists(beside):  # of a change that never became true
            os.remove(beside)
        content = json.dumps(form, separators=(",", ":")).encode()
        write_whole(os.path.join(folder, "network.json"), content)
        _logger.info("network version written", extra={"version": number, "bytes": len(content)})
        return len(content)

    def _read(self, number: int) -> dict[str, Any]:
        path = os.path.join(self._path(number), "network.json")
        try:
            return read_object(path)
        except FileNotFoundError as error:
            raise damaged(path) from error

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"{number:012d}")


def _snapshot(form: dict[str, Any]) -> Snapshot:
    nodes = {node.id: node for node in map(KINDS.read, form["nodes"])}
    return Snapshot(nodes, {int(i): ParameterTable.from_json(t) for i, t in form["tables"].items()})
