"""Allocator settings: freed memory stays with the process, since the next micro-batch needs it again.

The C library gives large blocks back to the system at once, and to get them anew costs a page
fault each four kilobytes, which can be more than what is done with the memory.
"""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h numbers them
_KEPT_BYTES = 256 << 20
_BLOCK_BYTES = 32 << 20  # the largest that may be asked for


def keep_freed_memory() -> None:
    """Keep up to a quarter of a gigabyte; where the C library is not GNU's, nothing changes."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _BLOCK_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
