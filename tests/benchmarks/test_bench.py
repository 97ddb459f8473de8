"""The benchmarks compare what they say: equally many matches, the right number of stages, honest paces."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from benchmarks.engine import index_cost as index_bench
from benchmarks.engine import join_throughput, selections, stages, state_bytes, window_growth
from benchmarks.harness.measure import BatchCost, Mark, TreeClock, pace, tree_cpu
from benchmarks.harness.table import Table
from benchmarks.workloads.keyed_streams import keyed_tuples, seconds_of, write_keyed_streams, write_stream

from benchmarks import __main__ as command_line
from benchmarks import suite
from benchmarks.harness import side
from seine.errors import RunError
from seine.frontends.script.parser import read_script
from seine.network.network import build_network
from seine.run_local import run_local

PACE = BatchCost(10, 1000.0, 5.0, 2.0, 3.0, 40.0, 700)


def test_pace_leaves_out_what_came_before() -> None:
    marks = [Mark(batch, 10.0 * batch**2, 7.0 * batch, 100 * batch, 3 * batch) for batch in range(1, 6)]
    measured = pace(marks, 3)
    assert measured.batches == 2
    assert measured.rows_per_second == 200 / 160
    assert measured.cpu_per_million == pytest.approx(14 / 200 * 1e6)
    assert (measured.seconds_per_batch, measured.cpu_per_batch) == (80.0, 7.0)
    assert (measured.out_per_batch, measured.total_out) == (3.0, 15)


@pytest.mark.parametrize("warm", [2, 3])
def test_pace_needs_batches_after_the_warm_ones(warm: int) -> None:
    with pytest.raises(ValueError, match="too few"):
        pace([Mark(1, 0.0, 0.0, 0, 0), Mark(2, 1.0, 1.0, 5, 0)], warm)


_SPENDING = """
import sys, time
while time.process_time() < 0.2:
    pass
print(flush=True)
sys.stdin.read()
"""


def test_what_ended_processes_used_stays_counted() -> None:
    clock = TreeClock(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", _SPENDING], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        assert one.stdin is not None and one.stdout is not None
        one.stdout.readline()  # it has spent some
        before = clock.mark(1, 0, 0)
        one.stdin.close()
    assert clock.mark(2, 0, 0).cpu >= before.cpu >= 0.2


def test_cpu_of_a_tree_only_grows() -> None:
    before = tree_cpu(os.getpid())
    assert 0 < before <= tree_cpu(os.getpid())


def test_table_refuses_a_row_of_another_width() -> None:
    table = Table("a", "b")
    with pytest.raises(ValueError, match="1 cells under 2 headings"):
        table.add("1")


def _pairs(left: pa.Table, right: pa.Table, window_us: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the pairs that join, by trying all."""
    keys, times = ([t[c].to_numpy().astype(np.int64) for t in (left, right)] for c in ("k", "ts"))
    near = np.abs(np.subtract.outer(*(t // 1000 for t in times))) * 1000 < window_us
    return np.nonzero(np.equal.outer(*keys) & near)


def _batches(random: np.random.Generator, count: int, rows: int, keys: int) -> pa.Table:
    return pa.concat_tables([keyed_tuples(random, batch, rows, keys) for batch in range(count)])


def test_windows_have_equally_many_matches() -> None:
    """Keys that grow with the window keep the matches of a micro-batch, once the window is full."""
    rows, base, counts = 500, 250, []
    for factor in (1, 4):
        random = np.random.default_rng(factor)
        left, right = (_batches(random, 6, rows, base * factor) for _ in range(2))
        first, second = _pairs(left, right, base * factor * 1000)
        counts.append(int((np.maximum(first, second) >= 3 * rows).sum()) / 3)
    assert counts == pytest.approx([2 * rows, 2 * rows], rel=0.06)


def test_the_join_of_the_benchmark_finds_every_pair(tmp_path: Path) -> None:
    write_keyed_streams(str(tmp_path), join_throughput.STREAMS, batches=3, rows=1_000, keys=1_000)
    script = tmp_path / "join.sql"
    script.write_text(join_throughput.join_script(str(tmp_path), seconds_of(1_000)))
    left, right = (state_bytes._read(str(tmp_path), name, 3) for name in join_throughput.STREAMS)
    expected = len(_pairs(left, right, 1_000_000)[0])
    assert expected > 1_000
    assert run_local(str(script), batch_rows=1_000).stats["output_rows"] == expected


@pytest.mark.parametrize("queries", [8, 80])
def test_selections_have_exactly_as_many_matches(queries: int) -> None:
    rows = 500
    database = duckdb.connect()
    database.register("reading", selections.readings(np.random.default_rng(queries), 3, rows, queries))
    for shape in selections.SHAPES:
        each = range(queries // len(selections.SHAPES))
        where = [f"CAST({selections.predicate(shape, i)} AS INT)" for i in each]
        hits = database.execute(f"SELECT {' + '.join(where)} AS hits FROM reading").fetchnumpy()["hits"]
        assert hits.max() == 1
        assert hits.sum() == rows // selections.RARITY


@pytest.mark.parametrize("queries", [8, 80])
def test_seine_finds_the_matches_of_the_selections(tmp_path: Path, queries: int) -> None:
    random = np.random.default_rng(5)
    write_stream(str(tmp_path), "reading", [selections.readings(random, i, 200, queries) for i in range(2)])
    script = tmp_path / "selections.sql"
    script.write_text(selections.selections_script(str(tmp_path), queries))
    result = run_local(str(script), batch_rows=200)
    assert len(result.stats["queries"]) == queries
    assert result.stats["output_rows"] == 2 * len(selections.SHAPES) * (200 // selections.RARITY)


@pytest.mark.parametrize("depth", stages.QUERIES)
def test_scripts_need_their_number_of_stages(tmp_path: Path, depth: int) -> None:
    write_keyed_streams(str(tmp_path), stages.STREAMS, batches=2, rows=50, keys=30)
    script = tmp_path / "stages.sql"
    script.write_text(stages.stages_script(str(tmp_path), 1, depth))
    assert build_network(read_script(str(script)).declarations.queries.values()).depth == depth
    assert run_local(str(script), batch_rows=50).stats["output_rows"] > 0


def test_memory_weighs_what_is_alive() -> None:
    early, late = state_bytes.weigh(batches=7, rows=1_000, window_batches=2.0, points=[1, 6])
    assert early.live == 2 * 1_000
    assert late.live == 2 * 3_000  # the window of 2 s, and the lateness of 1 s
    assert late.needed == late.live * 24
    assert late.needed < late.held < 20 * late.needed


def test_ratios_are_to_the_first() -> None:
    slow = replace(PACE, rows_per_second=250.0, seconds_per_batch=5.0, cpu_per_batch=6.0)
    assert [row[-1] for row in join_throughput.tabulate({"seine": PACE, "spark": slow}).rows[1:]] == [
        "1.0x",
        "4.0x",
    ]
    assert [row[-1] for row in stages.tabulate({1: PACE, 2: slow}).rows[1:]] == ["1.00x", "2.50x"]
    assert [row[-1] for row in selections.tabulate({100: PACE, 900: slow}).rows[1:]] == ["1.00x", "0.25x"]
    assert window_growth.tabulate({1: PACE, 4: slow}).rows[2][-2:] == ("2.50x", "2.00x")


def test_the_longest_window_fills_while_warming_up() -> None:
    seen: list[int] = []

    def runner(title: str, module: str, script: str, rows: int, warm: int) -> BatchCost:
        seen.append(warm)
        return PACE

    window_growth.main(batches=6, rows=1_000, base=1_000, factors=(1, 4), runner=runner)
    assert seen == [5, 5]


def test_the_command_line_knows_every_benchmark() -> None:
    assert tuple(one.name for one in suite.SUITE) == command_line.NAMES
    for name in command_line.NAMES:
        assert name in command_line._ABOUT


@pytest.mark.parametrize("one", suite.SUITE, ids=lambda one: one.name)
def test_parameters_fit_their_benchmark(one: suite.Benchmark) -> None:
    for parameters in (one.full, one.quick):
        inspect.signature(one.main).bind(**parameters)
        assert "{" not in one.compares.format(**parameters)


def test_bench_prints_and_writes_markdown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = Table("side", "ratio")
    table.add("one", "1x")
    fake = suite.Benchmark("fake", "One, {size} rows.", lambda size: table, {"size": 9}, {"size": 3})
    monkeypatch.setattr(suite, "SUITE", (fake, fake))
    assert command_line.main(["--quick", "--out", str(tmp_path / "out.md")]) == 0
    page = "## fake\n\nOne, 3 rows.\n\n| side | ratio |\n| ---- | ----- |\n| one  | 1x    |\n"
    assert (tmp_path / "out.md").read_text() == f"{page}\n{page}"
    assert capsys.readouterr().out == f"{page}\n{page}\n"


def test_an_unknown_benchmark_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command_line.main(["nonsense"])
    assert stopped.value.code == 2
    assert "join-large" in capsys.readouterr().err


def test_sides_run_together(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fake = SimpleNamespace(run_side=lambda words: replace(PACE, batches=len(words)))
    monkeypatch.setitem(sys.modules, "fake_side", fake)
    assert side.together("a side", "fake_side", "x", 7).batches == 2
    assert capsys.readouterr().err == "  a side ...\n"


def test_sides_run_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "loud_side.py").write_text("print('chatter')\nprint('{\"batches\": 1}')\n")
    monkeypatch.setattr(side, "BatchCost", lambda batches: replace(PACE, batches=batches))
    assert side.apart("a side", "loud_side").batches == 1
    (tmp_path / "bad_side.py").write_text("raise SystemExit('no such luck')\n")
    with pytest.raises(RunError, match="'a side' failed: no such luck"):
        side.apart("a side", "bad_side")


def test_a_side_tells_its_pace(capsys: pytest.CaptureFixture[str]) -> None:
    side.print_cost(PACE)
    assert '"rows_per_second": 1000.0' in capsys.readouterr().out


def test_the_index_is_measured_at_each_size() -> None:
    rows = index_bench.main(counts=(40, 400), searches=10).rows[1:]
    assert [row[:2] for row in rows[:4]] == [
        ("40", "enter, in bulk"),
        ("40", "equivalent"),
        ("40", "weaker"),
        ("40", "stronger"),
    ]
    searches = [row for row in rows if row[1] in ("weaker", "stronger")]
    assert len(searches) == 4
    for row in searches:
        assert 0 < int(row[3]) <= int(row[4].replace(",", "")) < int(row[5].replace(",", ""))
