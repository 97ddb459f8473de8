"""EXISTS and IN beneath OR and among outputs, against DuckDB over the tuples alive, in any batches."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from seine.errors import SeineError
from seine.testing import run_script
from tests.support.seeds import seeds

WINDOW = 12
STREAMS = f"""
CREATE STREAM a (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW {WINDOW} FROM 'a';
CREATE STREAM b (k BIGINT, y BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW {WINDOW} FROM 'b';
"""
EXISTS = "EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.y > {n})"
CONDITIONS = [
    EXISTS,
    f"NOT {EXISTS}",
    "a.k IN (SELECT k FROM b WHERE y > {n})",
    "a.k NOT IN (SELECT y FROM b)",
]
SELECTS = [
    "SELECT k, x FROM a WHERE x > {n} OR {condition}",
    "SELECT k, x FROM a WHERE {condition} OR x IS NULL OR x = {n}",
    "SELECT k FROM a WHERE k > 1 AND (x < {n} OR ({condition}))",
    "SELECT k, {exists} AS has FROM a WHERE x <> {n}",
    "SELECT k, CASE WHEN {exists} THEN x ELSE -1 END AS v, NOT {exists} AS hasnt FROM a",
    "SELECT SUM(x) AS total FROM (SELECT x FROM a WHERE x > {n} OR {condition}) t",
    "WITH c AS (SELECT k FROM b WHERE y > {n}) SELECT k FROM a WHERE x = 2 OR k IN (SELECT k FROM c)",
]


def tuples(rng: Random, value: str) -> list[dict[str, Any]]:
    times = sorted(rng.randrange(30) for _ in range(25))
    numbers = [None, 0, 1, 2, 3, 4]
    return [{"k": rng.choice(numbers), value: rng.choice(numbers), "ts": ts} for ts in times]


@seeds(8)
def test_answers_are_those_of_duckdb(seed: int) -> None:
    rng = Random(seed)
    inputs = {"a": tuples(rng, "x"), "b": tuples(rng, "y")}
    exists = EXISTS.format(n=rng.randrange(4))
    condition = rng.choice(CONDITIONS).format(n=rng.randrange(4))
    texts = [select.format(n=rng.randrange(4), condition=condition, exists=exists) for select in SELECTS]
    queries = "\n".join(f"CREATE QUERY q{i} AS {text};" for i, text in enumerate(texts))
    result = run_script(STREAMS + queries, batch_rows=rng.choice([1, 4, None]), **inputs)
    now = max(row["ts"] for rows in inputs.values() for row in rows)
    connection = duckdb.connect()
    for name, rows in inputs.items():
        types = pa.schema([(column, pa.int64()) for column in rows[0]])
        connection.register(
            name, pa.Table.from_pylist([row for row in rows if row["ts"] + WINDOW > now], types)
        )
    for i, text in enumerate(texts):
        answer = connection.execute(text)
        names = [column[0] for column in answer.description]
        ours = Counter(tuple(row[name] for name in names) for row in result.rows(f"q{i}"))
        assert ours == Counter(answer.fetchall()), text


def test_too_many_outputs_are_refused() -> None:
    outputs = ", ".join(f"EXISTS (SELECT 1 FROM b WHERE b.k = {i}) AS e{i}" for i in range(4))
    with pytest.raises(SeineError, match="at most 3 EXISTS"):
        run_script(f"{STREAMS} CREATE QUERY q AS SELECT {outputs} FROM a;", a=[], b=[])
