"""A query whose functions take too much fails alone: neighbours at the same nodes have their answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seine.algebra.expressions import Call, Column, Literal, Parameter
from seine.algebra.types import INT, STRING
from seine.evaluate.kernels.spending import Called
from seine.operators.state.work_budget import CallsSpent, WorkBudget
from seine.run_local import run_local
from seine.runtime.culprits import _is_made

STREAMS = """
CREATE STREAM s (a STRING, b STRING, n INT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 's.jsonl';
CREATE STREAM r (k STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'r.jsonl';
"""
GOOD = """
CREATE QUERY counted AS SELECT ts, regexp_count(a, 'b|a') AS m FROM s;
CREATE QUERY distant AS SELECT ts, levenshtein(b, 'kitten') AS d FROM s WHERE levenshtein(b, 'sitting') > 2;
CREATE QUERY padded AS SELECT ts, lpad(b, 5, 'x') AS p, repeat(b, 2) AS t FROM s;
CREATE QUERY hopped AS SELECT window.start AS w, COUNT(*) AS m FROM s GROUP BY window(ts, 10, 5);
CREATE QUERY joined AS SELECT s.ts, r.k FROM s, r WHERE s.b = r.k AND length(s.a) > 3;
CREATE QUERY grouped AS SELECT b, COUNT(*) AS m FROM s WHERE b LIKE 'x%' GROUP BY b;
"""
SPENDING = {  # the query that fails, and the function that it is told of
    "SELECT ts, regexp_count(a, 'a.*b|a') AS m FROM s": "regexp_count",
    "SELECT ts FROM s WHERE regexp_replace(a, 'a.*b|a', 'b') = 'x'": "regexp_replace",
    "SELECT ts, split(a, 'a.*b|a')[0] AS m FROM s": "split_item",
    "SELECT ts, levenshtein(concat(a, ts), concat(ts, reverse(a), a, a)) AS d FROM s": "levenshtein",
    "SELECT ts FROM s WHERE levenshtein(concat(a, ts), repeat(a, 8)) < 3": "levenshtein",
    "SELECT ts, length(repeat(repeat(a, 10000), 10000)) AS m FROM s": "repeat",
    "SELECT ts, lpad(b, n * 100000, 'x') AS p FROM s": "lpad",
    "SELECT ts FROM s WHERE length(space(n * 10000000)) > 3": "space",
    "SELECT ts, size(array_repeat(b, n * 1000000)) AS m FROM s": "array_repeat",
    "SELECT ts, array_join(split(a, ''), repeat(a, 4)) AS m FROM s": "array_join",
    "SELECT ts, replace(a, 'a', repeat(a, 4)) AS m FROM s": "replace",
    "SELECT ts, regexp_replace(a, 'a', repeat(a, 4)) AS m FROM s": "regexp_replace",
    "SELECT ts, mask(a, 'X', repeat(a, 4)) AS m FROM s": "mask",
    "SELECT ts, format_string('"
    + "%9999s" * 20
    + "', "
    + ", ".join(["b"] * 20)
    + ") AS m FROM s": "format_string",
    "SELECT ts, coalesce(b, repeat('x', 900000)) AS m FROM s": "repeat",
    "SELECT ts, concat(b, repeat('x', 900000)) AS m FROM s": "repeat",
    "SELECT ts, xpath_int(concat('<a>', repeat('<b/>', 2000), '</a>'), 'count(//b[.//c[.//d]])') AS m"
    " FROM s": "xpath_int",
    "SELECT window.start AS w, COUNT(*) AS m FROM s GROUP BY window(ts, 10000, 1)": "window_start",
    "SELECT s.ts FROM s, r WHERE s.b = r.k"
    " AND levenshtein(concat(s.a, s.ts), concat(s.a, s.a, s.a, r.ts)) < 2": "levenshtein",
    "SELECT b, MAX(length(repeat(a, 30000))) AS m FROM s GROUP BY b": "repeat",
}
BUDGET = WorkBudget(bytes=8_000_000, steps=20_000_000)


def answers(folder: Path, text: str, budget: WorkBudget = BUDGET) -> tuple[Counter[str], dict[str, Any]]:
    rows = [{"a": "a" * 4000, "b": f"x{i % 7}", "n": 200, "ts": i} for i in range(60)]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "r.jsonl").write_text(
        "".join(json.dumps({"k": f"x{i % 7}", "ts": i}) + "\n" for i in range(60))
    )
    (folder / "x.sql").write_text(STREAMS + text)
    result = run_local(str(folder / "x.sql"), budget=budget, batch_rows=200)
    records = Counter(json.dumps(record, sort_keys=True) for record in result.records)
    return records, {name: figures.get("failed") for name, figures in result.stats["queries"].items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    records, failed = answers(tmp_path_factory.mktemp("good"), GOOD)
    assert {json.loads(record)["query"] for record in records} == {*failed}
    assert set(failed.values()) == {None}
    return records


@pytest.mark.parametrize(("query", "function"), SPENDING.items())
def test_who_spends_too_much_fails_alone(
    tmp_path: Path, undisturbed: Counter[str], query: str, function: str
) -> None:
    records, failed = answers(tmp_path, f"{GOOD}CREATE QUERY spender AS {query};\n")
    assert f"called {function}, which would" in failed.pop("spender")
    assert set(failed.values()) == {None}
    assert (
        Counter({text: n for text, n in records.items() if json.loads(text)["query"] != "spender"})
        == undisturbed
    )


def test_all_who_spend_fail_and_each_for_its_own(tmp_path: Path, undisturbed: Counter[str]) -> None:
    texts = [*SPENDING][:10]
    queries = "".join(f"CREATE QUERY q{i} AS {text};\n" for i, text in enumerate(texts))
    records, failed = answers(tmp_path, GOOD + queries)
    for i, text in enumerate(texts):
        assert f"called {SPENDING[text]}," in failed.pop(f"q{i}")
    assert set(failed.values()) == {None} and records == undisturbed


def test_a_call_is_known_by_its_form_and_constants() -> None:
    call = Call("regexp_count", (Column(0, STRING), Parameter(1, STRING)), INT)
    wanted = Called("regexp_count", str(call), ("a.*b|a",))
    assert _is_made(call, ["x", "a.*b|a"], wanted)
    assert not _is_made(call, ["a.*b|a", "x"], wanted)
    assert not _is_made(Call("rlike", call.args, INT), ["x", "a.*b|a"], wanted)
    plain = Call("regexp_count", (Column(0, STRING), Literal("a.*b|a", STRING)), INT)
    assert not _is_made(plain, [], wanted) and _is_made(plain, [], Called("regexp_count", str(plain)))


def test_of_calls_the_heaviest_are_told_and_of_one_call_its_heaviest_constants() -> None:
    spent = CallsSpent()
    for width in range(100):
        spent.add(Called("lpad", "lpad(#0, #1)", (str(width),)), 0, 10)
    spent.add(Called("repeat", "repeat(#0, ?0)", ("9",)), 0, 900)
    spent.add(Called("repeat", "repeat(#0, ?0)", ("2",)), 0, 20)
    spent.add(Called("space", "space(#1)"), 10**6, 400)
    heavy = (Called("lpad", "lpad(#0, #1)"), Called("repeat", "repeat(#0, ?0)", ("9",)))
    assert spent.heaviest(1) == heavy
    assert spent.heaviest(0) == (Called("space", "space(#1)"),)
    assert spent.total == (10**6, 2320)


MULTIPLYING = {  # the query of a column t, and the function that it is told of
    "hex": "SELECT length(" + "hex(" * 14 + "t" + ")" * 15 + " AS y FROM s",
    "base64": "SELECT length(" + "base64(" * 25 + "t" + ")" * 26 + " AS y FROM s",
    "json_object": "SELECT length(" + "to_json(named_struct('a', " * 13 + "t" + "))" * 13 + ") AS y FROM s",
    "concat": "SELECT length(z) AS y FROM "
    + "(SELECT overlay(z, z, 1, 0) AS z FROM " * 7
    + "(SELECT t AS z FROM s)"
    + " AS q)" * 7
    + " AS q",
}
IN_LITTLE_MEMORY = """
import json, resource, sys
from seine.operators.state.work_budget import WorkBudget
from seine.run_local import run_local

resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
result = run_local(sys.argv[1], budget=WorkBudget(bytes=int(sys.argv[3])))
failed = {name: figures.get("failed") for name, figures in result.stats["queries"].items()}
print(json.dumps([len(result.records), failed]))
"""


BY_BUDGET, BY_MEMORY = (2 << 30, 5_000_000, "bytes of values"), (1800 << 20, 1 << 30, "MemoryError")


@pytest.mark.parametrize(
    ("function", "address_space", "budget", "words"),
    [
        *((function, *BY_BUDGET) for function in sorted(MULTIPLYING)),
        *((function, *BY_MEMORY) for function in ("hex", "base64", "json_object")),
    ],
)
def test_nested_calls_that_multiply_bytes_fail_alone(
    function: str, address_space: int, budget: int, words: str, tmp_path: Path
) -> None:
    """By the budget, or where the memory is less than that."""
    text = ("\\" if function == "json_object" else "ab") * 50_000
    (tmp_path / "s.jsonl").write_text(
        "".join(json.dumps({"id": i, "t": text, "ts": i}) + "\n" for i in (1, 2))
    )
    good = "".join(f"CREATE QUERY n{i} AS SELECT id + 0 AS y FROM s;\n" for i in range(5))
    (tmp_path / "x.sql").write_text(
        "CREATE STREAM s (id INT, t STRING, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';\n"
        f"{good}CREATE QUERY bad AS {MULTIPLYING[function]};\n"
    )
    command = [
        sys.executable,
        "-c",
        IN_LITTLE_MEMORY,
        str(tmp_path / "x.sql"),
        str(address_space),
        str(budget),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    records, failed = json.loads(done.stdout)
    assert records == 5 * 2
    assert {name for name, reason in failed.items() if reason} == {"bad"}
    assert words in failed["bad"]
