"""`seine run`: what it says of sinks whose target does not take records, and its exit status then."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seine import backoff
from seine.cli import run_command
from seine.cli.main import main
from seine.cli.progress_line import ProgressLine
from seine.frontends.script.script import Script
from seine.run import Options, Run
from seine.run_local import LocalHost

SCRIPT = """
CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY q AS SELECT a FROM s;
CREATE SINK hook FROM q INTO 'http://127.0.0.1:1/' WITH (secret = '${HOOK_WORD}', attempts = '2');
CREATE SINK alerts FROM q INTO 'alerts';
"""


@contextmanager
def _carried_here(script: Script, options: Options, arguments: argparse.Namespace) -> Iterator[Run]:
    """Without Spark, and with sinks."""
    run = Run(script, options)
    try:
        run.driver.run_all(LocalHost(run.deployment).run)
        run.drain()
        yield run
    finally:
        run.close()


@pytest.mark.parametrize(
    ("given", "reason"),
    [("abc", "is a number of seconds"), ("0", "must be above 0"), ("inf", "must be above 0")],
)
def test_a_time_that_functions_cannot_have_is_refused(
    given: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["run", "x.sql", "--function-seconds", given])
    assert f"argument --function-seconds: {reason}" in capsys.readouterr().err


@pytest.mark.parametrize("state", ["state", None])
def test_records_that_a_webhook_did_not_take_are_told_and_kept(
    state: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOOK_WORD", "correct horse")
    monkeypatch.setattr(run_command, "carried", _carried_here)
    terminal = io.StringIO()
    monkeypatch.setattr(run_command, "ProgressLine", lambda: ProgressLine(terminal))
    monkeypatch.setattr(backoff, "SECOND", 0.02)
    Path("s.jsonl").write_text('{"a": 1, "ts": 1}\n{"a": 2, "ts": 2}\n')
    Path("x.sql").write_text(SCRIPT)
    words = ["--checkpoint", state] if state else []
    status = main(["run", "x.sql", "--out", "out.jsonl", "--stats", "stats.json", *words])
    letters = [
        line for file in tmp_path.rglob("undelivered/*/*.jsonl") for line in file.read_text().splitlines()
    ]

    assert status == 3
    kept = "they are in 'state/undelivered/" if state else "a run with --checkpoint keeps them"
    assert f"sink hook gave up 2 records; {kept}" in terminal.getvalue()
    assert [json.loads(line)["record"]["row"]["a"] for line in letters] == ([1, 2] if state else [])
    sinks = json.loads(Path("stats.json").read_text())["sinks"]
    assert (sinks["hook"]["undelivered"], sinks["alerts"]["records"]) == (2, 2)
    assert "correct horse" not in terminal.getvalue()
