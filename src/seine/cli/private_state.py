"""State is for its owner alone: files have mode 0600, whichever process writes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from seine.spark.master import chosen_master

_OWNER_ALONE = 0o077


@contextmanager
def private_state(master: str | None) -> Iterator[Callable[[Sequence[str | None]], None]]:
    """What this process and those that it starts create meanwhile is for its owner alone.

    The function that it gives opens files again that the user named, as the user's umask says. On a
    cluster all is as that says: workers may be other users.
    """
    local = (chosen_master(master) or "").startswith("local")
    umask = os.umask(_OWNER_ALONE)
    if not local:
        os.umask(umask)

    def share(paths: Sequence[str | None]) -> None:
        for path in paths:
            if path is not None and os.path.isfile(path):
                os.chmod(path, 0o666 & ~umask)

    try:
        yield share
    finally:
        os.umask(umask)


def missing(paths: Sequence[str | None]) -> list[str]:
    """The files that are still to be made."""
    return [path for path in paths if path is not None and not os.path.exists(path)]
