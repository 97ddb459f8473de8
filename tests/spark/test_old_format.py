"""A folder that an older Seine made is served by this one, backed up while it runs, and restored."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.runtime.folder.settings import FORMAT
from seine.service.backup.backup_copy import relocate
from tests.reference.answers import Answers
from tests.reference.compare import difference, net_of
from tests.reference.verdict import short, start_of
from tests.support.service_process import ServiceProcess

pytestmark = [pytest.mark.spark, pytest.mark.long]

_OLD_HOME = "/srv/market"  # where the folder was made, beside the files of its streams
_PIPELINE = ("--master", "local[1]", "--depth", "2")
_CLOSING_TIME = 1000  # units of event time after which every window has passed


def test_a_folder_of_the_format_before_goes_on_and_so_does_its_backup(tmp_path: Path) -> None:
    home, rng = tmp_path / "market", Random(3)
    with tarfile.open(Path(__file__).parent / "old_folders" / f"format_{FORMAT - 1}.tar.xz") as old:
        old.extractall(home, filter="data")
    relocate(str(home / "state"), _OLD_HOME, str(home))
    first = ServiceProcess(home, "--source-root", str(home), *_PIPELINE)
    try:
        _write(home, rng, range(60, 80))
        _settle(first, home)
        _seine("backup", str(home / "state"), str(tmp_path / "kept"))
        _write(home, rng, range(80, 90))
        _settle(first, home)  # the first goes on
    finally:
        first.kill()
    again = tmp_path / "again"
    again.mkdir()
    _seine("restore", str(tmp_path / "kept"), str(again / "state"))
    second = ServiceProcess(again, "--source-root", str(home), *_PIPELINE)
    try:
        _write(home, rng, range(2 * _CLOSING_TIME, 2 * _CLOSING_TIME + 2))
        _settle(second, home)
        script = (home / "script.sql").read_text()
        _assert_right(second, Answers(script, home))
        _assert_panes(second, home)
    finally:
        second.kill()


def _write(home: Path, rng: Random, ids: range) -> None:
    for stream in ("bid", "ask"):
        rows = [
            {"id": number, "item": rng.randrange(6), "price": rng.randrange(100), "ts": number // 2}
            for number in ids
        ]
        with (home / f"{stream}.jsonl").open("a") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))


def _settle(service: ServiceProcess, home: Path) -> None:
    lines = {stream: len((home / f"{stream}.jsonl").read_text().splitlines()) for stream in ("bid", "ask")}
    service.wait(
        "all lines are admitted",
        lambda client: all(one["position"]["arrivals"] == lines[one["stream"]] for one in client.streams()),
    )
    service.wait("all is delivered", lambda client: bool(_entries(client.status())))


def _entries(status: dict[str, Any]) -> bool:
    return bool(status["entry"] == status["written"])


def _seine(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "seine", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _records(service: ServiceProcess, query: str) -> list[dict[str, Any]]:
    content = service.ask(lambda client: b"".join(client.tail(query, "start", follow=False)))
    return [json.loads(line) for line in content.splitlines()]


def _assert_panes(service: ServiceProcess, home: Path) -> None:
    """Each pane was told once, when it was over."""
    times = [json.loads(line)["ts"] for line in (home / "bid.jsonl").read_text().splitlines()]
    panes = Counter(ts // 10 for ts in times if ts < _CLOSING_TIME)
    rows = [record["row"] for record in _records(service, "panes")]
    assert sorted((row["pane"], row["n"]) for row in rows) == sorted(panes.items())


def _assert_right(service: ServiceProcess, answers: Answers) -> None:
    at = answers.final - _CLOSING_TIME / 2
    for query in set(answers.script.queries) - {"panes"}:
        records = _records(service, query)
        assert records, f"{query} has no records"
        if not answers.is_changelog(query):
            assert difference(answers.records(query), map(short, records)) == ([], []), query
            continue
        for instant in (20, 35, at):
            until = [record for record in records if start_of(record) <= instant]
            assert difference(answers.net(query, instant), net_of(until)) == ([], []), (query, instant)
