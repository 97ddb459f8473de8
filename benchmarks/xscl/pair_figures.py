"""Figures 8 to 15 of MMQJP: very many queries over two documents with equal strings in equal places.

To measure the join and not the overhead of a call, many such pairs are matched at once, each with strings of
its own; costs are a pair's. Sequential evaluation gets the same batch.

Cites: MMQJP 6.1, 6.2
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.harness.table import Table
from benchmarks.sides.on_document_join import DocumentJoinSide, join_cost
from benchmarks.sides.on_templates import ENGINES, duckdb_cost, engine_cost, same_results
from benchmarks.template_engines.view_engine import ViewEngine
from benchmarks.template_engines.witness_relations import DocumentBatch
from benchmarks.workloads.document_queries import (
    DEFAULT_LEAVES,
    DEFAULT_QUERIES,
    DEFAULT_ZIPF,
    DrawnQueries,
    draw_queries,
)
from benchmarks.workloads.document_schemas import schema_batch, three_levels, two_levels

_BRANCHING = 4  # of the schema with three levels
DEFAULT_JOINS = 4  # K, there
_REPEATS = 3
_SIDES = ("sequential", "templates", "views")


def _two_levels(
    queries: int = DEFAULT_QUERIES, leaves: int = DEFAULT_LEAVES, zipf: float = DEFAULT_ZIPF
) -> DrawnQueries:
    return draw_queries(1, two_levels(leaves), queries, leaves, zipf)


def _three_levels(
    queries: int = DEFAULT_QUERIES, joins: int = DEFAULT_JOINS, zipf: float = DEFAULT_ZIPF
) -> DrawnQueries:
    return draw_queries(1, three_levels(_BRANCHING), queries, joins, zipf)


def figure_8(counts: Sequence[int], pairs: int) -> Table:
    """By the number of queries, two levels."""
    return _table("queries", counts, lambda count: _two_levels(queries=count), pairs)


def figure_9(leaves: Sequence[int], pairs: int) -> Table:
    """By the number of leaves, two levels."""
    return _table("leaves", leaves, lambda count: _two_levels(leaves=count), pairs)


def figure_10(zipfs: Sequence[float], pairs: int) -> Table:
    """By Zipf's parameter, two levels."""
    return _table("Zipf", zipfs, lambda zipf: _two_levels(zipf=zipf), pairs)


def figure_11(counts: Sequence[int], pairs: int) -> Table:
    """By the number of queries, three levels."""
    return _table("queries", counts, lambda count: _three_levels(queries=count), pairs)


def figure_12(joins: Sequence[int], pairs: int) -> Table:
    """By the most value joins of a query, three levels."""
    return _table("K", joins, lambda most: _three_levels(joins=most), pairs)


def figure_13(zipfs: Sequence[float], pairs: int) -> Table:
    """By Zipf's parameter, three levels."""
    return _table("Zipf", zipfs, lambda zipf: _three_levels(zipf=zipf), pairs)


def figures_14_15(queries: int, pairs: int) -> Table:
    """Views or not, and what each view costs."""
    heading = (
        "schema",
        "number of templates",
        "without views",
        "R_vj",
        "R_L",
        "R_R",
        "CQ_T over them",
        "gain",
    )
    table = Table(*heading)
    for name, drawn in (("two levels", _two_levels(queries)), ("three levels", _three_levels(queries))):
        relations = drawn.relations(None)
        compiled = relations.compiled()
        held, arriving = _documents(drawn, relations.pair_codes, pairs)
        plain = engine_cost(ENGINES["templates"](compiled), held, [arriving], 1)
        engine = ViewEngine(compiled)
        same_results(plain, engine_cost(engine, held, [arriving], 1))
        spent = (engine.times.value_joins, engine.times.left, engine.times.right, engine.times.queries)
        parts = [1e6 * seconds / pairs for seconds in spent]
        gain = f"{plain.microseconds / sum(parts):.1f}x"
        table.add(name, str(len(compiled)), str(plain), *(f"{part:,.1f}" for part in parts), gain)
    return table


def _table(what: str, values: Sequence[float], draw: Callable[[Any], DrawnQueries], pairs: int) -> Table:
    """A line for each value of a parameter: CPU microseconds a pair of documents."""
    ratios = ("sequential / templates", "sequential / views", "sequential / ours")
    table = Table(
        what,
        "number of templates",
        "mirror images as one",
        "distinct queries",
        *(*_SIDES, "ours", "DuckDB"),
        *ratios,
        "R_out a pair",
    )
    for value in values:
        print(f"    {what} {value:,}", file=sys.stderr, flush=True)
        drawn = draw(value)
        relations = drawn.relations(None)
        compiled = relations.compiled()
        held, arriving = _documents(drawn, relations.pair_codes, pairs)
        costs = [engine_cost(ENGINES[side](compiled), held, [arriving], _REPEATS) for side in _SIDES]
        ours = [
            join_cost(DocumentJoinSide(compiled, relations.pair_codes), held, [arriving])
            for _ in range(_REPEATS)
        ]
        costs.append(min(ours, key=lambda cost: cost.microseconds))
        database = duckdb_cost(compiled, held, arriving, 1)
        same_results(*costs, *([database] if database else []))
        sequential, *shared = costs
        distinct = sum(len(relation.windows) for relation in compiled)
        table.add(
            f"{value:,}",
            str(len(compiled)),
            str(len({min(one.template, one.template.mirrored) for one in compiled})),
            f"{distinct:,}",
            *map(str, costs),
            str(database) if database else "not installed",
            *(f"{sequential.microseconds / cost.microseconds:.1f}x" for cost in shared),
            f"{shared[0].rows:,.0f}",
        )
    return table


def _documents(
    drawn: DrawnQueries, pair_codes: Mapping[tuple[str, str], int], pairs: int
) -> tuple[DocumentBatch, DocumentBatch]:
    """The first and the second documents of so many pairs."""
    leaves = len(drawn.schema.leaves)
    strings = np.arange(pairs * leaves).reshape(pairs, leaves)
    first, second = (np.full(pairs, time) for time in (0, 1))
    return (
        schema_batch(drawn.schema, pair_codes, 0, first, strings),
        schema_batch(drawn.schema, pair_codes, pairs, second, strings),
    )
