"""A store in memory: for runs in one process, and for tests. Imports nothing heavy.

Another part of the same process finds it by its place; another process cannot have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from seine.storage.store import Content, MissingObjectError, parts_of, refuse_bad_name

if TYPE_CHECKING:
    import pyarrow as pa

IN_MEMORY = "memory:"  # what places in memory begin with

_numbers = count()
_stores: WeakValueDictionary[str, MemoryStore] = WeakValueDictionary()


class MemoryStore:
    """Objects as long as somebody has the store.

    >>> store = MemoryStore()
    >>> store.claim("log/0", b"mine"), store.claim("log/0", b"yours"), store.get("log/0")
    (True, False, b'mine')
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._turn = Lock()
        self._place = f"{IN_MEMORY}{next(_numbers)}"
        _stores[self.place] = self

    @property
    def place(self) -> str:
        return self._place

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return memory_store_at, (self.place,)

    def put(self, name: str, content: Content, *, settled: bool = True) -> None:
        refuse_bad_name(name)
        whole = b"".join(parts_of(content))
        with self._turn:
            self.objects[name] = whole

    def claim(self, name: str, content: bytes) -> bool:
        return self.swap(name, content, None)

    def swap(self, name: str, content: bytes, before: bytes | None) -> bool:
        refuse_bad_name(name)
        with self._turn:
            if self.objects.get(name) != before:
                return False
            self.objects[name] = content
            return True

    def get(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        try:
            return self.objects[name][begin:end]
        except KeyError:
            raise MissingObjectError(name) from None

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        with self._turn:
            names = [name for name in self.objects if name > after and name.startswith(prefix)]
        return iter(sorted(names))

    def delete(self, names: Iterable[str]) -> None:
        with self._turn:
            for name in names:
                self.objects.pop(name, None)

    def local(self, name: str) -> pa.Buffer:
        import pyarrow as pa

        return pa.py_buffer(self.get(name))

    def settle(self) -> None:
        """There is no disk."""

    def sweep(self) -> None:
        """Nothing is ever there in part."""


def memory_store_at(place: str) -> MemoryStore:
    """The store that has a place, if somebody still has it."""
    return _stores[place]
