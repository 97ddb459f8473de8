"""Looks at followed relations, and reads those again whose files or tables have changed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from seine.algebra.definitions import RelationDef, Source
from seine.errors import SeineError
from seine.intake.admission import Letter
from seine.intake.files import Files
from seine.intake.relations import is_table, load_relation

if TYPE_CHECKING:
    from seine.intake.database_tables import ChangeListener

_logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0  # between two looks at a table: each reads all of it, or all of its versions
SAFETY_SECONDS = 300.0  # after which a table is read though nobody has notified
_SHARE_OF_READING = 0.1  # of the time, at most: a table that changes all the time is read now and then
Print = tuple[tuple[str, int, int, int], ...]  # of files: name, identity, size, time of change
Tuples = dict[str, pa.RecordBatch]  # of relations, by name


class RelationWatch:
    """Remembers what the files of each relation were like at the last look.

    At the first look everything is read: what changed while nobody looked is noticed, too.
    """

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._prints: dict[str, Print] = {}
        self._listeners: dict[str, tuple[RelationDef, ChangeListener]] = {}
        self._not_before: dict[str, float] = {}  # when a table may be read again

    def look(
        self, followed: Mapping[str, RelationDef], current: Mapping[str, pa.RecordBatch]
    ) -> tuple[Tuples, list[Letter]]:
        """The relations whose tuples are others than the current ones, and dead letters of these.

        One that cannot be read stays as it was, and the notice says so.
        """
        fresh: Tuples = {}
        dead: list[Letter] = []
        self._close_listeners(followed)
        for name, relation in followed.items():
            if time.monotonic() < self._not_before.get(name, 0.0):
                continue
            try:
                seen = self._print_of(relation)
                if seen == self._prints.get(name):
                    continue
                self._prints[name] = seen
                tuples, letters = self._read(name, relation)
            except SeineError as error:
                _logger.warning("relation not read again", extra={"relation": name})
                self._notice(f"relation {name} stays as it was: {error.message}")
                continue
            if not tuples.equals(current[name]):
                fresh[name] = tuples
                dead += letters
        return fresh, dead

    def close(self) -> None:
        """Listen to nobody any more."""
        self._close_listeners({})

    def _close_listeners(self, followed: Mapping[str, RelationDef]) -> None:
        """End those of relations that are not followed any more, or are others by now."""
        for name, (relation, listener) in list(self._listeners.items()):
            if followed.get(name) != relation:
                listener.close()
                del self._listeners[name]

    def _read(self, name: str, relation: RelationDef) -> tuple[pa.RecordBatch, list[Letter]]:
        began = time.monotonic()
        loaded = load_relation(relation)
        if name in self._listeners:  # others are looked at now and then only
            ended = time.monotonic()
            self._not_before[name] = ended + (ended - began) * (1 / _SHARE_OF_READING - 1)
        return loaded

    def _print_of(self, relation: RelationDef) -> Print:
        """What distinguishes the files or the table of a relation from what they were."""
        assert relation.source is not None
        if not is_table(relation.source):
            return _print_of_files(relation.source)
        options = dict(relation.source.options)
        if "notify" in options:
            return (
                ("", self._heard(relation, options["notify"]), 0, int(time.monotonic() / SAFETY_SECONDS)),
            )
        if "version" in options:
            from seine.intake.database_tables import version_of  # imports SQLAlchemy

            self._not_before[relation.name] = time.monotonic() + LOOK_SECONDS
            return ((version_of(relation, options["version"]), 0, 0, 0),)
        return (("", 0, 0, int(time.monotonic() / LOOK_SECONDS)),)

    def _heard(self, relation: RelationDef, channel: str) -> int:
        """How often a channel has been notified, to which it is listened from the first look on."""
        from seine.intake.database_tables import ChangeListener  # imports SQLAlchemy

        if relation.name not in self._listeners:
            self._listeners[relation.name] = relation, ChangeListener(relation, channel)
        return self._listeners[relation.name][1].heard()


def _print_of_files(source: Source) -> Print:
    """Names, identities, sizes and times of change."""
    files = []
    for path in Files.of(source).listing():
        try:
            status = os.stat(path)
        except OSError:
            continue
        files.append((path, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(files)
