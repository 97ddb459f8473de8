"""The queries and streams of the safety benchmark are what they are said to be, and its page is whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.__main__ import main
from benchmarks.harness.measure import BatchCost
from benchmarks.sides.measured_run import run, written
from benchmarks.workloads.punctuated_feeds import auction, linked

from benchmarks.safety import check_cost, held_state, purge_cost, purge_throughput, safety_page
from seine.algebra.plan import Query
from seine.safety.states.item_facts import Sources
from seine.safety.verdict import verdict

PACE = BatchCost(4, 100.0, 2.0, 1.0, 1.0, 5.0, 70)


@pytest.mark.parametrize("name", check_cost.SHAPES)
@pytest.mark.parametrize("count", [3, 10, 40])
def test_its_queries_are_safe_and_only_pairs_have_generalised_edges(name, count):
    plan = check_cost.plan_of(check_cost.SHAPES[name](count))
    assert verdict(Query("q", plan)).safe and check_cost.one_by_one(plan)
    graph = Sources().block(plan)[1].graph
    joint = [closer for item in graph.items for closer in item.closers if len(closer.needs) > 1]
    assert len(joint) == (count - 2 if name == "pairs" else 0)


def test_the_table_has_a_row_for_each_query_and_size():
    rows = check_cost.main(counts=(3, 6), runs=1).rows[1:]
    assert [row[:2] for row in rows] == [(name, count) for name in check_cost.SHAPES for count in ("3", "6")]


@pytest.mark.parametrize("windowed", [False, True])
def test_all_ways_to_bound_the_auction_give_the_same_results(windowed):
    workload = auction(1_900, 20)
    with written(workload, punctuated=True) as path:
        punctuated = run(path, batch_rows=100)
    with written(workload, punctuated=False, windowed=windowed) as path:
        plain = run(path, batch_rows=100)
    assert punctuated.tuples == plain.tuples == 2_000
    assert punctuated.results == plain.results > 100


def test_one_line_in_ten_tuples_is_a_punctuation(tmp_path):
    auction(19_000, 20).write(str(tmp_path), punctuated=True)
    lines = [line for name in ("item", "bid") for line in (tmp_path / f"{name}.jsonl").open()]
    punctuations = sum("@punctuate" in line for line in lines)
    assert punctuations == pytest.approx((len(lines) - punctuations) / 10, rel=0.02)


def test_the_auction_holds_its_open_items_and_their_punctuations():
    with written(auction(9_500, 30), punctuated=True) as path:
        ran = run(path, batch_rows=500)
    assert 0 < held_state._most(ran) <= 2 * 30
    with written(auction(9_500, 30), punctuated=False) as path:
        assert held_state._most(run(path, batch_rows=500)) > 5_000


@pytest.mark.parametrize("cycle", [False, True])
def test_joins_of_several_streams_stay_small(cycle):
    with written(linked(3, 600, 20, cycle), punctuated=True) as path:
        ran = run(path, batch_rows=100)
    assert ran.results > 50 and held_state._most(ran) < 400 < ran.tuples


def test_the_page_has_every_table_and_picture(tmp_path: Path, monkeypatch) -> None:
    out = tmp_path / "page.md"
    monkeypatch.setitem(
        safety_page.QUICK["throughput"], "runner", lambda *words: PACE
    )  # it would start Spark
    assert main(["safety", "--quick", "--out", str(out), "--pictures", str(tmp_path)]) == 0
    assert out.read_text().count("\n| ---") == len(safety_page.PARTS)
    pictures = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert pictures == ["safety-auction.svg", "safety-joins.svg"]
    for name in pictures:
        ElementTree.parse(tmp_path / name)


def test_every_way_runs_on_spark_each_round_and_the_losses_are_told():
    seen = []

    def runner(title, module, path, batch_rows, warm):
        seen.append(title)
        script = Path(path).read_text()
        if "PUNCTUATED" in script:
            return replace(PACE, rows_per_second=80.0, cpu_per_million=4.0)
        return replace(PACE, cpu_per_million=3.0 if "WINDOW" in script else 2.0)

    table = purge_throughput.throughput(200, 5, 100, 1, 2, runner)
    assert len(seen) == len(set(seen)) == 2 * len(purge_throughput.BOUNDS)
    assert table.rows[1] == ("punctuations", "80", "4.00", "-20 %", "-20 %", "-50 %", "-25 %")
    assert [row[0] for row in table.rows[2:]] == ["unbounded", "windows"]


def test_throughput_that_is_lost():
    assert purge_cost._lost([1.25], [1.0]) == pytest.approx(-20)
