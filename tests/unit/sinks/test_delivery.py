"""Exactly once: whatever step a sink is killed at, its target has every record once, in order."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from seine.sinks import delivery as delivery_module
from seine.sinks import sink_threads
from seine.sinks.delivery import Delivery, UndeliveredFiles
from seine.sinks.record_piece import RecordPiece
from seine.sinks.sink_progress import SinkTarget, progress_of
from seine.sinks.sink_threads import FolderTarget
from seine.storage.local import LocalStore
from tests.support.seeds import seeds
from tests.support.sink_rig import GrowingResults, folder_lines, stored_sink

QUERIES = ("q1", "q2")


class _Killed(BaseException):
    """The process ends here."""


class _Killer:
    """Ends a process before or after any of the steps that leave something behind."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.kills = 0

    def maybe(self) -> None:
        if self._random.random() < 0.1:
            self.kills += 1
            raise _Killed

    def around(self, monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
        """Let a function of a module be a step."""
        real = getattr(module, name)

        def step(*arguments: object) -> object:
            self.maybe()
            result = real(*arguments)
            self.maybe()
            return result

        monkeypatch.setattr(module, name, step)


@seeds(12)
def test_records_arrive_once_and_in_order_through_kills(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    results, target = GrowingResults(tmp_path), tmp_path / "alerts"
    for _ in range(random.randrange(4)):
        results.add(random)
    start, kills = results.index.settled, _Killer(random)
    sink, most = stored_sink(target, start), random.choice([1, 200, 1 << 20])
    kills.around(monkeypatch, delivery_module, "save_progress")
    kills.around(monkeypatch, sink_threads.os, "replace")
    kills.around(monkeypatch, sink_threads, "sync_to_disk")
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # processes are killed here, not machines
    batches = 15
    while True:
        try:
            delivery = Delivery(
                sink,
                results.index,
                progress_of(LocalStore(str(tmp_path)), "s"),
                UndeliveredFiles(str(tmp_path / "undelivered")),
                FolderTarget(sink, {}),
                most,
            )
            while delivery.step() or batches:
                if batches and random.random() < 0.6:
                    batches -= 1
                    results.add(random)
            break
        except _Killed:
            continue

    assert folder_lines(target) == results.lines(QUERIES, start)
    assert delivery.progress.records == len(results.lines(QUERIES, start)) > 3
    assert kills.kills > 0


def test_a_piece_that_was_begun_is_the_same_after_a_restart_though_there_is_more_by_then(
    tmp_path: Path,
) -> None:
    results, random, pieces = GrowingResults(tmp_path), Random(1), []
    results.add(random, 30)
    sink = stored_sink(tmp_path)

    class Down(SinkTarget):
        def write(self, piece: RecordPiece) -> None:
            pieces.append(piece)
            if len(pieces) == 1:
                raise OSError("down")

    path = progress_of(LocalStore(str(tmp_path)), "s")
    with pytest.raises(OSError, match="down"):
        Delivery(sink, results.index, path, UndeliveredFiles(str(tmp_path / "undelivered")), Down()).step()
    results.add(random, 30)
    delivery = Delivery(sink, results.index, path, UndeliveredFiles(str(tmp_path / "undelivered")), Down())
    while delivery.step():
        pass

    assert pieces[0] == pieces[1]
    assert pieces[0].count > 0
    assert b"".join(lines for piece in pieces[1:] for _, lines in piece.portions) == b"".join(
        results.lines(QUERIES)
    )


def test_what_others_deliver_writes_nothing(tmp_path: Path) -> None:
    results = GrowingResults(tmp_path)
    with results.path.open("ab") as file:
        file.write(b'{"query": "q3", "op": "+", "t_start": 1, "t_end": null, "row": {}}\n')
    results.index.settle(results.path.stat().st_size)
    delivery = Delivery(
        stored_sink(tmp_path / "alerts"),
        results.index,
        progress_of(LocalStore(str(tmp_path)), "s"),
        UndeliveredFiles(str(tmp_path / "undelivered")),
        FolderTarget(stored_sink(tmp_path / "alerts"), {}),
    )

    assert not delivery.step()
    assert delivery.progress.position == results.index.settled
    assert progress_of(LocalStore(str(tmp_path)), "s").read() is None
    assert not (tmp_path / "alerts").exists()
