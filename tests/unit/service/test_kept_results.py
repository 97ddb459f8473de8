"""A service that keeps results and dead letters within a limit: whoever was away is told what is gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from seine.intake.retention_limit import RetentionLimit
from seine.runtime.output import node_files, segmented_file
from seine.runtime.output.batch_log import BatchLog
from seine.service.tail import read_records
from tests.support.http_rig import HttpRig
from tests.support.seeds import seeds
from tests.support.service_rig import STREAM, Rig
from tests.support.sink_rig import folder_lines, wait_for

QUERY = "CREATE QUERY q AS SELECT a FROM s WHERE a >= 0;\n"
KEPT = RetentionLimit(bytes=4_000)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    made = HttpRig(tmp_path, keep=KEPT)
    made.register(STREAM + QUERY)
    yield made
    made.close()


def _fill(rig: HttpRig, values: range) -> None:
    """A micro-batch for every ten values, and a dead letter with each."""
    for value in range(values.start, values.stop, 10):
        with (rig.folder / "s.jsonl").open("a") as file:
            file.write(json.dumps({"a": f"bad {value}", "ts": 1}) + "\n")
        rig.feed(*range(value, min(value + 10, values.stop)))


def _values(lines: bytes) -> list[int]:
    return [json.loads(line)["row"]["a"] for line in lines.splitlines()]


def test_a_reader_goes_on_from_its_position_or_hears_that_it_is_too_old(rig: HttpRig) -> None:
    rig.feed(*range(10))
    status, _, headers = rig.ask("GET", "/v1/queries/q/results?from=end")
    old, values = headers["Seine-Next"], list[int]()
    assert status == 200 and headers["Seine-Kept-From"] is None
    start = old
    for begin in range(10, 410, 40):
        _fill(rig, range(begin, begin + 40))
        lines = b"".join(rig.client.tail("q", start, follow=False))
        start = rig.ask("GET", "/v1/queries/q/results?from=end")[2]["Seine-Next"]
        values += _values(lines)
    assert values == list(range(10, 410)), "who keeps up misses nothing"

    status, answer, headers = rig.ask("GET", f"/v1/queries/q/results?from={old}")
    first = rig.service.sink.index.results.first
    assert status == 410 and headers["Seine-Kept-From"] == str(first)
    message = f"position {old} is too old: what came before position {first} is no longer kept"
    assert answer["error"]["message"] == message
    assert str(first) in answer["error"]["hint"]
    notices: list[str] = []
    again = _values(b"".join(rig.client.tail("q", str(first), follow=False)))
    assert again == list(range(410 - len(again), 410)) and 10 < len(again) < 100
    whole = b"".join(rig.client.tail("q", "start", False, notices.append)).splitlines()
    assert len(whole) == len(again)
    assert notices == [f"records of q before position {first} of the results are no longer kept"]
    assert rig.client.status()["kept"]["results"] == first


def test_dead_letters_are_kept_by_the_same_law(rig: HttpRig) -> None:
    _fill(rig, range(20))
    _, page, _ = rig.ask("GET", "/v1/dead-letters?limit=1")
    old, seen = page["next"], [page["letters"][0]["record"]]
    after = old
    for begin in range(20, 620, 60):
        _fill(rig, range(begin, begin + 60))
        page = {"more": True}
        while page["more"]:
            _, page, _ = rig.ask("GET", f"/v1/dead-letters?after={after}&limit=7")
            seen += [one["record"] for one in page["letters"]]
            after = page["next"]
    assert [json.loads(one)["a"] for one in seen] == [f"bad {value}" for value in range(0, 620, 10)]

    status, answer, headers = rig.ask("GET", f"/v1/dead-letters?after={old}")
    assert status == 410 and answer["error"]["message"].startswith(f"position {old} is too old")
    _, page, _ = rig.ask("GET", f"/v1/dead-letters?after={headers['Seine-Kept-From']}")
    _, same, _ = rig.ask("GET", "/v1/dead-letters")
    kept = [one["record"] for one in page["letters"]]
    assert page == same and page["more"], "a page is of one segment"
    while page["more"]:
        _, page, _ = rig.ask("GET", f"/v1/dead-letters?after={page['next']}")
        kept += [one["record"] for one in page["letters"]]
    assert kept == seen[-len(kept) :] and 5 < len(kept) < 60


def test_a_sink_that_is_further_behind_than_kept_says_so(tmp_path: Path) -> None:
    """Its target was down too long: it goes on with what is kept; the gap is in `status` and in a note."""
    rig = HttpRig(tmp_path, keep=KEPT)
    try:
        target = tmp_path / "alerts"
        target.write_text("in the way")
        rig.register(STREAM + QUERY + f"CREATE SINK alerts FROM q INTO '{target}';")
        _fill(rig, range(400))
        first = rig.service.sink.index.results.first
        assert first > 0
        target.unlink()
        wait_for(lambda: rig.client.status()["sinks"][0]["lag"] == 0)
        (answer,) = rig.client.status()["sinks"]
        values = _values(b"".join(folder_lines(target)))
        assert values == list(range(400 - len(values), 400)) and 10 < len(values) < 100
        missed = answer["missed"]
        assert (missed["end"], missed["bytes"]) == (first, first)
        notes = sorted((tmp_path / "state" / "undelivered").rglob("gap-*.jsonl"))
        letters = [json.loads(note.read_text()) for note in notes]
        assert [one["end"] for one in letters] == [*(one["start"] for one in letters[1:]), first]
        assert letters[0]["start"] == 0 and letters[0]["sink"] == "alerts"
        assert "results from position 0 to" in letters[0]["reason"]
    finally:
        rig.close()


def test_a_sink_without_records_has_no_gap_after_a_restart(tmp_path: Path) -> None:
    """What it passed over was for others."""
    rig = HttpRig(tmp_path, keep=KEPT)
    other = "CREATE QUERY none AS SELECT a FROM s WHERE a < 0;\n"
    rig.register(STREAM + QUERY + other + f"CREATE SINK alerts FROM none INTO '{tmp_path / 'alerts'}';")
    for begin in range(0, 400, 100):
        _fill(rig, range(begin, begin + 100))
        wait_for(lambda: rig.client.status()["sinks"][0]["lag"] == 0)
    assert rig.service.sink.index.results.first > 0
    rig.close()
    rig = HttpRig(tmp_path, keep=KEPT)
    try:
        wait_for(lambda: rig.client.status()["sinks"][0]["lag"] == 0)
        assert rig.client.status()["sinks"][0]["missed"] is None
    finally:
        rig.close()


class _Killed(BaseException):
    """The process ends here."""


@seeds(4)
def test_a_service_is_killed_wherever_it_keeps_and_gives_up(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is a suffix of what was delivered, whole records, none twice."""
    (tmp_path / "s.jsonl").touch()
    rig = Rig(tmp_path, keep=KEPT)
    rig.register(STREAM + QUERY)
    random, kills, value = Random(seed), 0, 0

    def around(module: object, name: str) -> None:
        real = getattr(module, name)

        def step(*arguments: object, **named: object) -> object:
            nonlocal kills
            for moment in range(2):
                if random.random() < 0.04:
                    kills += 1
                    raise _Killed
                if moment == 0:
                    result = real(*arguments, **named)
            return result

        monkeypatch.setattr(module, name, step)

    around(BatchLog, "settle")
    around(segmented_file, "sync_to_disk")
    around(segmented_file, "segments_on_disk")
    around(node_files.os, "unlink")
    killed = False
    while value < 600 or killed:
        try:
            if killed:
                rig.crash()
            killed = False
            rig.run()
            if value < 600:
                rig.feed(*range(value, value + 10))
                value += 10
                rig.run()
        except _Killed:
            killed = True
    monkeypatch.undo()
    index = rig.service.sink.index
    kept = _values(read_records(index, "q", index.results.first).lines)
    assert kept == list(range(600 - len(kept), 600)) and 10 < len(kept) < 200
    assert index.results.first > 0 and kills
    rig.service.close()
