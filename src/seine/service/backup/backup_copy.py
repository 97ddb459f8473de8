"""A backup: a folder with the files of a service, and a manifest with their digests, which comes last.

Paths that lie within a service's folder, where it keeps them, after the folder has moved.

They are in the catalog (sources, plans and sinks), in network versions, in the last entries and in what Spark
noted of its state. Paths outside the folder stay. Decoded state gets a place of its own: the folder may be a
copy of one that is still served on this machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from msgspec import Struct
from msgspec.structs import replace

from seine import __version__
from seine.disk_sync import make_folder, sync_tree, write_whole
from seine.errors import SeineError
from seine.intake.bundle import Bundle, bundle
from seine.intake.journal import JOURNAL
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.format_steps import format_of, refuse_unread
from seine.runtime.folder.settings import SETTINGS, new_cache, read_record
from seine.storage.local import store_at
from seine.storage.store import Store
from seine.typed_json import write_json

MANIFEST = "manifest.json"
_FILES = "files"
_CHUNK_BYTES = 1 << 20


class BackedUpFile(Struct, frozen=True):
    """The length and the SHA-256 of a file."""

    size: int
    digest: str


class Manifest(Struct, frozen=True):
    """What a backup is of: the folder as it was called, its format, when, and every file."""

    seine: str
    format: int
    folder: str
    made: str
    files: dict[str, BackedUpFile]


def refuse_filled(folder: str, what: str) -> None:
    """Refuse a folder that has something in it."""
    try:
        filled = os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder))
    except OSError as error:
        raise SeineError(f"cannot look into '{folder}': {error.strerror}") from error
    if filled:
        raise SeineError(
            f"'{folder}' is not empty", hint=f"name a new folder for the {what}, or an empty one"
        )


def write_backup(source: str, named: str, target: str) -> Manifest:
    """Copy the files of a service, which hold still, from `source`; `named` is where the service has them."""
    refuse_filled(target, "backup")
    with _all_or_nothing(target):
        return _write_files(source, named, target)


def _write_files(source: str, named: str, target: str) -> Manifest:
    make_folder(os.path.join(target, _FILES), mode=0o700)
    files = {path: _copied(os.path.join(source, path), _kept(target, path)) for path in _paths(source)}
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    mark = format_of(store_at(os.path.join(source, "pipeline")))
    sync_tree(target)  # the manifest says that all are there: their names, too
    manifest = Manifest(__version__, mark, named, made, files)
    write_whole(os.path.join(target, MANIFEST), write_json(manifest, indent=1))
    return manifest


def read_backup(folder: str) -> Manifest:
    """The manifest of a backup that is whole and whose format can be read."""
    path = os.path.join(folder, MANIFEST)
    if not os.path.exists(path):
        raise SeineError(
            f"'{folder}' is no backup: it has no {MANIFEST}", hint="make one: seine backup FOLDER TARGET"
        )
    manifest = read_record(path, Manifest)
    refuse_unread(folder, manifest.format)
    return manifest


def restore_backup(backup: str, folder: str) -> Manifest:
    """Bring the files of a backup into a folder, each checked by its digest; if one is wrong, none stays."""
    manifest = read_backup(backup)
    refuse_filled(folder, "service")
    with _all_or_nothing(folder):
        make_folder(folder, mode=0o700)
        for path, kept in manifest.files.items():
            _check(path, _copied(_kept(backup, path), _inside(folder, path)), kept)
        relocate(folder, manifest.folder, os.path.abspath(folder))
        sync_tree(folder)
    return manifest


def verify_backup(backup: str) -> Manifest:
    """Look whether every file of a backup is as it was."""
    manifest = read_backup(backup)
    for path, kept in manifest.files.items():
        _check(path, _copied(_kept(backup, path), os.devnull), kept)
    return manifest


def _check(path: str, seen: BackedUpFile, kept: BackedUpFile) -> None:
    if seen != kept:
        raise SeineError(
            f"the backup is damaged: '{path}' is not what was backed up",
            hint="take another backup of this service",
        )


def _kept(backup: str, path: str) -> str:
    return _inside(os.path.join(backup, _FILES), path)


def _inside(folder: str, path: str) -> str:
    """A path within a folder; a manifest that leads out of it was not written by us."""
    whole = os.path.normpath(os.path.join(folder, path))
    if not whole.startswith(os.path.join(os.path.normpath(folder), "")):
        raise SeineError(f"the backup is damaged: '{path}' leads out of it")
    return whole


def _paths(top: str) -> Iterator[str]:
    for folder, _, names in os.walk(top):
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), top)


def _copied(source: str, target: str) -> BackedUpFile:
    """Copy a file durably; its length and digest as they were read."""
    digest, size = hashlib.sha256(), 0
    if target != os.devnull:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    try:
        with open(source, "rb") as read, open(target, "wb") as written:
            while chunk := read.read(_CHUNK_BYTES):
                written.write(chunk)
                digest.update(chunk)
                size += len(chunk)
            written.flush()
            if target != os.devnull:
                os.fsync(written.fileno())
    except FileNotFoundError:
        raise SeineError(f"the backup is damaged: '{source}' is missing") from None
    return BackedUpFile(size, digest.hexdigest())


@contextmanager
def _all_or_nothing(folder: str) -> Iterator[None]:
    """If something goes wrong within this, such as a disk that is full, the folder is as it was: empty."""
    existed = os.path.exists(folder)
    try:
        yield
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if existed:
            os.makedirs(folder, exist_ok=True)
        if isinstance(error, OSError):
            raise SeineError(f"cannot write to '{folder}': {error.strerror or error}") from error
        raise


_TEXTS = (
    ("seine_input", "source_path"),
    ("seine_input", "source_options"),
    ("seine_query", "plan"),
    ("seine_sink", "target"),
    ("seine_setting", "value"),
)
_TEXT_FOLDERS = tuple(f"{os.sep}{name}{os.sep}" for name in ("_metadata", "offsets", "record", SETTINGS))


def relocate(folder: str, old: str, new: str) -> None:
    """Let a service's folder, which nobody serves, name what lay below `old` by its place below `new`."""
    pipeline = os.path.join(folder, "pipeline")
    restored = Deployment(pipeline)
    restored.bring_up_to_date()
    if old != new:
        _relocate_catalog(os.path.join(folder, "catalog.db"), old, new)
        for path in _text_files(pipeline):
            _relocate_text(path, old, new)
        _relocate_entries(restored.store, old, new)
    restored.create(replace(restored.settings, cache=new_cache()))


def relocated(text: str, old: str, new: str) -> str:
    """A text in which paths below a folder are below another, plain and as JSON writes them.

    >>> relocated('{"path": "/a/b/c.jsonl", "other": "/a/bc"}', "/a/b", "/x")
    '{"path": "/x/c.jsonl", "other": "/a/bc"}'
    """
    pairs = {(old, new), (json.dumps(old)[1:-1], json.dumps(new)[1:-1])}
    for before, after in pairs:
        text = text.replace(os.path.join(before, ""), os.path.join(after, ""))
    return text


def _relocate_catalog(path: str, old: str, new: str) -> None:
    with closing(sqlite3.connect(path)) as catalog, catalog:
        tables = {name for (name,) in catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table, column in _TEXTS:
            if table in tables:
                rows = catalog.execute(f"SELECT rowid, {column} FROM {table}").fetchall()  # noqa: S608 - ours
                changed = [(relocated(text, old, new), row) for row, text in rows if text is not None]
                statement = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"  # noqa: S608 - names of ours
                catalog.executemany(statement, changed)


def _text_files(pipeline: str) -> Iterator[str]:
    """The versions, settings and notes of Spark that may name paths."""
    for folder, _, names in os.walk(pipeline):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".json") or any(part in path for part in _TEXT_FOLDERS):
                yield path


def _relocate_entries(store: Store, old: str, new: str) -> None:
    for name in store.list(JOURNAL):
        entry = Bundle(store.local(name))
        moved = relocated(entry.record.decode(), old, new).encode()
        if moved != entry.record:
            store.put(name, bundle(moved, entry.pieces()))


def _relocate_text(path: str, old: str, new: str) -> None:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    if (moved := relocated(text, old, new)) != text:
        write_whole(path, moved.encode(errors="surrogateescape"))
