"""The part of the tutorial that needs Spark: a run, and a service that queries come to and leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seine.run_local import run_local
from tests.support.command import kill, python_path, start
from tests.support.stateful_script import sorted_records
from tests.support.tutorial import ON_SPARK, STEPS, Command, Snippet

pytestmark = [pytest.mark.spark, pytest.mark.long]


def _seine(*words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": python_path()}
    command = [sys.executable, "-m", "seine", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tutorial_goes_on_with_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _seine("init", "alerts")
    monkeypatch.chdir("alerts")
    for step in STEPS:
        if isinstance(step, Snippet):
            step.put()
    commands = {step.line: step for step in STEPS if isinstance(step, Command) and step.line in ON_SPARK}
    assert tuple(commands) == ON_SPARK
    run, serve, register, listed, drop = (line.removesuffix(" &").split()[1:] for line in ON_SPARK)
    _seine(*run)
    written = [json.loads(line) for line in Path("records.jsonl").read_text().splitlines()]
    assert sorted_records(written) == sorted_records(run_local("alerts.sql").records) != []
    log = tmp_path / "serve.log"
    process = start(
        *serve, "--master", "local[2]", "--depth", "1", "--log", str(tmp_path / "spark.log"), log=log
    )
    try:
        _wait_until_served(process, log)
        assert _seine(*register) == commands[ON_SPARK[2]].shown
        assert {name in _seine(*listed) for name in ("big", "passed_on", "busy")} == {True}
        assert "dropped query big" in _seine(*drop)
    finally:
        kill(process)


def _wait_until_served(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 300
    while not Path("state/service.json").exists():
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
