"""Looks at followed relations, and reads those again whose files or tables have changed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping

import pyarrow as pa

from seine.algebra.definitions import RelationDef
from seine.errors import SeineError
from seine.intake.admission import Letter
from seine.intake.files import Files
from seine.intake.relations import is_table, load_relation

_logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0  # between two looks at a table: each reads all of it
Print = tuple[tuple[str, int, int, int], ...]  # files: name, identity, size, time of change
Tuples = dict[str, pa.RecordBatch]  # of relations, by name


class RelationWatch:
    """Remembers what the files of each relation were like at the last look.

    At the first look everything is read: what changed while nobody looked is noticed, too.
    """

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._prints: dict[str, Print] = {}

    def look(
        self, followed: Mapping[str, RelationDef], current: Mapping[str, pa.RecordBatch]
    ) -> tuple[Tuples, list[Letter]]:
        """The relations whose tuples are others than the current ones, and dead letters of these.

        One that cannot be read stays as it was, and the notice says so.
        """
        fresh: Tuples = {}
        dead: list[Letter] = []
        for name, relation in followed.items():
            seen = _print_of(relation)
            if seen == self._prints.get(name):
                continue
            self._prints[name] = seen
            try:
                tuples, letters = load_relation(relation)
            except SeineError as error:
                _logger.warning("relation not read again", extra={"relation": name})
                self._notice(f"relation {name} stays as it was: {error.message}")
                continue
            if not tuples.equals(current[name]):
                fresh[name] = tuples
                dead += letters
        return fresh, dead


def _print_of(relation: RelationDef) -> Print:
    """What distinguishes the files of a relation from others; a table is looked at now and then."""
    assert relation.source is not None
    if is_table(relation.source):
        return ((relation.source.path, 0, 0, int(time.monotonic() / LOOK_SECONDS)),)
    files = []
    for path in Files.of(relation.source).listing():
        try:
            status = os.stat(path)
        except OSError:
            continue
        files.append((path, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(files)
