"""Aggregates of pairs, bits and order over random tuples, windows and batches, against DuckDB."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from seine.testing import run_script
from tests.support.seeds import seeds

CALLS = {
    "r": "corr(y, x)",
    "cp": "covar_pop(y, x)",
    "cs": "covar_samp(y, x)",
    "n": "regr_count(y, x)",
    "ax": "regr_avgx(y, x)",
    "ay": "regr_avgy(y, x)",
    "sxx": "regr_sxx(y, x)",
    "syy": "regr_syy(y, x)",
    "sxy": "regr_sxy(y, x)",
    "slope": "regr_slope(y, x)",
    "intercept": "regr_intercept(y, x)",
    "r2": "regr_r2(y, x)",
    "filtered": "covar_pop(y, x) FILTER (WHERE k > 3)",
    "ba": "bit_and(k)",
    "bo": "bit_or(k)",
    "bx": "bit_xor(k)",
    "pc": "percentile_cont(0.3) WITHIN GROUP (ORDER BY x)",
    "pd": "percentile_disc(0.3) WITHIN GROUP (ORDER BY x)",
}
SPELLINGS = {"regr_r2(y, x)": "CASE WHEN regr_sxx(y, x) = 0 THEN NULL ELSE regr_r2(y, x) END"}


def tuples(rng: Random) -> list[dict[str, Any]]:
    def number() -> float | None:
        return rng.choice([None, float(rng.randrange(-9, 9)), round(rng.uniform(-5, 5), 3)])

    return [
        {"g": rng.randrange(3), "y": number(), "x": number(), "k": rng.randrange(16), "ts": ts}
        for ts in sorted(rng.randrange(60) for _ in range(60))
    ]


def same(ours: Any, theirs: Any) -> bool:
    if theirs is None or (isinstance(theirs, float) and math.isnan(theirs)):
        return ours is None
    return bool(ours == pytest.approx(theirs, rel=1e-9, abs=1e-9))


@seeds(4)
def test_answers_are_those_of_duckdb_over_live_tuples(seed: int) -> None:
    rng = Random(seed)
    rows, window = tuples(rng), rng.choice([15, 1000])
    outputs = ", ".join(f"{call} AS {name}" for name, call in CALLS.items())
    script = f"""
        CREATE STREAM s (g BIGINT, y DOUBLE, x DOUBLE, k BIGINT, ts BIGINT) TIMESTAMP BY ts
          WINDOW {window} FROM 'x';
        CREATE QUERY q AS SELECT g, {outputs} FROM s GROUP BY g;"""
    result = run_script(script, batch_rows=rng.choice([3, 17, None]), s=rows)
    alive = pa.Table.from_pylist([row for row in rows if row["ts"] + window > rows[-1]["ts"]])
    texts = ", ".join(f"{SPELLINGS.get(call, call)} AS {name}" for name, call in CALLS.items())
    connection = duckdb.connect()
    connection.register("alive", alive)
    theirs = connection.execute(f"SELECT g, {texts} FROM alive GROUP BY g").fetchall()
    ours = {row["g"]: row for row in result.rows("q")}
    assert len(theirs) == len(ours) > 0
    for group, *values in theirs:
        pairs = {name: (ours[group][name], value) for name, value in zip(CALLS, values, strict=True)}
        assert not {name: pair for name, pair in pairs.items() if not same(*pair)}


def test_texts_are_joined_by_event_time() -> None:
    script = """
        CREATE STREAM s (w STRING, ts BIGINT) TIMESTAMP BY ts LATENESS 9 WINDOW 8 FROM 'x';
        CREATE QUERY q AS SELECT listagg(w, '-') AS all_of, string_agg(DISTINCT w) AS each,
          skewness(ts) AS lean FROM s;"""
    rows = [{"w": w, "ts": ts} for w, ts in (("c", 3), ("a", 1), (None, 4), ("b", 9), ("a", 8), ("b", 10))]
    for size in (1, 2, None):
        [row] = run_script(script, batch_rows=size, s=rows).rows("q")
        assert (row["all_of"], row["each"]) == ("c-a-b-b", "cab")
        assert row["lean"] == pytest.approx(-0.2931, abs=1e-4)


# what Spark 4 gives for (k, x) = (1, 5), (1, 7), (2, NULL)
OF_CONSTANTS = {
    "listagg(x, NULL)": "57",
    "listagg(x, CAST(NULL AS STRING))": "57",
    "string_agg(DISTINCT x, NULL)": "57",
    "listagg(NULL, ',')": None,
    "listagg('a', ',')": "a,a,a",
    "listagg(CAST(NULL AS STRING))": None,
    "min_by(1, x)": 1,
    "min_by(1, 2)": 1,
    "min_by(NULL, x)": None,
    "min_by(x, NULL)": None,
    "max_by(x, NULL)": None,
    "max_by(1, x)": 1,
    "array_agg(1)": [1, 1, 1],
    "array_agg(NULL)": [],
    "array_agg('a')": ["a", "a", "a"],
    "array_agg(1) FILTER (WHERE x > 5)": [1],
    "collect_set(1)": [1],
    "collect_set(NULL)": [],
    "first(1)": 1,
    "last(NULL)": None,
    "any_value('x')": "x",
    "SUM(1)": 3,
    "SUM(NULL)": None,
    "SUM(DISTINCT 1)": 1,
    "AVG(NULL)": None,
    "MIN(NULL)": None,
    "MAX('a')": "a",
    "COUNT(NULL)": 0,
    "COUNT(1)": 3,
    "COUNT(DISTINCT 1)": 1,
    "COUNT(DISTINCT NULL)": 0,
    "COUNT(DISTINCT x, NULL)": 0,
    "STDDEV(1)": 0.0,
    "STDDEV(NULL)": None,
    "VARIANCE(NULL)": None,
    "CORR(x, 1)": None,
    "CORR(NULL, x)": None,
    "COVAR_POP(x, NULL)": None,
    "REGR_SLOPE(x, 1)": None,
    "bool_and(NULL)": None,
    "every(NULL)": None,
    "bool_or(true)": True,
    "count_if(NULL)": 0,
    "count_if(true)": 3,
    "bit_and(NULL)": None,
    "bit_or(3)": 3,
    "bit_xor(3)": 3,
    "MEDIAN(NULL)": None,
    "MEDIAN(3)": 3.0,
    "MODE(3)": 3,
    "MODE(NULL)": None,
    "percentile(NULL, 0.5)": None,
    "percentile_approx(3, 0.5)": 3,
    "approx_count_distinct(NULL)": 0,
    "approx_count_distinct(1)": 1,
    "skewness(NULL)": None,
    "kurtosis(1)": None,
    "try_sum(NULL)": None,
    "try_avg(1)": 1.0,
}


def test_of_nulls_and_constants() -> None:
    calls = ", ".join(f"{call} AS c{i}" for i, call in enumerate(OF_CONSTANTS))
    script = f"""
        CREATE STREAM s (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'x';
        CREATE QUERY q AS SELECT {calls} FROM s;"""
    rows = [{"k": k, "x": x, "ts": ts} for ts, (k, x) in enumerate([(1, 5), (1, 7), (2, None)])]
    [row] = run_script(script, s=rows).rows("q")
    assert {call: row[f"c{i}"] for i, call in enumerate(OF_CONSTANTS)} == OF_CONSTANTS
