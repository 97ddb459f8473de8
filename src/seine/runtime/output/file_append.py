"""Appends the rest of one file to another within the kernel: the bytes never come to this process."""

from __future__ import annotations

import errno
import io
import os
import shutil
from typing import BinaryIO

_AT_ONCE = 1 << 30
_PIECE = 1 << 18
# What the kernel says where it cannot copy between two files that can be read and written.
_NOT_HERE = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSOCK, errno.EOPNOTSUPP, errno.EXDEV})


def append_file(source: BinaryIO, target: BinaryIO) -> None:
    """Append what follows in a source to where a target is; both are behind it afterwards.

    Law: the same as `shutil.copyfileobj`. Where the kernel cannot do it, as with a source that is no file,
    the bytes are read and written here.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as one, tempfile.TemporaryFile() as other:
    ...     one.write(b"what follows"), one.seek(5), other.write(b"that "), append_file(one, other)
    ...     other.seek(0), other.read()
    (12, 5, 5, None)
    (0, b'that follows')
    """
    try:
        inside, outside = source.fileno(), target.fileno()
    except io.UnsupportedOperation:
        shutil.copyfileobj(source, target, _PIECE)
        return
    target.flush()
    begin = end = source.tell()
    place = target.tell()
    try:
        while sent := os.sendfile(outside, inside, end, _AT_ONCE):
            end += sent
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
    source.seek(end)
    target.seek(place + end - begin)  # the buffers of Python have not seen it
    shutil.copyfileobj(source, target, _PIECE)
