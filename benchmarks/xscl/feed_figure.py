"""Figure 16 of MMQJP: items of web feeds against 10 to 1,000,000 queries, with an infinite window.

All items but the last are held; the last ones are matched in batches against everything before them, the
dearest part of the stream. Of many queries, sequential evaluation gets a sample, and its cost is taken in
proportion: each query does the same work again.

Cites: MMQJP 6.3
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.harness.table import Table
from benchmarks.sides.on_document_join import DocumentJoinSide, join_cost
from benchmarks.sides.on_templates import ENGINES, engine_cost, same_results
from benchmarks.template_engines.sequential_engine import SequentialEngine
from benchmarks.template_engines.witness_relations import DocumentBatch
from benchmarks.workloads.document_queries import DrawnQueries, draw_queries
from benchmarks.workloads.document_schemas import schema_batch
from benchmarks.workloads.feed_items import FeedItems, make_feed

_SIDES = ("templates", "views", "view cache")
_MOST_SAMPLED = 40_000_000  # queries times items that are evaluated one by one: each has an index entry


def figure_16(
    counts: Sequence[int], items: int, measured: int, batch: int, sequential: int, window: int | None = None
) -> Table:
    """Items a second by the number of queries; `measured` last items, and fewer for sequential evaluation."""
    feed = make_feed(1, items)
    table = Table(
        *(
            "queries",
            "number of templates",
            "distinct queries",
            "sequential: µs an item",
            "µs a query and item",
            *(f"{side}: µs an item" for side in (*_SIDES, "ours")),
        ),
        *("ours: items/s", "sequential / views", "sequential / ours", "R_out an item", "records an item"),
    )
    for count in counts:
        print(f"    {count:,} queries", file=sys.stderr, flush=True)
        drawn = draw_queries(1, feed.schema, count, len(feed.schema.leaves))
        relations = drawn.relations(window)
        compiled = relations.compiled()
        costs = []
        for side in _SIDES:
            held, *arriving = _cut(feed, relations.pair_codes, measured, batch)
            costs.append(engine_cost(ENGINES[side](compiled), held, arriving, 1))
        held, *arriving = _cut(feed, relations.pair_codes, measured, batch)
        ours = join_cost(DocumentJoinSide(compiled, relations.pair_codes), held, arriving)
        same_results(*costs, ours)
        alone = _sequential(drawn, feed, window, sequential)
        views = costs[1]
        table.add(
            *(f"{count:,}", str(len(compiled)), f"{sum(len(one.windows) for one in compiled):,}"),
            *(
                f"{alone:,.0f}",
                f"{alone / count:.3f}",
                *map(str, costs),
                str(ours),
                f"{1e6 / ours.microseconds:,.0f}",
            ),
            *(f"{alone / cost.microseconds:,.0f}x" for cost in (views, ours)),
            *(f"{views.rows:,.1f}", f"{views.records:,.0f}"),
        )
    return table


def _cut(
    feed: FeedItems, pair_codes: Mapping[tuple[str, str], int], measured: int, batch: int
) -> Iterator[DocumentBatch]:
    """The items that are held, and then the measured ones in batches."""
    items = len(feed.strings)
    for first, last in (
        (0, items - measured),
        *((n, min(n + batch, items)) for n in range(items - measured, items, batch)),
    ):
        yield schema_batch(feed.schema, pair_codes, first, np.arange(first, last), feed.strings[first:last])


def _sequential(drawn: DrawnQueries, feed: FeedItems, window: int | None, measured: int) -> float:
    """Microseconds an item of queries one by one: of a sample of them, in proportion."""
    count = sum(map(len, drawn.joins))
    step = max(1, count * len(feed.strings) // _MOST_SAMPLED)
    sample = replace(drawn, joins=tuple(edges[::step] for edges in drawn.joins))
    relations = sample.relations(window)
    engine = SequentialEngine(relations.compiled())
    held, arriving = _cut(feed, relations.pair_codes, measured, measured)
    return engine_cost(engine, held, [arriving], 3).microseconds * count / sum(map(len, sample.joins))
