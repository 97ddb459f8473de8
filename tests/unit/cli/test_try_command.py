"""`seine try`: the answers of a script at once, and again after each change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from seine.cli.main import main
from seine.cli.try_command import WatchedFiles

SCRIPT = """
CREATE STREAM bid (item BIGINT, price DOUBLE, ts BIGINT) TIMESTAMP BY ts FROM 'bid.jsonl';
CREATE QUERY dear AS SELECT item FROM bid WHERE price > 100;
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "bid.jsonl").write_text(
        '{"item": 1, "price": 200, "ts": 1}\n{"item": 2, "price": 5, "ts": 2}\nx\n'
    )
    path = tmp_path / "bids.sql"
    path.write_text(SCRIPT)
    return path


def test_records_and_dead_letters(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    dead = script.parent / "dead.jsonl"
    assert main(["try", str(script), "--dead-letter", str(dead), "--batch-rows", "1"]) == 0
    out, err = capfd.readouterr()
    assert [json.loads(line)["row"] for line in out.splitlines()] == [{"item": 1}]
    assert len(dead.read_text().splitlines()) == 1
    assert "no pipeline: 3 rows, 1 results" in err


def test_input_is_not_overwritten(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["try", str(script), "--out", str(script.parent / "bid.jsonl")]) == 1
    assert "bid.jsonl" in capfd.readouterr().err


def test_what_spark_reads_is_refused(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script.write_text(SCRIPT.replace("FROM 'bid.jsonl'", "USING rate OPTIONS (rowsPerSecond '1')"))
    assert main(["try", str(script)]) == 1
    assert "Spark" in capfd.readouterr().err


def test_watching_survives_a_wrong_script_and_runs_again(script: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "seine", "try", str(script), "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        assert json.loads(process.stdout.readline())["row"] == {"item": 1}
        _until(process.stderr, "waiting for a change")
        script.write_text("CREATE QUERY dear AS SELEKT;")
        _until(process.stderr, "waiting for a change")
        script.write_text(SCRIPT.replace("100", "1"))
        rows = [json.loads(process.stdout.readline())["row"]["item"] for _ in range(2)]
        assert rows == [1, 2]
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


def _until(lines, text: str) -> None:
    """Read up to a line that has a text."""
    assert any(text in line for line in lines)


def test_files_of_a_folder_and_a_glob_are_watched(tmp_path: Path) -> None:
    script, folder = tmp_path / "s.sql", tmp_path / "in"
    script.write_text("")
    folder.mkdir()
    for change in ("s.sql", "in/new.jsonl", "a.csv"):
        files = WatchedFiles(str(script))
        files.look()
        files.follow([str(folder), str(tmp_path / "*.csv")])
        (tmp_path / change).write_text("changed")
        files.wait()  # comes back, or this test hangs
