"""The audit log: a line a change, in files that do not grow for ever."""

from __future__ import annotations

import errno
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seine.service.access.audit_log import AuditLog
from seine.service.access.principal import Principal

ANN = Principal("ann", "write")


def test_a_line_says_who_did_what_when(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"), now=lambda: datetime(2026, 5, 1, tzinfo=UTC))
    log.note(ANN, "drop", "refused", query='q"\n\ud800', reason="no", dropped=[], where=None)
    (line,) = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "time": "2026-05-01T00:00:00.000+00:00",
        "who": "ann",
        "role": "write",
        "action": "drop",
        "outcome": "refused",
        "query": 'q"\n\ud800',
        "reason": "no",
    }


def test_files_are_rotated_and_the_oldest_goes(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"), most_bytes=300)
    for number in range(60):
        log.note(ANN, "drop", "done", number=number)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 10 and all(path.stat().st_size <= 300 for path in files)
    order = [tmp_path / f"audit.jsonl.{n}" for n in range(9, 0, -1)] + [tmp_path / "audit.jsonl"]
    numbers = [json.loads(line)["number"] for path in order for line in path.read_text().splitlines()]
    assert numbers == list(range(numbers[0], 60)) and numbers[0] > 0


def test_a_line_without_room_comes_before_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"))
    log.note(ANN, "drop", "done", number=0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _refuse)
        log.append_or_owe(log.line(ANN, "drop", "done", number=1))
        with pytest.raises(OSError, match="No space"):
            log.note(ANN, "drop", "refused", number=2)
    assert [json.loads(line)["number"] for line in log.owed()] == [1]
    log.note(ANN, "drop", "done", number=3)
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == [0, 1, 3] and log.owed() == []


def _refuse(_: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
