"""Relations that change while queries run, as a log of versions.

A followed relation is looked at before each journal entry is cut. If its files are others than before it is
read again, whole, and becomes part of the next network version; entries name their version, so a replay sees
what the first run saw. When its tuples count, VALID says: a tuple of a stream is joined with the relation as
it was in the entry in which its instant was complete, and no result is retracted for a later change.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from seine.algebra.definitions import RelationDef, StreamDef
from seine.errors import SeineError
from seine.intake.database_tables import is_table
from seine.intake.files import Files
from seine.intake.relations import load_relation
from seine.network.network import Network
from seine.runtime.folder.versions import Versions

_logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0  # between two looks at a table: each reads all of it
Print = tuple[tuple[str, int, int, int], ...]  # files: name, identity, size, time of change


class ChangingRelations:
    """Keeps the version of a network in step with its relations."""

    def __init__(
        self,
        network: Network,
        versions: Versions,
        streams: Iterable[StreamDef],
        relations: Iterable[RelationDef],
        current: Mapping[str, pa.RecordBatch],
        notice: Callable[[str], None],
    ) -> None:
        """`current` are the tuples of all relations in the network's version; nothing if none is followed."""
        self._network, self._versions, self._streams = network, versions, list(streams)
        self._followed = [relation for relation in relations if relation.followed]
        self._current = dict(current)
        self._prints: dict[str, Print] = {}
        self._notice = notice

    def version(self) -> int:
        """The version of the network, a new one if a relation has changed."""
        fresh: dict[str, pa.RecordBatch] = {}
        dead = []
        for relation in self._followed:
            seen = _print_of(relation)
            if seen == self._prints.get(relation.name):
                continue
            self._prints[relation.name] = seen
            try:
                tuples, letters = load_relation(relation)
            except SeineError as error:
                _logger.warning("relation not read again", extra={"relation": relation.name})
                self._notice(f"relation {relation.name} stays as it was: {error.message}")
                continue
            if not tuples.equals(self._current[relation.name]):
                fresh[relation.name] = tuples
                dead += letters
        if fresh:
            self._current = {**self._current, **fresh}
            change = self._network.renew()
            _logger.info(
                "relations changed", extra={"relations": ", ".join(fresh), "version": self._network.version}
            )
            self._versions.extend(self._network, change, self._streams, self._current, dead)
        return self._network.version


def _print_of(relation: RelationDef) -> Print:
    """What distinguishes the files of a relation from others; a table is looked at now and then."""
    assert relation.source is not None
    if is_table(relation.source):
        return ((relation.source.path, 0, 0, int(time.monotonic() / LOOK_SECONDS)),)
    files = []
    for path in Files(relation.source.path).listing():
        try:
            status = os.stat(path)
        except OSError:
            continue
        files.append((path, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(files)
