"""The six calls through which all is kept, of whatever a store is made. Imports nothing heavy.

Law: what `put` and `claim` have returned for is there, whole, after a power cut; nobody ever sees a part of
an object. Above a store nothing is renamed, appended to, truncated or locked, and no time of a file is read.

A call that raises an OSError may have taken effect; it has an `UnknownOutcomeError` if its answer was lost.
To put or delete again does no harm; who claims or swaps reads back, as `log.py` and `lease.py` do.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Buffer

Content: TypeAlias = "bytes | Iterable[Buffer]"  # an object, or its parts in order


class MissingObjectError(FileNotFoundError):
    """There is no object of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(errno.ENOENT, "there is no such object", name)


class UnknownOutcomeError(OSError):
    """A call may have taken effect: its answer was lost."""


class Store(Protocol):
    """Immutable objects, by names of parts between slashes; no part begins with a dot.

    A store can be given to another process, as `pickle` does it.
    """

    @property
    def place(self) -> str:
        """Where it is: what `store_at` finds it by, and people too."""

    def put(self, name: str, content: Content, *, settled: bool = True) -> None:
        """Make a new object, under a name that nothing else ever has.

        Unless it is `settled`, a power cut before the next `settle` may lose it or leave a part of it.
        """

    def claim(self, name: str, content: bytes) -> bool:
        """Make a new object unless there is one of that name: False, somebody else has it."""

    def swap(self, name: str, content: bytes, before: bytes | None) -> bool:
        """Replace an object if its content is what was read before; None: if there is none.

        Each content has something that no other has, so nobody takes a later one for an earlier.
        """

    def get(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        """The bytes of an object from one position up to another; a MissingObjectError if it is not there."""

    def list(self, prefix: str, after: str = "") -> Iterator[str]:
        """The names that begin with a prefix and come after another one, in order."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects, if they are there; until the next `settle` a power cut may bring them back."""

    def local(self, name: str) -> pa.Buffer:
        """The whole content of an object, not copied: it stays readable when the object is removed."""

    def settle(self) -> None:
        """Make durable what was put and not settled, what was removed, and what others wrote beside it."""

    def sweep(self) -> None:
        """Remove what processes that were killed had begun; nobody else may be writing."""


def refuse_bad_name(name: str) -> None:
    """Refuse what is no name of an object.

    >>> refuse_bad_name("journal/7")
    >>> refuse_bad_name("../7")
    Traceback (most recent call last):
        ...
    ValueError: '../7' is no name of an object
    """
    if not name or any(not part or part.startswith(".") for part in name.split("/")):
        raise ValueError(f"'{name}' is no name of an object")


def parts_of(content: Content) -> Iterable[Buffer]:
    """The parts of a content, in order."""
    return (content,) if isinstance(content, bytes) else content
