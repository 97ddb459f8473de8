"""A folder of results with a file for each query, as the outlet of a run: `--out results/`.

Law: after each micro-batch the file of a query is what the one file of all results has of that query. The
lengths of all files after the last two micro-batches are kept beside them: whatever follows them is cut off
when a run goes on, so a crash repeats and loses nothing.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Collection, Sequence
from urllib.parse import quote

import numpy as np

from seine.disk_sync import make_folder, sweep_temporaries, sync_to_disk, write_whole
from seine.errors import SeineError
from seine.runtime.output.task_report import QueryRanges

_LENGTHS = ".lengths.json"
_MOST_WAITING = 64 << 20  # bytes of one micro-batch in memory

Lengths = dict[str, int]  # of the files, by query


def file_name(query: str) -> str:
    """The name of a query's file.

    >>> file_name("q1"), file_name("a/b")
    ('q1.jsonl', 'a%2Fb.jsonl')
    """
    name = quote(query, safe=" +=@,")
    return ("%2E" + name[1:] if name.startswith(".") else name) + ".jsonl"


class QueryFiles:
    """An outlet of results with a file for each query; its length is that of all files together."""

    def __init__(self, path: str, length: int, queries: Collection[str]) -> None:
        """Files that hold more than `length` bytes together are cut back when something is settled."""
        self._path = path
        self._queries = queries
        self._waiting: dict[str, list[bytes]] = {}
        self._size = 0
        try:
            make_folder(path)
            sweep_temporaries(path, _LENGTHS)
        except OSError as error:
            raise SeineError(f"cannot write into folder '{path}': {error.strerror}") from error
        self._lengths = self._kept(length)
        self._settled = dict(self._lengths)
        self._begun: set[str] = set()  # files that were cut back

    def write(self, lines: bytes | memoryview) -> None:
        for line in io.BytesIO(lines):
            self._take(str(json.loads(line)["query"]), line)

    def write_ranges(self, text: memoryview, names: Sequence[str], ranges: QueryRanges) -> None:
        """Write a text whose consecutive ranges are of queries, which are numbers of names."""
        ends = np.cumsum(ranges.sizes)
        starts = ends - ranges.sizes
        for number, start, end in zip(ranges.queries.tolist(), starts.tolist(), ends.tolist(), strict=True):
            self._take(names[number], bytes(text[start:end]))

    def settle(self) -> int:
        for query in self._queries:
            if query not in self._begun:
                self._waiting.setdefault(query, [])
        is_new = bool(self._waiting)
        self._flush()
        if is_new:
            sync_to_disk(self._path)
            states = [[sum(one.values()), one] for one in (self._settled, self._lengths)]
            write_whole(os.path.join(self._path, _LENGTHS), json.dumps(states).encode())
            self._settled = dict(self._lengths)
        return sum(self._lengths.values())

    def close(self) -> None:
        """What is settled is safe, and nothing else counts."""

    def _take(self, query: str, piece: bytes) -> None:
        self._waiting.setdefault(query, []).append(piece)
        self._size += len(piece)
        if self._size > _MOST_WAITING:
            self._flush()

    def _flush(self) -> None:
        for query, pieces in self._waiting.items():
            with open(os.open(self._file(query), os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
                length = self._lengths.get(query, 0)
                file.truncate(length)
                file.seek(length)
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
                self._lengths[query] = file.tell()
            self._begun.add(query)
        self._waiting, self._size = {}, 0

    def _file(self, query: str) -> str:
        return os.path.join(self._path, file_name(query))

    def _kept(self, length: int) -> Lengths:
        """The lengths of the files when they had so many bytes together."""
        if not length:
            return {}
        hint = "put it back as it was, or name a new folder for the checkpoint"
        try:
            with open(os.path.join(self._path, _LENGTHS), "rb") as file:
                lengths: Lengths = next(one for total, one in json.load(file) if total == length)
            sizes = {query: os.path.getsize(self._file(query)) for query in lengths}
        except (OSError, ValueError, StopIteration) as error:
            message = f"folder '{self._path}' does not have the {length} bytes of the checkpoint"
            raise SeineError(message, hint=hint) from error
        short = [query for query, size in sizes.items() if size < lengths[query]]
        if short:
            message = f"'{self._file(short[0])}' is shorter than the checkpoint says"
            raise SeineError(message, hint=hint)
        return lengths


def is_folder(path: str) -> bool:
    """Whether a destination is a folder: it is one, or ends like one."""
    return path.endswith(("/", os.sep)) or os.path.isdir(path)
