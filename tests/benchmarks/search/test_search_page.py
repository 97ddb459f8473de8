"""The benchmark of keyword search has its parts, and its quick run is whole."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.harness.measure import BatchCost
from benchmarks.keyword_meshes.search_arrivals import condition_sides
from benchmarks.search.many_searches import many_queries
from benchmarks.search.network_set_up import set_up
from benchmarks.search.search_figures import join_order
from benchmarks.search.spark_search import on_spark
from benchmarks.sides.on_mesh import ENGINES, run_mesh
from benchmarks.sides.on_search import run_ours
from benchmarks.workloads.search_files import pair_searches, rare_texts
from benchmarks.workloads.search_schemas import ternary_tree
from benchmarks.workloads.search_trace import SearchTrace

from benchmarks import __main__ as bench_command
from benchmarks.search import search_page


def test_networks_are_counted() -> None:
    rows = set_up([(15, 2, 4), (15, 3, 3)]).rows[1:]
    assert [row[3] for row in rows] == ["291", "1,551"]
    assert rows[0][4] == "496"


def test_the_trace_is_that_of_the_paper() -> None:
    trace = SearchTrace(hours=0.5)
    arrivals = trace.arrivals
    assert len(arrivals) == 15 * 1_800
    assert (arrivals.end - arrivals.start == 1_200).all()
    assert np.bincount(arrivals.stream).tolist() == [1_800] * 15
    assert 0.008 < (arrivals.held & 1).mean() < 0.012
    used = (condition_sides(ternary_tree(15)) >= 0)[arrivals.stream]
    assert ((arrivals.values >= 0) == used).all() and arrivals.values.max() == 999
    pieces = list(trace.steps(900))
    assert [low for _, low in pieces][:2] == [60, 120] and len(pieces) == 30
    assert (np.concatenate([part.number for part, _ in pieces]) == arrivals.number).all()


def test_another_keyword_comes_first() -> None:
    trace = SearchTrace(hours=0.1, more_often=(1, 20))
    assert (trace.arrivals.held & 1).mean() < (trace.arrivals.held >> 1 & 1).mean()
    turned = np.concatenate([part.held for part, _ in trace.steps(900, keyword_order=[1, 0])])
    assert (turned & 1 == trace.arrivals.held >> 1 & 1).all()


@pytest.mark.parametrize("name", ENGINES)
def test_engines_have_the_same_results(name: str) -> None:
    trace = SearchTrace(hours=0.2, streams=5, values=50, frequency=0.02, window=5)
    expected = run_mesh("FM-!D-!L", trace, rows=10_000)
    ran = run_mesh(name, trace, rows=100)
    assert ran.results == expected.results > 100
    assert ran.peak_rows >= 5 * 300  # the sources


def test_a_forest_holds_most_and_an_order_saves() -> None:
    trace = SearchTrace(hours=0.2, streams=5, values=50, frequency=0.02, window=5)
    held = [run_mesh(name, trace).peak_rows for name in ("FM-D-!L", "FM-!D-!L", "forest")]
    assert held == sorted(held) and held[2] > 4 * held[1]
    rows = join_order((5, 0.5), {"hours": 0.2, "streams": 5, "values": 50, "frequency": 0.02}).rows[1:]
    held_rows = [int(row[4].replace(",", "")) for row in rows]
    assert held_rows[3] < held_rows[0] and len({row[2] for row in rows}) == 1


def test_the_command_knows_the_parts() -> None:
    names = tuple(name for name, _, _ in search_page.PARTS)
    assert bench_command.PARTS["search"] == names == tuple(search_page.FULL) == tuple(search_page.QUICK)


@pytest.mark.parametrize("part", [name for name, _, _ in search_page.PARTS if name != "spark"])
def test_quick_parts(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--quick", "--only", part]) == 0
    page = capsys.readouterr().out
    assert page.startswith("## search\n") and page.count("\n### ") == 1 and page.count("\n| ---") == 1


def test_ours_has_the_results_of_the_paper() -> None:
    trace = SearchTrace(hours=0.1, streams=5, values=100, frequency=0.03, window=3)
    ours, mesh = run_ours(trace), run_mesh("PM", trace)
    assert ours.results == mesh.results > 10
    assert ours.peak_rows <= 5 * 360


def test_queries_are_different_pairs_and_have_results() -> None:
    queries = pair_searches(200, 60, seed=3)
    assert len({query.partition("SEARCH")[2] for query in queries}) == 200
    trace = SearchTrace(hours=0.05, streams=5)
    texts = rare_texts(trace, 60, 0.2)
    assert 0.15 < np.mean([text != "" for text in texts.to_pylist()]) < 0.25
    results = [int(row[2]) for row in many_queries((4,), 300, 0.3).rows[1:]]
    assert min(results) > 3


def test_the_spark_part_leaves_out_the_beginning() -> None:
    seen: list[tuple[int, int]] = []

    def runner(title: str, module: str, script: str, rows: int, warm: int) -> BatchCost:
        seen.append((rows, warm))
        return BatchCost(6, 50_000.0, 20.0, 1.0, 2.0, 100.0, 700)

    rows = on_spark([(4, 3_000)], hours=0.5, runner=runner).rows[1:]
    assert seen == [(200, 4)]  # of each stream; of nine micro-batches
    assert rows[0][3:] == ("1.00", "5.4", "5.4")


def test_a_part_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--quick", "--only", "curves"]) == 1
    assert "'search' has no part 'curves'" in capsys.readouterr().err
