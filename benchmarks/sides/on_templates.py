"""The engines of MMQJP and DuckDB on one workload: CPU microseconds an item, and how many results there are.

What is timed is the matching of arriving documents, as in the paper, not reading them (Stage 1) nor holding
them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.sides.on_duckdb import DuckdbTemplates, is_installed
from benchmarks.template_engines.sequential_engine import SequentialEngine
from benchmarks.template_engines.template_engine import TemplateEngine
from benchmarks.template_engines.template_relation import TemplateRelation
from benchmarks.template_engines.view_cache import ViewCache
from benchmarks.template_engines.view_engine import ViewEngine
from benchmarks.template_engines.witness_relations import DocumentBatch
from seine.errors import RunError

Engine = TemplateEngine | SequentialEngine
CACHED_ROWS = 4_000_000  # of R_L in the view cache
ENGINES: dict[str, Callable[[Sequence[TemplateRelation]], Engine]] = {
    "sequential": SequentialEngine,
    "templates": TemplateEngine,
    "views": ViewEngine,
    "view cache": lambda relations: ViewEngine(relations, ViewCache(CACHED_ROWS)),
}


@dataclass(frozen=True)
class MatchCost:
    """CPU microseconds an arriving item; rows of R_out; records, where each query of a row counts."""

    microseconds: float
    rows: float
    records: float
    single: bool = False  # of queries one by one: each row is a record

    def __str__(self) -> str:
        return f"{self.microseconds:,.1f}" if self.microseconds < 1000 else f"{self.microseconds:,.0f}"


def engine_cost(
    engine: Engine, held: DocumentBatch, batches: Sequence[DocumentBatch], repeats: int
) -> MatchCost:
    """The cost of batches that arrive when others are held, the least of several repeats each."""
    engine.hold(held)
    seconds = rows = records = 0.0
    for batch in batches:
        arriving = engine.hold(batch)
        spent = []
        for _ in range(repeats):
            began = time.process_time()
            results = engine.match(arriving)
            spent.append(time.process_time() - began)
        seconds += min(spent)
        rows += sum(map(len, results))
        records += sum(result.records for result in results)
    items = sum(len(batch.timestamps) for batch in batches)
    single = isinstance(engine, SequentialEngine)
    return MatchCost(1e6 * seconds / items, rows / items, records / items, single)


def duckdb_cost(
    relations: Sequence[TemplateRelation], held: DocumentBatch, batch: DocumentBatch, repeats: int
) -> MatchCost | None:
    """The cost of one batch on DuckDB, by one thread; None if it is not installed."""
    if not is_installed():
        return None
    database = DuckdbTemplates(relations)
    database.load(held, batch)
    rows, seconds = min((database.match() for _ in range(repeats)), key=lambda outcome: outcome[1])
    items = len(batch.timestamps)
    return MatchCost(1e6 * seconds / items, rows / items, float("nan"))


def same_results(*costs: MatchCost) -> None:
    """Raise unless all sides had as many results: rows of R_out, or records of single queries."""
    rows = {round(cost.rows * 1e6) for cost in costs if not cost.single}
    records = {round(cost.records * 1e6) for cost in costs if cost.records == cost.records}
    if len(rows) > 1 or len(records) > 1:
        raise RunError(
            f"sides of a benchmark disagree: {[(cost.rows, cost.records) for cost in costs]} a pair"
        )
