"""Functions that a program declares itself, on Spark: one that hangs is its query's affair alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import seine
from seine.algebra import user_functions
from seine.errors import RunError

pytestmark = [pytest.mark.spark, pytest.mark.long]
ROWS = [{"n": n, "ts": ts} for ts, n in enumerate([1, 5, 13, 7, 2])]


@pytest.fixture
def declared() -> Iterator[list[user_functions.UserFunction]]:
    """Functions of this program: defined here, so that workers get them by value."""
    step = 1

    @seine.function
    def next_of(n: int) -> int:
        return n + step

    @seine.function
    def stuck(n: int) -> int:
        while n == 13:
            time.sleep(1)
        return n

    yield [next_of, stuck]
    for one in (next_of, stuck):
        user_functions.unregister(one.name)


def test_a_function_that_hangs_beside_neighbours(
    spark: SparkSession, tmp_path: Path, declared: list[user_functions.UserFunction]
) -> None:
    (tmp_path / "in").mkdir()
    for number, row in enumerate(ROWS):
        (tmp_path / "in" / f"{number}.json").write_text(json.dumps(row) + "\n")
    engine = seine.Engine(spark, str(tmp_path / "state"))
    frame = spark.readStream.schema("n BIGINT, ts BIGINT").option("maxFilesPerTrigger", 10)
    engine.stream("s", frame.json(str(tmp_path / "in")), timestamp="ts")
    for one in declared:
        engine.function(one)
    engine.register(
        "CREATE QUERY hung AS SELECT stuck(n) AS m FROM s;"
        "CREATE QUERY shifted AS SELECT next_of(n) AS m FROM s WHERE next_of(n) > 2;"
        "CREATE QUERY plain AS SELECT n AS m FROM s;"
    )
    records: list[dict[str, Any]] = []
    running = engine.start(records.append, available_now=True, function_seconds=8)
    with pytest.raises(
        RunError, match="query hung failed: function stuck took longer than 8 s for a batch of"
    ):
        running.wait()
    answers = sorted((record["query"], record["row"]["m"]) for record in records)
    expected = [("plain", row["n"]) for row in ROWS] + [
        ("shifted", row["n"] + 1) for row in ROWS if row["n"] > 1
    ]
    assert answers == sorted(expected)
