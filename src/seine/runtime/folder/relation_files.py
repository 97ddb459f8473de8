"""The relations of a version, reached by index where they lie.

    <version>/relation-0.arrow             the tuples, one batch
    <version>/relation-0-<key>.index       a large relation by one key; see operators.run_file

A large relation is never in memory: its tuples are mapped, and so is an index for each key that is asked for.
The first worker that asks builds it and the others wait for it; whoever shares the folder shares the index.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

import pyarrow as pa

from seine.algebra.expressions import Expression, to_json
from seine.disk_sync import whole_file
from seine.operators.join.combination import key_columns
from seine.operators.join.lookup import index_relation
from seine.operators.state.relation_index import RelationIndex, write_index
from seine.rows.arrow_ipc import read_ipc

MOST_TUPLES_IN_MEMORY = 1 << 17  # tuples; so few are indexed in memory

Key = tuple[Expression, ...]


class RelationFiles:
    """Relations by name, mapped and indexed when a lookup first asks; equal keys share an index."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths
        self._indexes: dict[tuple[str, Key], RelationIndex] = {}

    def tuples(self, relation: str) -> pa.RecordBatch:
        return mapped(self._paths[relation])

    def index(self, relation: str, key: Key) -> RelationIndex:
        """A relation's tuples by a key."""
        if (relation, key) not in self._indexes:
            self._indexes[relation, key] = _indexed(self._paths[relation], key)
        return self._indexes[relation, key]


def write_relation(path: str, batch: pa.RecordBatch) -> None:
    """Put tuples at a path, where others may have been."""
    for old in glob.glob(f"{glob.escape(path.removesuffix('.arrow'))}-*.index"):
        os.remove(old)
    with whole_file(path) as file, pa.ipc.new_stream(file, batch.schema) as writer:
        writer.write_batch(batch)


def mapped(path: str) -> pa.RecordBatch:
    return read_ipc(pa.memory_map(path).read_buffer())


def _indexed(path: str, key: Key) -> RelationIndex:
    batch = mapped(path)
    if batch.num_rows <= MOST_TUPLES_IN_MEMORY or not key:
        return index_relation(batch, key)
    index = _index_path(path, key)
    with _alone(path):
        if not os.path.exists(index):
            write_index(index, batch, partial(key_columns, key=key))
    return RelationIndex.in_file(batch, index)


def _index_path(path: str, key: Key) -> str:
    form = json.dumps([to_json(expression) for expression in key]).encode()
    digest = hashlib.blake2b(form, digest_size=16).hexdigest()
    return f"{path.removesuffix('.arrow')}-{digest}.index"


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """One at a time for a relation; where the file system has no locks, some may do the same work."""
    with open(path, "rb") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
