"""Text that a task writes: objects of the pipeline's store that no other attempt of any task can have.

A micro-batch that fails is done again, with other names. What is of a micro-batch that counts, and of those
before it, is garbage: what was delivered has been copied to where it is read.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct

from seine.errors import RunError
from seine.storage.store import MissingObjectError, Store

if TYPE_CHECKING:
    from typing_extensions import Buffer

_TOP = "results"
_MOST_HELD_BYTES = 1 << 26


class TaskPiece(Struct, frozen=True, array_like=True):
    """An object with text of a task, and how long it is."""

    name: str
    length: int


class PieceWriter:
    """Text of one attempt of a task for an entry; it is written in pieces of many bytes.

    >>> from seine.storage.memory import MemoryStore
    >>> store = MemoryStore()
    >>> writer = PieceWriter(store, 7)
    >>> writer.write(b"one\\n"), writer.write(b"two\\n")
    (None, None)
    >>> bytes(text_of(store, writer.close()))
    b'one\\ntwo\\n'
    >>> remove_pieces(store, 7)
    >>> [*store.list("")]
    []
    """

    def __init__(self, store: Store, entry: int) -> None:
        self._store, self._entry = store, entry
        self._waiting: list[Buffer] = []
        self._bytes = 0
        self._pieces: list[TaskPiece] = []

    def write(self, text: bytes | memoryview) -> None:
        """The next bytes; a view stays as it is until this is closed."""
        self._waiting.append(text)
        self._bytes += len(text)
        if self._bytes >= _MOST_HELD_BYTES:
            self._flush()

    def close(self) -> tuple[TaskPiece, ...]:
        """The pieces that were written, which nobody has to sync: what is lost is done again."""
        if self._waiting:
            self._flush()
        return tuple(self._pieces)

    def _flush(self) -> None:
        self._pieces.append(TaskPiece(put_piece(self._store, self._entry, self._waiting), self._bytes))
        self._waiting, self._bytes = [], 0


def put_piece(store: Store, entry: int, parts: Iterable[Buffer]) -> str:
    """Write an object for an entry that goes with its pieces; its name."""
    name = f"{_TOP}/{entry:012d}/{uuid.uuid4().hex}"
    store.put(name, parts, settled=False)
    return name


def read_piece(store: Store, piece: TaskPiece) -> memoryview:
    """The text of a piece; one that is not as long as its task said is refused."""
    try:
        text = memoryview(store.local(piece.name))
    except MissingObjectError:
        text = memoryview(b"")
    if len(text) != piece.length:
        raise RunError(
            f"a task wrote {piece.length} bytes, and '{piece.name}' has {len(text)}",
            hint="a run with --checkpoint does this micro-batch again when it goes on",
        )
    return text


def text_of(store: Store, pieces: Sequence[TaskPiece]) -> memoryview:
    """The text of pieces, one after the other; that of a single one is not copied."""
    texts = [read_piece(store, piece) for piece in pieces]
    return texts[0] if len(texts) == 1 else memoryview(b"".join(texts))


def remove_pieces(store: Store, entry: int) -> None:
    """Remove what all attempts of all tasks wrote for entries up to one that counts."""
    store.delete([*takewhile(lambda name: name < f"{_TOP}/{entry + 1:012d}", _pieces(store))])


def _pieces(store: Store) -> Iterator[str]:
    return store.list(f"{_TOP}/")
