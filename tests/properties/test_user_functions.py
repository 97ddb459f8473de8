"""Functions of users in random queries: the answers of plain Python, in any batches, shared or not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import seine
from seine.algebra import user_functions
from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import run_local
from seine.testing import run_script
from tests.support.seeds import seeds


@seine.function(arguments=("BIGINT", "BIGINT"), result="BIGINT")
def spread_of(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.abs(pc.subtract(a, b))


@seine.function(arguments=("STRING",), result="STRING")
def shouted(text: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pc.utf8_upper(text), "!", "")


PYTHON: dict[str, Callable[..., Any]] = {
    "spread_of": lambda a, b: None if a is None or b is None else abs(a - b),
    "shouted": lambda text: None if text is None else f"{text.upper()}!",
}


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    for function in (spread_of, shouted):
        user_functions.register(function)
    yield
    for name in PYTHON:
        user_functions.unregister(name)


@seeds(4)
def test_answers_are_those_of_python(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    rows = [
        {
            "a": _maybe(rng, rng.randrange(9)),
            "b": rng.randrange(9),
            "w": _maybe(rng, rng.choice("xyz")),
            "ts": ts,
        }
        for ts in range(40)
    ]
    bounds = [rng.randrange(6) for _ in range(4)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "script.sql").write_text(_script(bounds), encoding="utf-8")
    expected = _expected(rows, bounds)
    assert all(expected.values())
    for sharing in ("all", "off"):
        size = rng.choice([1, 3, 7, None])
        result = run_local(str(tmp_path / "script.sql"), batch_rows=size, sharing=CONFIGURATIONS[sharing])
        assert _net(result.records) == expected, (sharing, size)


def test_a_function_that_takes_the_place_of_another_is_asked() -> None:
    script = """CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's';
      CREATE QUERY q AS SELECT a, spread_of(3, 1) AS n FROM s WHERE a > spread_of(3, 1);"""
    rows = [{"a": 3, "ts": 1}, {"a": 5, "ts": 2}]
    assert [row["a"] for row in run_script(script, s=rows).rows("q")] == [3, 5]
    user_functions.register(replace(spread_of, call=pc.add))
    assert run_script(script, s=rows).rows("q") == [{"a": 5, "n": 4}]


def _maybe(rng: Random, value: Any) -> Any:
    return None if rng.random() < 0.2 else value


def _script(bounds: list[int]) -> str:
    queries = [
        f"CREATE QUERY far{i} AS SELECT a, shouted(w) AS loud FROM s WHERE spread_of(a, b) >= {bound};\n"
        f"CREATE QUERY many{i} WITH (unbounded = true) AS SELECT shouted(w) AS loud,"
        f" MAX(spread_of(a, b)) AS most FROM s WHERE b >= {bound} GROUP BY shouted(w);"
        for i, bound in enumerate(bounds)
    ]
    stream = "CREATE STREAM s (a BIGINT, b BIGINT, w STRING, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
    return "\n".join([stream, *queries])


def _expected(rows: list[dict[str, Any]], bounds: list[int]) -> dict[str, Counter[str]]:
    answers: dict[str, Counter[str]] = {}
    for i, bound in enumerate(bounds):
        far = [
            {"a": row["a"], "loud": PYTHON["shouted"](row["w"])}
            for row in rows
            if (PYTHON["spread_of"](row["a"], row["b"]) or -1) >= bound
            or PYTHON["spread_of"](row["a"], row["b"]) == bound == 0
        ]
        groups: dict[Any, list[int]] = {}
        for row in rows:
            if row["b"] >= bound:
                spread = PYTHON["spread_of"](row["a"], row["b"])
                groups.setdefault(PYTHON["shouted"](row["w"]), []).extend([] if spread is None else [spread])
        most = [{"loud": loud, "most": max(spreads, default=None)} for loud, spreads in groups.items()]
        answers |= {f"far{i}": _counted(far), f"many{i}": _counted(most)}
    return answers


def _counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


def _net(records: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    net: dict[str, Counter[str]] = {}
    for record in records:
        counts = net.setdefault(record["query"], Counter())
        counts[json.dumps(record["row"], sort_keys=True)] += 1 if record["op"] == "+" else -1
    return {query: +counts for query, counts in net.items()}
