"""`seine run` with a query that goes over its budget: it fails, the others finish."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import seine.run_record
from seine.cli.main import main
from seine.cli.progress_line import ProgressLine
from seine.frontends.script.parser import read_script
from seine.operators.state.work_budget import WorkBudget
from seine.run import Options, Run
from seine.run_local import LocalHost, run_local

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';\n"
GREEDY = "CREATE QUERY greedy AS SELECT x.a AS a FROM s x, s y, s z WHERE x.a + y.a + z.a < 0;\n"
GOOD = """CREATE QUERY pairs AS SELECT x.a AS a, y.a AS b FROM s x, s y WHERE x.a = y.a AND x.a < 5;
CREATE QUERY counted AS SELECT a, COUNT(*) AS n FROM s WHERE a < 4 GROUP BY a;
"""
SMALL = WorkBudget(candidates=100_000)


def script(folder: Path, text: str, rows: int = 300) -> str:
    """A script with its source: a quiet beginning, many rows at one instant, a quiet end."""
    times = [*range(20), *[20] * rows, *range(21, 40)]
    lines = [json.dumps({"a": i % 50, "ts": ts}) + "\n" for i, ts in enumerate(times)]
    (folder / "s.jsonl").write_text("".join(lines))
    path = folder / "x.sql"
    path.write_text(STREAM + text)
    return str(path)


def answers(records: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(record) for record in records if record["query"] != "greedy")


@pytest.mark.parametrize("batch_rows", [7, 1000])
@pytest.mark.parametrize("buckets", [1, 2])
def test_the_others_finish_as_if_it_had_never_been_there(
    tmp_path: Path, batch_rows: int, buckets: int
) -> None:
    alone = run_local(script(tmp_path, GOOD), batch_rows=batch_rows)
    budget = WorkBudget(candidates=60_000)
    beside = run_local(script(tmp_path, GREEDY + GOOD), batch_rows=batch_rows, buckets=buckets, budget=budget)
    assert answers(beside.records) == answers(alone.records) != Counter()
    assert "candidates" in beside.stats["queries"]["greedy"]["failed"]
    assert "failed" not in beside.stats["queries"]["pairs"]


def test_a_budget_that_is_large_enough_changes_no_answer(tmp_path: Path) -> None:
    path = script(tmp_path, GREEDY + GOOD, rows=20)
    usual, ample = run_local(path), run_local(path, budget=WorkBudget(10**12, 10**12))
    assert sorted(map(json.dumps, usual.records)) == sorted(map(json.dumps, ample.records)) != []


@pytest.mark.parametrize("crash_at", ["registered.json", "withheld"])
def test_a_run_that_is_killed_in_the_middle_of_a_quarantine_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash_at: str
) -> None:
    path = script(tmp_path, GREEDY + GOOD)
    expected = answers(run_local(path, budget=SMALL).records)
    out = tmp_path / "out.jsonl"
    options = Options(str(out), checkpoint=str(tmp_path / "state"), budget=SMALL)
    run = Run(read_script(path), options)
    with monkeypatch.context() as patch:
        if crash_at == "withheld":
            withhold = run.registrar._withhold

            def killed(*failure: Any) -> None:
                withhold(*failure)
                raise KeyboardInterrupt

            patch.setattr(run.registrar, "_withhold", killed)
        else:
            write_whole = seine.run_record.write_whole

            def killed_before(path: str, content: bytes) -> None:
                if path.endswith(crash_at):
                    raise KeyboardInterrupt
                write_whole(path, content)

            patch.setattr("seine.run_record.write_whole", killed_before)
        with pytest.raises(KeyboardInterrupt):
            run.driver.run_all(LocalHost(run.deployment).run)
    run.close()
    again = Run(read_script(path), options)
    again.driver.run_all(LocalHost(again.deployment).run)
    assert "failed" in again.statistics(0.0).document()["queries"]["greedy"]
    again.close()
    assert answers([json.loads(line) for line in out.read_text().splitlines()]) == expected


def test_the_command_says_which_query_failed_and_ends_with_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_here(_: object, run: Run, **__: object) -> None:
        run.driver.run_all(LocalHost(run.deployment).run)

    monkeypatch.setattr("seine.spark.session.open_session", lambda master, log, keep: None)
    monkeypatch.setattr("seine.spark.spark_host.run_on_spark", run_here)
    lines: list[str] = []
    monkeypatch.setattr(ProgressLine, "tell", lambda _, text: lines.append(text))
    out = tmp_path / "out.jsonl"
    path, stats = script(tmp_path, GREEDY + GOOD), tmp_path / "stats.json"
    words = ["run", path, "--out", str(out), "--stats", str(stats)]
    assert main([*words, "--budget-candidates", "60000"]) == 3
    assert [line for line in lines if line.startswith("query greedy failed: join #")] == lines != []
    assert "60,000 candidates" in json.loads(stats.read_text())["queries"]["greedy"]["failed"]
    assert answers([json.loads(line) for line in out.read_text().splitlines()])
