"""Hours in which nothing happens, in seconds: the wall clock of the service jumps while nobody writes."""

from __future__ import annotations

import time

from tests.chaos.scene import Scene

_HOUR = 3600.0


class IdleHours:
    """Silence, and a wall clock that is hours ahead after it; it never goes back by itself."""

    name = "idle hours"

    def __init__(self) -> None:
        self._ahead = 0.0

    def strike(self, scene: Scene) -> None:
        with scene.good.silent():
            self._ahead += _HOUR * scene.rng.randrange(1, 48)
            scene.clock.write_text(str(self._ahead))
            time.sleep(1 + scene.rng.random() * 2)

    def mend(self, scene: Scene) -> None:
        """There is nothing to mend."""
