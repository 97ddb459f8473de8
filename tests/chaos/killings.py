"""Kills, stops and pauses of the service's processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress

from tests.chaos.scene import Scene
from tests.support.processes import Process


class DriverKill:
    """SIGKILL for the driver, alone or with all of its group; a supervisor starts it again."""

    def __init__(self, group: bool) -> None:
        self.name = "kill of all processes" if group else "kill of the driver"
        self._group = group

    def strike(self, scene: Scene) -> None:
        service = scene.service
        service.send(signal.SIGKILL, group=self._group)
        service.process.wait()
        time.sleep(scene.rng.random() * 2)
        service.kill()  # whatever the driver left of its group
        service.start()

    def mend(self, scene: Scene) -> None:
        """There is nothing to mend."""


class PartKill:
    """SIGKILL for the JVM, all Python workers or one of them: the service goes on by itself."""

    def __init__(self, name: str) -> None:
        self.name = f"kill of {name}"
        self._what = name

    def strike(self, scene: Scene) -> None:
        scene.service.supervise()
        for process in self._chosen(scene, scene.service.below()):
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    def _chosen(self, scene: Scene, below: Sequence[Process]) -> Sequence[Process]:
        if self._what == "the JVM":
            return [one for one in below if "java" in one.command]
        workers = [one for one in below if "java" not in one.command]
        return workers if self._what == "all workers" else scene.rng.sample(workers, min(1, len(workers)))

    def mend(self, scene: Scene) -> None:
        """There is nothing to mend."""


class OrderlyStop:
    """SIGTERM or Ctrl-C, to the driver or its whole group: status 0, and it goes on when started again."""

    name = "orderly stop"

    def strike(self, scene: Scene) -> None:
        service = scene.service
        service.supervise()
        service.ask(lambda client: client.status())  # a process that has just begun knows no signals yet
        number = scene.rng.choice([signal.SIGTERM, signal.SIGINT])
        status = service.stop(number, group=scene.rng.random() < 0.5)
        assert status == 0, f"status {status} after signal {number}\n{service.last_words()}"
        time.sleep(scene.rng.random() * 2)
        service.start()

    def mend(self, scene: Scene) -> None:
        """There is nothing to mend."""


class Pause:
    """All processes stand still for some seconds, as on a machine that is suspended."""

    name = "suspended machine"

    def strike(self, scene: Scene) -> None:
        scene.service.supervise()
        scene.service.send(signal.SIGSTOP, group=True)
        try:
            time.sleep(1 + scene.rng.random() * 3)
        finally:
            scene.service.send(signal.SIGCONT, group=True)

    def mend(self, scene: Scene) -> None:
        """There is nothing to mend."""
