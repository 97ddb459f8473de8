"""The relations of a version, reached by index.

    <cache>/relations/<relation>-<object>-<key>.index     a large relation by one key, on each machine

A large relation is never in memory: its tuples are mapped, and so is an index for each key that is asked for.
The first worker of a machine that asks builds it, and the others wait for it. It goes with the next one: that
of the same relation as another version has it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

import pyarrow as pa

from seine.algebra.expressions import Expression, to_json
from seine.operators.join.combination import key_columns
from seine.operators.join.lookup import index_relation
from seine.operators.state.relation_index import RelationIndex, write_index
from seine.rows.arrow_ipc import read_ipc
from seine.storage.store import Store

MOST_TUPLES_IN_MEMORY = 1 << 17  # tuples; so few are indexed in memory

Key = tuple[Expression, ...]


class RelationFiles:
    """Relations by name, mapped and indexed when a lookup first asks; equal keys share an index."""

    def __init__(self, store: Store, names: Mapping[str, str], cache: str) -> None:
        """`names` are those of the objects in the store."""
        self._store, self._names, self._cache = store, names, os.path.join(cache, "relations")
        self._indexes: dict[tuple[str, Key], RelationIndex] = {}

    def tuples(self, relation: str) -> pa.RecordBatch:
        return mapped(self._store, self._names[relation])

    def index(self, relation: str, key: Key) -> RelationIndex:
        """A relation's tuples by a key."""
        if (relation, key) not in self._indexes:
            self._indexes[relation, key] = self._indexed(relation, key)
        return self._indexes[relation, key]

    def _indexed(self, relation: str, key: Key) -> RelationIndex:
        batch = self.tuples(relation)
        if batch.num_rows <= MOST_TUPLES_IN_MEMORY or not key:
            return index_relation(batch, key)
        os.makedirs(self._cache, exist_ok=True)
        mine = _digest(relation.encode())
        present = f"{mine}-{_digest(self._names[relation].encode())}"
        form = json.dumps([to_json(expression) for expression in key]).encode()
        path = os.path.join(self._cache, f"{present}-{_digest(form)}.index")
        with _alone(os.path.join(self._cache, f"{mine}.lock")):
            if not os.path.exists(path):
                self._remove(mine, present)
                write_index(path, batch, partial(key_columns, key=key))
            return RelationIndex.in_file(batch, path)

    def _remove(self, mine: str, present: str) -> None:
        """Remove the indexes of a relation as other versions had it."""
        for name in os.listdir(self._cache):
            if name.startswith(f"{mine}-") and not name.startswith(f"{present}-"):
                os.remove(os.path.join(self._cache, name))


def mapped(store: Store, name: str) -> pa.RecordBatch:
    """The tuples of a relation, by the name of its object."""
    return read_ipc(store.local(name))


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=12).hexdigest()


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """One at a time for a relation; where the file system has no locks, some may do the same work."""
    with open(path, "ab") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
