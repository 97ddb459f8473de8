"""Sinks of a run: every record once, however often it is stopped, and all of them when it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine import backoff
from seine.errors import RunError, SeineError
from seine.frontends.script.parser import parse_script
from seine.run import Options, Run
from seine.run_local import LocalHost, run_local
from seine.runtime.output.outlets import Folder
from seine.sinks import sink_threads
from seine.testing import run_script
from tests.support.seeds import seeds
from tests.support.sink_rig import folder_lines, wait_for

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 's.jsonl';"
QUERIES = """
CREATE QUERY q AS SELECT a, ts FROM s WHERE a > 1;
CREATE QUERY n AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;
CREATE QUERY nobody AS SELECT a FROM s;
"""
SINKS = "CREATE SINK one FROM q INTO 'one'; CREATE SINK two FROM n, q INTO 'two';"


def opened(folder: Path, sinks: str = SINKS, **options: Any) -> Run:
    script = parse_script(STREAM + QUERIES + sinks, file="x.sql", folder=str(folder))
    options = {"checkpoint": str(folder / "state"), "out": str(folder / "out.jsonl"), **options}
    return Run(script, Options(batch_rows=3, **options))


def write_input(folder: Path, random: Random, count: int = 40) -> None:
    rows = [{"a": random.randrange(4), "ts": at} for at in range(count)]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def carry(run: Run, steps: int | None = None) -> None:
    """Carry a run to its end, or so far."""
    work = LocalHost(run.deployment).run
    try:
        if steps is None:
            run.driver.run_all(work)
            run.drain()
        for _ in range(steps or 0):
            run.driver.run_some(work)
    finally:
        run.close()


def lines_of(folder: Path, *queries: str) -> list[bytes]:
    lines = (folder / "out.jsonl").read_bytes().splitlines(keepends=True)
    return [line for line in lines if json.loads(line)["query"] in queries]


@seeds(4)
def test_sinks_have_all_records_once_however_often_a_run_is_stopped(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    write_input(tmp_path, random)
    for _ in range(random.randrange(1, 5)):
        carry(opened(tmp_path), random.randrange(3))
    carry(opened(tmp_path))
    run = opened(tmp_path)
    carry(run)  # it is complete, and nothing comes again
    statistics = run.statistics(0.0).document()

    assert folder_lines(tmp_path / "one") == lines_of(tmp_path, "q") != []
    assert folder_lines(tmp_path / "two") == lines_of(tmp_path, "q", "n")
    records = len(lines_of(tmp_path, "q"))
    assert statistics["sinks"]["one"] == {"records": records, "undelivered": 0, "missed_bytes": 0}


def test_a_sink_that_comes_later_has_what_comes_after_it(tmp_path: Path) -> None:
    write_input(tmp_path, Random(1))
    run = opened(tmp_path, follow=True, live=True)
    carry_some = LocalHost(run.deployment).run
    for _ in range(3):
        run.driver.run_some(carry_some)
    before = len(lines_of(tmp_path, "q"))
    run.change("CREATE SINK late FROM q INTO 'late';", str(tmp_path))
    identity = run.registrar.view.sinks["late"].identity
    run.close()
    again = opened(tmp_path, follow=True, live=True)
    assert again.registrar.view.sinks["late"].identity == identity
    again.driver.end_input()
    carry(again)

    assert folder_lines(tmp_path / "late") == lines_of(tmp_path, "q")[before:] != []
    assert before > 0 and folder_lines(tmp_path / "one") == lines_of(tmp_path, "q")


@pytest.mark.parametrize("out", [Folder, str, None])
def test_sinks_do_not_depend_on_where_else_results_go(
    out: Callable[[str], Any] | None, tmp_path: Path
) -> None:
    write_input(tmp_path, Random(1))
    got: list[dict[str, Any]] = []
    place = {"out": out(str(tmp_path / "results/"))} if out else {"out": None, "deliver": got.append}
    carry(opened(tmp_path, **place))
    alone = tmp_path / "alone"
    alone.mkdir()
    write_input(alone, Random(1))
    carry(opened(alone))

    assert folder_lines(tmp_path / "two") == lines_of(alone, "q", "n") != []
    assert out is not None or got == [json.loads(line) for line in lines_of(alone, "q", "n", "nobody")]


def test_without_a_checkpoint_a_run_delivers_all_and_says_what_holds(tmp_path: Path) -> None:
    write_input(tmp_path, Random(1))
    notices: list[str] = []
    for _ in range(2):
        carry(opened(tmp_path, checkpoint=None, notice=notices.append))

    assert len(folder_lines(tmp_path / "one")) == 2 * len(lines_of(tmp_path, "q")) > 0
    assert notices == [f"without a checkpoint, {sink_threads.STARTS_OVER}"] * 2


def test_the_end_waits_for_a_target_that_is_down_and_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "SECOND", 0.02)
    monkeypatch.setattr(sink_threads, "MOST_SECONDS_STUCK", 0.3)
    write_input(tmp_path, Random(1))
    (tmp_path / "one").write_text("a file where a folder should be")
    notices: list[str] = []
    with pytest.raises(RunError, match=r"sink one has not delivered all: .*exists") as failed:
        carry(opened(tmp_path, notice=notices.append))
    assert failed.value.hint == "with the same --checkpoint it goes on from there"
    assert [one.partition(":")[0] for one in notices] == ["sink one cannot deliver, and tries again"]
    (tmp_path / "one").unlink()
    carry(opened(tmp_path))

    assert folder_lines(tmp_path / "one") == lines_of(tmp_path, "q") != []
    assert folder_lines(tmp_path / "two") == lines_of(tmp_path, "q", "n")


def test_a_target_that_is_down_for_a_while_is_told_of_and_gets_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "SECOND", 0.02)
    write_input(tmp_path, Random(1))
    blocked = tmp_path / "one"
    blocked.write_text("a file where a folder should be")
    notices: list[str] = []

    def notice(text: str) -> None:
        notices.append(text)
        if blocked.is_file():
            blocked.unlink()

    carry(opened(tmp_path, notice=notice))

    assert "cannot deliver, and tries again" in notices[0]
    assert notices[1:] == ["sink one goes on"]
    assert folder_lines(blocked) == lines_of(tmp_path, "q") != []


def test_a_stop_waits_only_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_threads, "MOST_SECONDS_STOPPED", 0.2)
    write_input(tmp_path, Random(1))
    (tmp_path / "one").write_text("a file where a folder should be")
    notices: list[str] = []
    run = opened(tmp_path, notice=notices.append)
    run.driver.run_all(LocalHost(run.deployment).run)
    wait_for(lambda: run.sink_states()[0].trouble is not None and not run.sink_states()[1].lag)
    run.driver.stop()
    run.drain()
    run.close()

    assert notices[-1].startswith("sink one has not delivered all") and "goes on" in notices[-1]
    assert folder_lines(tmp_path / "two") == lines_of(tmp_path, "q", "n") != []


@pytest.mark.parametrize(
    ("sinks", "reason"),
    [
        ("CREATE SINK x FROM q INTO 'state/x';", "lies in the folder of the run"),
        ("CREATE SINK x FROM q INTO 'https://host/' WITH (secret = '${NO_SUCH_WORD}');", "of sink x needs"),
        ("".join(f"CREATE SINK x{n} FROM q INTO 'x{n}';" for n in range(201)), "201 sinks are more than 200"),
    ],
)
def test_what_could_never_deliver_is_refused_before_anything_is_made(
    sinks: str, reason: str, tmp_path: Path
) -> None:
    write_input(tmp_path, Random(1))
    with pytest.raises(SeineError, match=reason):
        opened(tmp_path, sinks)

    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"]


def test_a_checkpoint_belongs_to_its_sinks(tmp_path: Path) -> None:
    write_input(tmp_path, Random(1))
    carry(opened(tmp_path))
    with pytest.raises(SeineError, match="belongs to another script"):
        opened(tmp_path, SINKS + "CREATE SINK three FROM q INTO 'three';")


def test_what_only_tries_a_script_out_leaves_targets_alone(tmp_path: Path) -> None:
    write_input(tmp_path, Random(1))
    (tmp_path / "x.sql").write_text(STREAM + QUERIES + SINKS)
    assert run_local(str(tmp_path / "x.sql")).records != []
    assert run_script(STREAM + QUERIES + SINKS, folder=str(tmp_path)).rows("q") != []

    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.jsonl", "x.sql"]
