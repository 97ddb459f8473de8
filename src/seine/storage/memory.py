"""A store in memory: for runs in one process, and for tests. Imports nothing heavy.

Another part of the same process finds it by a number; another process cannot have it.
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

_numbers = count()
_stores: WeakValueDictionary[int, MemoryStore] = WeakValueDictionary()


class MemoryStore:
    """Objects as long as somebody has the store.

    >>> store = MemoryStore()
    >>> store.claim("log/0", b"mine"), store.claim("log/0", b"yours"), store.get("log/0")
    (True, False, b'mine')
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._turn = Lock()
        self._number = next(_numbers)
        _stores[self._number] = self

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return _store_of, (self._number,)

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


def _store_of(number: int) -> MemoryStore:
    return _stores[number]
