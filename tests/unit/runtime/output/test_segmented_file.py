"""Logs in segments: what a record names is there, whatever step a kill comes between."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from seine.errors import SeineError
from seine.intake.retention_limit import RetentionLimit
from seine.runtime.output import segmented_file
from seine.runtime.output.log_files import LogFiles, ResultFile, TooOldError
from seine.runtime.output.segmented_file import LogSegment, SegmentedFile
from tests.support.seeds import seeds


class _Killed(BaseException):
    """The process ends here."""


class _Clock:
    """A wall clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def time(self) -> float:
        return self.now


class _Log:
    """A segmented file with a record of it, and everything that was ever written, by position."""

    def __init__(self, path: Path, limit: RetentionLimit) -> None:
        self.path, self.limit = path, limit
        self.record: tuple[int, tuple[LogSegment, ...]] = (0, ())
        self.written = b""
        self.walls: list[tuple[int, float]] = []  # the end of each batch, and when it came

    def open(self) -> SegmentedFile:
        return SegmentedFile(str(self.path), *self.record, self.limit)

    def deliver(self, file: SegmentedFile, text: bytes, now: float) -> None:
        """A micro-batch, as a sink delivers it; what was not recorded is delivered again after a kill."""
        file.write(text)
        length = file.settle()
        self.record = (length, file.segments)
        self.written += text
        self.walls.append((length, now))
        file.tidy()

    def kept(self) -> LogFiles:
        return LogFiles(str(self.path), tuple(one.start for one in self.record[1]) or (0,))

    def check(self) -> None:
        """All that is named can be read, and is what was written."""
        files, length = self.kept(), self.record[0]
        with ResultFile(files) as file:
            assert file.read(files.first, length) == self.written[files.first :]
        assert length == len(self.written)


@seeds(16)
def test_what_is_kept_is_what_was_written_through_kills(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, clock, kills = random.Random(seed), _Clock(), 0
    limit = RetentionLimit(bytes=400) if seed % 2 else RetentionLimit(seconds=80)
    monkeypatch.setattr(segmented_file, "time", clock)

    def step(real: object) -> object:
        def killable(*arguments: object) -> object:
            nonlocal kills
            for moment in ("before", "after"):
                if chance.random() < 0.05:
                    kills += 1
                    raise _Killed
                if moment == "before":
                    result = real(*arguments)  # type: ignore[operator]
            return result

        return killable

    log = _Log(tmp_path / "results.jsonl", limit)
    for name in ("fsync", "unlink"):
        monkeypatch.setattr(os, name, step(getattr(os, name)))
    monkeypatch.setattr(segmented_file, "sync_to_disk", step(segmented_file.sync_to_disk))
    done, gone = 0, set()
    while done < 60:
        try:
            file = log.open()
            while done < 60:
                clock.now += chance.random() * 8
                before = len(log.walls)
                text = b"%d\n" % chance.randrange(10**6) * chance.randrange(6)
                log.deliver(file, text, clock.now)
                done += 1
                log.check()
                gone.add(log.kept().first)
        except _Killed:
            done += len(log.walls) - before
            log.check()
    monkeypatch.undo()
    files, length = log.kept(), log.record[0]
    assert len(gone) > 3 and kills
    assert len(files.starts) <= 12
    if limit.bytes is not None:
        assert length - files.starts[0] <= limit.bytes + 60
        assert length - files.first > limit.bytes / 2
    else:
        old = [end for end, wall in log.walls if wall < clock.now - 80]
        young = [end for end, wall in log.walls if wall >= clock.now - 80]
        assert files.first <= min(young) and files.first > max(
            end for end, w in log.walls if w < clock.now - 110
        )
        assert old
    with pytest.raises(TooOldError, match=f"position {files.first - 1} is too old"):
        files.refuse_too_old(files.first - 1)
    on_disk = {path.name for path in tmp_path.iterdir()}
    log.deliver(log.open(), b"last\n", clock.now)
    assert len({path.name for path in tmp_path.iterdir()}) == len(log.kept().starts) <= len(on_disk) + 1


def test_without_a_limit_there_is_one_file_and_segments_that_are_there_stay(tmp_path: Path) -> None:
    path = str(tmp_path / "r.jsonl")
    log = SegmentedFile(path, 0, (), RetentionLimit(bytes=40))
    for _ in range(3):
        log.write(b"123456789\n")
        length = log.settle()
        log.tidy()
    log.close()
    assert log.files.starts == (0, 10, 20, 30)
    later = SegmentedFile(path, length, log.segments)
    for _ in range(20):
        later.write(b"123456789\n")
        later.settle()
        later.tidy()
    assert later.files.starts == (0, 10, 20, 30)
    assert sum(one.stat().st_size for one in tmp_path.iterdir()) == 230


def test_a_segment_that_somebody_removed_or_cut_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "r.jsonl")
    log = SegmentedFile(path, 0, (), RetentionLimit(bytes=400))
    for _ in range(12):
        log.write(b"123456789\n")
        length = log.settle()
    log.close()
    second = tmp_path / "r-000000000000050.jsonl"
    content = second.read_bytes()
    second.write_bytes(content[:-1])
    with pytest.raises(SeineError, match=r"050\.jsonl' is shorter than the checkpoint says"):
        SegmentedFile(path, length, log.segments)
    second.unlink()
    with pytest.raises(SeineError, match=r"050\.jsonl' is gone, and the checkpoint has 50 bytes"):
        SegmentedFile(path, length, log.segments)
