"""A full disk and memory that has run out may pass: what they ended may begin again when there is room."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator

FULL_DISK = "the disk is full"
NO_MEMORY = "memory has run out"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MEMORY_WORDS = re.compile(rf"\b(?:Arrow|_Array)?MemoryError\b|{re.escape(os.strerror(errno.ENOMEM))}")


def shortage_of(error: BaseException | None) -> str | None:
    """What there was too little of, if an error or what it was caused by says so.

    Errors of Spark's processes are known by their words alone.

    >>> shortage_of(OSError(errno.ENOSPC, "No space")), shortage_of(OSError(errno.ENOENT, "No such file"))
    ('the disk is full', None)
    >>> shortage_of(ValueError("the pipeline stopped: OSError: [Errno 28] No space left on device: 'x'"))
    'the disk is full'
    >>> shortage_of(ValueError("the pipeline stopped: MemoryError")), shortage_of(MemoryError())
    ('memory has run out', 'memory has run out')
    """
    for one in _causes(error):
        number, text = getattr(one, "errno", None), str(one)
        if _has_no_room(one) or any(os.strerror(room) in text for room in _NO_ROOM):
            return FULL_DISK
        if number == errno.ENOMEM or isinstance(one, MemoryError) or _MEMORY_WORDS.search(text):
            return NO_MEMORY
    return None


def is_full_disk(error: BaseException) -> bool:
    """Whether an error is, or was caused by, a write for which there was no room, whatever its words.

    >>> is_full_disk(OSError(errno.ENOSPC, "No space")), is_full_disk(ValueError("No space left on device"))
    (True, False)
    """
    return any(map(_has_no_room, _causes(error)))


def _has_no_room(error: BaseException) -> bool:
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return True
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
