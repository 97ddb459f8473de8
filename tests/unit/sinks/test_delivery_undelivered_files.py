"""What could not be delivered is kept by period or size, in whole files."""

from __future__ import annotations

import os
from pathlib import Path

from seine.intake.retention_limit import RetentionLimit
from seine.sinks.delivery import UndeliveredFiles


def test_the_oldest_files_go_beyond_a_size_and_the_newest_stays(tmp_path: Path) -> None:
    files = UndeliveredFiles(str(tmp_path), RetentionLimit(bytes=25))
    for number in range(6):
        files.add(f"{number}.jsonl", b"123456789\n")
        os.utime(tmp_path / f"{number}.jsonl", (number, number))
    assert sorted(os.listdir(tmp_path)) == ["4.jsonl", "5.jsonl"]
    files.add("6.jsonl", b"x" * 100)
    assert os.listdir(tmp_path) == ["6.jsonl"]


def test_the_oldest_files_go_after_a_period(tmp_path: Path) -> None:
    for number in range(3):
        UndeliveredFiles(str(tmp_path)).add(f"{number}.jsonl", b"x")
        os.utime(tmp_path / f"{number}.jsonl", (number, number))
    files = UndeliveredFiles(str(tmp_path), RetentionLimit(seconds=3600))
    files.add("3.jsonl", b"x")
    assert os.listdir(tmp_path) == ["3.jsonl"]
