"""Paths that lie within a service's folder, where it keeps them, after the folder has moved.

They are in the catalog (sources, plans and sinks), in network versions, in the last entries and in what Spark
noted of its state. Paths outside the folder stay. Decoded state gets a place of its own: the folder may be a
copy of one that is still served on this machine.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing

from msgspec.structs import replace

from seine.disk_sync import write_whole
from seine.runtime.folder.settings import Settings, new_cache, read_record, settings_path
from seine.typed_json import write_json

_TEXTS = (
    ("seine_input", "source_path"),
    ("seine_input", "source_options"),
    ("seine_query", "plan"),
    ("seine_sink", "target"),
    ("seine_setting", "value"),
)
_OF_SPARK = (f"{os.sep}_metadata{os.sep}", f"{os.sep}offsets{os.sep}")


def relocate(folder: str, old: str, new: str) -> None:
    """Let a service's folder, which nobody serves, name what lay below `old` by its place below `new`."""
    pipeline = os.path.join(folder, "pipeline")
    if old != new:
        _relocate_catalog(os.path.join(folder, "catalog.db"), old, new)
        for path in _text_files(pipeline):
            _relocate_text(path, old, new)
    settings = read_record(settings_path(pipeline), Settings)
    write_whole(settings_path(pipeline), write_json(replace(settings, cache=new_cache()), indent=1))


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
    """The versions, entries and notes of Spark that may name paths."""
    for folder, _, names in os.walk(pipeline):
        for name in names:
            path = os.path.join(folder, name)
            if (
                name.endswith(".json")
                or f"{os.sep}_metadata{os.sep}" in path
                or f"{os.sep}offsets{os.sep}" in path
            ):
                yield path


def _relocate_text(path: str, old: str, new: str) -> None:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    if (moved := relocated(text, old, new)) != text:
        write_whole(path, moved.encode(errors="surrogateescape"))
