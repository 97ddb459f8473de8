"""A service whose tasks run in a process that may die: a forked child makes each attempt first."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seine.algebra.expressions import Call
from seine.evaluate.evaluate import KERNELS
from seine.evaluate.kernels.datum import Datum
from seine.runtime.driver import TriedOut
from seine.runtime.output.task_report import TaskReport
from tests.support.service_rig import Rig

DEADLY = "13"  # reversing this text kills
ENDS = {
    "exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "segmentation fault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
}


class Killed(Exception):
    """What a host hears of a worker that has died."""


def deadly_reverse(monkeypatch: pytest.MonkeyPatch, end: str = "kill") -> None:
    """Let `reverse` of a certain text kill the process that computes it."""
    reverse = KERNELS["reverse"]

    def kill(call: Call, arguments: Sequence[Datum], *rest: Any) -> Any:
        text = arguments[0]
        values = text if isinstance(text, (pa.Array, pa.ChunkedArray)) else pa.array([text.as_py()])
        if pc.any(pc.equal(values, DEADLY)).as_py():
            ENDS[end]()
        return reverse(call, arguments, *rest)

    monkeypatch.setitem(KERNELS, "reverse", kill)


class DyingRig(Rig):
    """`run` goes on after deaths, as a host does that starts Spark again; `deaths` are counted."""

    def __init__(self, folder: Path) -> None:
        self.deaths = 0
        self.trials = 0
        super().__init__(folder)

    def attempt(self, number: int) -> Sequence[TaskReport]:
        child = os.fork()
        if child == 0:
            faulthandler.disable()
            try:
                self.host.run(number)
            finally:
                os._exit(0)  # faults are met by the parent too
        if os.waitpid(child, 0)[1] != 0:
            self.deaths += 1
            raise Killed
        return self.host.run(number)

    def run(self, most_deaths: int = 50) -> None:
        while self.deaths < most_deaths:
            host = self.host
            kept = dict(host.heads), dict(host.blobs), dict(host._at_hand)
            try:
                if not self.service.driver.run_some(self.attempt):
                    return
            except Killed:
                self.service.driver.settle_death()
            except TriedOut:
                self.trials += 1
                host.heads, host.blobs, host._at_hand = kept
        raise AssertionError(f"it died {self.deaths} times")

    def states(self) -> dict[str, str]:
        return {one["query"]: one["state"] for one in self.service.queries()}
