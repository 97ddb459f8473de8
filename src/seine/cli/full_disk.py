"""A full disk passes: what it ended may begin again when there is room."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full_disk(error: BaseException) -> bool:
    """Whether an error, or what it was caused by, says that a file could not be written for want of room.

    Errors of Spark's processes are known by their words alone.

    >>> is_full_disk(OSError(errno.ENOSPC, "No space")), is_full_disk(OSError(errno.ENOENT, "No such file"))
    (True, False)
    >>> is_full_disk(ValueError("the pipeline stopped: OSError: [Errno 28] No space left on device: 'x'"))
    True
    """
    words = [os.strerror(number) for number in _NO_ROOM]
    return any(
        getattr(one, "errno", None) in _NO_ROOM or any(text in str(one) for text in words)
        for one in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
