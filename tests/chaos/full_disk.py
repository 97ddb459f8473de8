"""A disk that is full: no process of the service can write a byte to a file, for a while."""

from __future__ import annotations

import resource
import time
from contextlib import suppress

from tests.chaos.scene import Scene

_NO_BYTES = (0, resource.RLIM_INFINITY)
_ANY_BYTES = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


class FullDisk:
    """By a limit on the size of files, from outside: every write to a file is an `OSError`, wherever it is.

    The service waits for room, and opens its folder again.
    """

    name = "full disk"

    def strike(self, scene: Scene) -> None:
        scene.service.supervise()
        _limit(scene, _NO_BYTES)
        time.sleep(1 + scene.rng.random() * 4)
        _limit(scene, _ANY_BYTES)

    def mend(self, scene: Scene) -> None:
        """There is room again since the strike was over."""


def _limit(scene: Scene, limits: tuple[int, int]) -> None:
    for pid in [scene.service.process.pid, *(one.pid for one in scene.service.below())]:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
