"""Figures 5.1 to 5.8 of the paper, with its parameters: engines beside one another on the same trace.

Cites: SKWS 5
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.harness.table import Table
from benchmarks.sides.on_mesh import SearchRun, run_mesh
from benchmarks.sides.on_search import run_ours
from benchmarks.workloads.search_trace import SearchTrace
from seine.keyword_networks.expanded_schema import rarest_first

OURS = "ours"
OURS_AT_ONCE = "ours, at once"  # in the micro-batches of a run that reads files
_ROWS_AT_ONCE = 50_000


def vary(
    parameter: str, values: Sequence[Any], engines: Sequence[str], fixed: Mapping[str, Any] | None = None
) -> Table:
    """The table of one parameter: results, and of every engine CPU seconds, rows held and joins standing."""
    kinds = ("CPU s", "peak rows", "peak joins")
    table = Table(parameter, "results", *(f"{name}: {kind}" for kind in kinds for name in engines))
    for value in values:
        trace = SearchTrace(**{**(fixed or {}), parameter: value})
        runs = [_run(name, trace) for name in engines]
        table.add(f"{value:,}", _same_results(runs), *_cells(runs))
    return table


def _run(engine: str, trace: SearchTrace) -> SearchRun:
    if engine == OURS_AT_ONCE:
        return run_ours(trace, _ROWS_AT_ONCE)
    return run_ours(trace) if engine == OURS else run_mesh(engine, trace)


def _cells(runs: Sequence[SearchRun]) -> list[str]:
    seconds = [f"{one.seconds:.2f}" for one in runs]
    rows = [f"{one.peak_rows:,}" for one in runs]
    return [*seconds, *rows, *(f"{one.peak_joins:,}" for one in runs)]


def _same_results(runs: Sequence[SearchRun]) -> str:
    """How many results there are; no engine may have more or fewer."""
    (count,) = {one.results for one in runs}
    return f"{count:,}"


def join_order(often: Sequence[float], fixed: Mapping[str, Any] | None = None) -> Table:
    """The table of orders of joining: keywords of unlike frequency; nodes by number or the rarer first."""
    table = Table("k1", "nodes first", "results", "FM: CPU s", "FM: peak rows")
    trace = SearchTrace(**{**(fixed or {}), "keywords": len(often), "more_often": tuple(often)})
    rarest = rarest_first(often)
    for name, order in (("the commonest", rarest[::-1]), ("the rarest", rarest)):
        for first, selective in (("by number", False), ("with more keywords", True)):
            ran = run_mesh("FM", trace, selective=selective, keyword_order=order)
            table.add(name, first, f"{ran.results:,}", f"{ran.seconds:.2f}", f"{ran.peak_rows:,}")
    return table
