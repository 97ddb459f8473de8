"""A snapshot of a service's folder: what a kill at this moment would leave, by links, within the folder.

    catalog.db          a copy by SQLite, which is consistent by itself
    *.jsonl that grow   copied if short, else linked: what is behind the noted length is cut at the start
    all others          linked: such files are never changed, only replaced

Law: the caller holds micro-batches and changes still. Then the files are those of a crash between two of
them, from which a service comes back. Spark's own files are linked first: what they name is linked later.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing

from seine.service.folder import ServiceFolder

_CATALOG = "catalog.db"
_LEFT_OUT = frozenset({"lock", "service.json", "snapshots", f"{_CATALOG}-wal", f"{_CATALOG}-shm", _CATALOG})
_MADE_ANEW = os.path.join("pipeline", "result_index")  # from the results
_LONGEST_COPY = 1 << 20


def take_snapshot(folder: ServiceFolder) -> str:
    """Make a snapshot; its folder, which the caller removes."""
    target = os.path.join(folder.snapshots, uuid.uuid4().hex)
    os.makedirs(target)
    for path in _files(folder.path):
        _keep(os.path.join(folder.path, path), os.path.join(target, path))
    copy_catalog(folder.catalog, os.path.join(target, _CATALOG))
    return target


def copy_catalog(source: str, target: str) -> None:
    """Copy a catalog as of its last transaction."""
    with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(target)) as copied:
        live.backup(copied)


def _files(top: str) -> Iterator[str]:
    """What is in the folder, by paths from there: Spark's files first, then entries, then what they name."""
    pipeline = os.path.join(top, "pipeline")
    for part in sorted(os.listdir(pipeline), key=_order):
        yield from _below(top, os.path.join("pipeline", part))
    for name in sorted(os.listdir(top)):
        if name not in _LEFT_OUT and name != "pipeline" and not name.startswith("spark.log"):
            yield from _below(top, name)


def _order(part: str) -> tuple[bool, bool, str]:
    return not part.startswith("spark"), part != "journal", part


def _below(top: str, path: str) -> Iterator[str]:
    if path == _MADE_ANEW or path.endswith((".tmp", f"{os.sep}.new")):
        return
    whole = os.path.join(top, path)
    if not os.path.isdir(whole):
        yield path
        return
    for name in sorted(os.listdir(whole)):
        yield from _below(top, os.path.join(path, name))


def _keep(source: str, target: str) -> None:
    """Link a file, or copy a short one that may grow; one that is gone meanwhile is needed no more."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        if source.endswith(".jsonl") and os.path.getsize(source) <= _LONGEST_COPY:
            shutil.copyfile(source, target)
        else:
            _link(source, target)
    except FileNotFoundError:
        return


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except PermissionError:  # a file system without links
        shutil.copyfile(source, target)
