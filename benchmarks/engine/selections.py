"""Benchmark `selections`: few and many selection queries over one stream, with equally many matches.

Queries come in four shapes, a quarter each. In every micro-batch exactly one tuple in `RARITY` satisfies
a query of a given shape, and it satisfies one of them alone, however many there are: values are drawn from a
domain that grows with the queries. So only the cost of having more queries can grow.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from benchmarks.harness.measure import BatchCost
from benchmarks.harness.side import SEINE, Runner, apart
from benchmarks.harness.table import Table
from benchmarks.workloads.keyed_streams import write_stream
from seine.algebra.arrays import IntArray

RARITY = 20
WIDTH = 10  # of an interval
SHAPES = ("equal", "between", "text", "refined")
_STREAM = (
    "CREATE STREAM reading (k BIGINT, level BIGINT, city STRING, g BIGINT, w DOUBLE, ts BIGINT) "
    "TIMESTAMP BY ts FROM '{folder}/reading' FORMAT PARQUET;\n"
)
_QUERY = "CREATE QUERY {name} AS SELECT k, level, ts FROM reading WHERE {predicate};\n"


def predicate(shape: str, i: int) -> str:
    """The condition of query i of a shape.

    >>> [predicate(shape, 7) for shape in SHAPES]
    ['k = 7', 'level BETWEEN 70 AND 79', "city = 'city 7'", 'g = 7 AND w > 0.07']
    """
    if shape == "equal":
        return f"k = {i}"
    if shape == "between":
        return f"level BETWEEN {i * WIDTH} AND {i * WIDTH + WIDTH - 1}"
    if shape == "text":
        return f"city = 'city {i}'"
    return f"g = {i} AND w > {i % 50 / 100}"


def selections_script(folder: str, queries: int) -> str:
    """So many queries, a quarter of each shape."""
    return _STREAM.format(folder=folder) + "".join(
        _QUERY.format(name=f"{shape}_{i}", predicate=predicate(shape, i))
        for shape in SHAPES
        for i in range(queries // len(SHAPES))
    )


def readings(random: np.random.Generator, batch: int, rows: int, queries: int) -> pa.Table:
    """The tuples of one micro-batch, for so many queries."""
    each = queries // len(SHAPES)
    city = _values(random, rows, each)
    hit = random.permutation(rows) < rows // RARITY
    return pa.table(
        {
            "k": _values(random, rows, each),
            "level": _values(random, rows, each) * WIDTH + random.integers(0, WIDTH, rows),
            "city": pa.array(np.char.add("city ", city.astype(str))),
            "g": random.integers(0, each, rows),
            "w": np.where(hit, 0.5, -1.0) + random.random(rows) / 2,
            "ts": np.arange(rows) + batch * rows,
        }
    )


def _values(random: np.random.Generator, rows: int, each: int) -> IntArray:
    """Numbers of which one in RARITY is below `each`, the others up to RARITY times that."""
    hit = random.permutation(rows) < rows // RARITY
    return np.where(hit, random.integers(0, each, rows), random.integers(each, RARITY * each, rows))


def main(batches: int, rows: int, counts: Sequence[int] = (100, 100_000), runner: Runner = apart) -> Table:
    """The table of the selection benchmark."""
    return tabulate({queries: measure(queries, batches, rows, runner) for queries in counts})


def measure(queries: int, batches: int, rows: int, runner: Runner) -> BatchCost:
    """Run so many queries; building and loading their network falls into warming up."""
    random = np.random.default_rng(7)
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        write_stream(folder, "reading", (readings(random, batch, rows, queries) for batch in range(batches)))
        path = os.path.join(folder, "selections.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write(selections_script(folder, queries))
        return runner(f"selections, {queries:,} queries", SEINE, path, rows, batches // 2)


def tabulate(costs: dict[int, BatchCost]) -> Table:
    """One row a number of queries; the ratio is to the throughput of the fewest."""
    table = Table("queries", "rows/s", "CPU-s per million rows", "matches per batch", "throughput ratio")
    fewest = costs[min(costs)]
    for queries, cost in costs.items():
        table.add(
            f"{queries:,}",
            f"{cost.rows_per_second:,.0f}",
            f"{cost.cpu_per_million:.1f}",
            f"{cost.out_per_batch:,.0f}",
            f"{cost.rows_per_second / fewest.rows_per_second:.2f}x",
        )
    return table
