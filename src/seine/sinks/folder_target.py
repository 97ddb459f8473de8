"""A folder of files, each with the records of one piece; its name says which, so that it is there once.

    alerts/part-<sink>-<start>-<end>.jsonl                 FORMAT JSON: records as they are delivered
    alerts/query=q1/part-<sink>-<start>-<end>.parquet      FORMAT PARQUET: a folder a query, typed columns

A file appears whole, by a rename. A consumer may take files away in the order of their names.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from urllib.parse import quote

import pyarrow.parquet as pq

from seine.algebra.plan import Query
from seine.catalog import StoredSink
from seine.disk_sync import make_folder, sync_to_disk
from seine.sinks.record_piece import RecordPiece
from seine.sinks.record_table import record_schema, record_table
from seine.sinks.sink_target import SinkTarget

_MOST_NAME = 150  # characters of a query's name in a folder's


class FolderTarget(SinkTarget):
    """Writes a piece as files that replace themselves when they are written again."""

    def __init__(self, sink: StoredSink, queries: Mapping[str, Query]) -> None:
        self._folder = sink.definition.target
        self._identity = sink.identity[:12]
        self._parquet = sink.definition.format == "PARQUET"
        self._schemas = {name: record_schema(query) for name, query in queries.items()}

    def write(self, piece: RecordPiece) -> None:
        """Write the files of a piece."""
        name = f"part-{self._identity}-{piece.start:015d}-{piece.end:015d}"
        if not self._parquet:
            self._write_lines(f"{name}.jsonl", b"".join(lines for _, lines in piece.portions))
            return
        for query in dict.fromkeys(query for query, _ in piece.portions):
            lines = b"".join(lines for one, lines in piece.portions if one == query)
            self._write_table(f"query={_file_name(query)}", f"{name}.parquet", query, lines)

    def _write_lines(self, name: str, lines: bytes) -> None:
        make_folder(self._folder)
        temporary = os.path.join(self._folder, f".{name}.tmp")
        with open(temporary, "wb") as file:
            file.write(lines)
        _publish(temporary, os.path.join(self._folder, name))

    def _write_table(self, part: str, name: str, query: str, lines: bytes) -> None:
        folder = os.path.join(self._folder, part)
        make_folder(folder)
        temporary = os.path.join(folder, f".{name}.tmp")
        pq.write_table(record_table(lines, self._schemas[query]), temporary)
        _publish(temporary, os.path.join(folder, name))


def _publish(temporary: str, path: str) -> None:
    """Let a file appear whole, and stay."""
    sync_to_disk(temporary)
    os.replace(temporary, path)
    sync_to_disk(os.path.dirname(path))


def _file_name(query: str) -> str:
    """A name that any file system takes, another one for each query.

    >>> _file_name("q1"), _file_name("a/b c")
    ('q1', 'a%2Fb%20c')
    """
    name = quote(query, safe="")
    if len(name) <= _MOST_NAME:
        return name
    return name[:_MOST_NAME] + hashlib.sha256(query.encode()).hexdigest()[:16]
