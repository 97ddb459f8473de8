"""A service waits for room on a full disk and in memory, and for nothing else."""

from __future__ import annotations

import argparse
import errno
import math
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from seine.cli import serve_command
from seine.cli.main import main
from seine.cli.progress_line import ProgressLine
from seine.cli.serve_command import _Serving
from seine.errors import RunError, SeineError
from seine.service.client import Client
from seine.service.folder import ServiceFolder
from seine.service.http.listening import Listening
from seine.service.service import ServiceOptions

FULL = OSError(errno.ENOSPC, "No space left on device")
CATALOG = SeineError("the catalog refused: disk I/O error")


class Attempts(_Serving):
    """Every attempt to serve fails in its own way, before or after it has begun; the last one ends well."""

    def __init__(self, *errors: tuple[bool, Exception], folder: str = "none") -> None:
        super().__init__(argparse.Namespace(folder=folder), Listening(), ServiceOptions(), ProgressLine())
        self.errors = list(errors)

    def _serve_folder(self) -> None:
        if self.errors:
            begun, error = self.errors.pop(0)
            if begun:
                self._served, self._shortage = True, None
            raise error


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    delays: list[float] = []
    sleep: Callable[[float], None] = delays.append
    monkeypatch.setattr(serve_command, "time", SimpleNamespace(sleep=sleep))  # other threads sleep as they do
    return delays


def pauses(delays: list[float]) -> list[float]:
    """The pauses that were shortened at random, each by less than a half."""
    return [2.0 ** math.ceil(math.log2(delay)) for delay in delays]


def test_it_is_waited_for_longer_and_longer(delays: list[float]) -> None:
    Attempts((True, FULL), (False, CATALOG), (False, FULL)).go_on()
    assert pauses(delays) == [0.5, 1.0, 2.0]


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


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        pa.ArrowMemoryError("malloc of size 1 failed"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        RunError("the pipeline stopped: numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8 EiB"),
        RunError("the pipeline stopped: MemoryError"),
    ],
)
def test_memory_is_waited_for(
    delays: list[float], error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    Attempts((True, error), (False, CATALOG)).go_on()
    assert pauses(delays) == [0.5, 1.0]
    assert caplog.text.count("memory has run out: ") == 2
    with pytest.raises(type(error)):
        Attempts((False, error)).go_on()


def test_a_command_without_memory_says_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def starve(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("seine.cli.try_command.read_script", starve)
    assert main(["try", "a.sql"]) == 3
    assert capsys.readouterr().err.startswith("memory has run out\n  hint: give it more")


def test_a_command_on_a_full_disk_says_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill(*arguments: object) -> None:
        raise FULL

    monkeypatch.setattr("seine.cli.try_command.read_script", fill)
    assert main(["try", "a.sql"]) == 3
    assert capsys.readouterr().err == "the disk is full: No space left on device\n"


def test_what_a_sink_says_of_it_is_known(delays: list[float]) -> None:
    error = RunError("cannot write the output")
    error.__cause__ = FULL
    Attempts((True, error)).go_on()
    assert pauses(delays) == [0.5]


def test_clients_hear_of_it_until_the_folder_is_served_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ServiceFolder(str(tmp_path))
    heard: list[str] = []
    folder.publish({"url": "http://127.0.0.1:1", "process": os.getpid()})

    def ask(_: float) -> None:
        notice = attempts._notice
        assert notice is not None
        folder.publish({"url": f"http://127.0.0.1:{notice._socket.getsockname()[1]}", "process": os.getpid()})
        with pytest.raises(SeineError) as refusal:
            Client(str(tmp_path)).status()
        heard.append(refusal.value.message)

    monkeypatch.setattr(serve_command, "time", SimpleNamespace(sleep=ask))
    attempts = Attempts((True, FULL), (False, CATALOG), folder=str(tmp_path))
    attempts.go_on()
    assert heard == ["the disk is full"] * 2
    with pytest.raises(SeineError, match="no service runs"):
        Client(str(tmp_path))


def test_what_another_process_has_published_stays(tmp_path: Path, delays: list[float]) -> None:
    folder = ServiceFolder(str(tmp_path))
    folder.publish({"url": "http://127.0.0.1:1", "process": os.getppid()})
    with pytest.raises(SeineError, match="the catalog refused"):
        Attempts((False, CATALOG), folder=str(tmp_path)).go_on()
    assert folder.address()["process"] == os.getppid()
