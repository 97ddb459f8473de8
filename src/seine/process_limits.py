"""Limits that the system puts on a process, which it sets for itself: never above those that it has."""

from __future__ import annotations

import resource


def bound_process(what: int, most: int | None, for_good: bool = False) -> int:
    """Set a limit of this process to at most so much, None: as much as it may have; what it is now.

    With `for_good` neither the process nor what it starts can lift it again.
    """
    hard = resource.getrlimit(what)[1]
    if most is None or hard != resource.RLIM_INFINITY:
        most = hard if most is None else min(most, hard)
    resource.setrlimit(what, (most, most if for_good else hard))
    return most
