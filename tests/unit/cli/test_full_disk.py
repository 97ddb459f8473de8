"""A service waits for room on a full disk, and for nothing else."""

from __future__ import annotations

import argparse
import errno
from collections.abc import Callable

import pytest

from seine.cli import serve_command
from seine.cli.progress_line import ProgressLine
from seine.cli.serve_command import _Serving
from seine.errors import RunError, SeineError
from seine.service.http.listening import Listening
from seine.service.service import ServiceOptions

FULL = OSError(errno.ENOSPC, "No space left on device")
CATALOG = SeineError("the catalog refused: disk I/O error")


class Attempts(_Serving):
    """Every attempt to serve fails in its own way, before or after it has begun; the last one ends well."""

    def __init__(self, *errors: tuple[bool, Exception]) -> None:
        super().__init__(argparse.Namespace(), Listening(), ServiceOptions(), ProgressLine())
        self.errors = list(errors)

    def _serve_folder(self) -> None:
        if self.errors:
            begun, error = self.errors.pop(0)
            if begun:
                self._served, self._full = True, False
            raise error


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    delays: list[float] = []
    sleep: Callable[[float], None] = delays.append
    monkeypatch.setattr(serve_command.time, "sleep", sleep)
    return delays


def test_it_is_waited_for_longer_and_longer(delays: list[float]) -> None:
    Attempts((True, FULL), (False, CATALOG), (False, FULL)).go_on()
    assert delays == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    "errors",
    [
        [(False, FULL)],
        [(True, RunError("the pipeline stopped: KeyError"))],
        [(True, FULL), (True, CATALOG)],
    ],
)
def test_anything_else_ends_it(delays: list[float], errors: list[tuple[bool, Exception]]) -> None:
    """A folder that was never served, a failure of another kind, and one after it was served again."""
    with pytest.raises(type(errors[-1][1])):
        Attempts(*errors).go_on()
    assert len(delays) == len(errors) - 1


def test_what_a_sink_says_of_it_is_known(delays: list[float]) -> None:
    error = RunError("cannot write the output")
    error.__cause__ = FULL
    Attempts((True, error)).go_on()
    assert delays == [0.5]
