"""Sub-queries that are values, up to fifteen in one SELECT: at the end of input the rows are DuckDB's."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from seine.run_local import run_local
from tests.support.seeds import seeds

_COLUMNS = ("quantity", "discount", "paid")
_THRESHOLDS = (74129, 122840, 56580, 10097, 165306)
_AGGREGATES = ("COUNT(*)", "COUNT(paid)", "AVG(discount)", "SUM(paid)", "MAX(quantity)")
Tuples = list[dict[str, Any]]


def _buckets(thresholds: tuple[int, ...]) -> str:
    """A query of the form of TPC-DS 9: a count for each range of quantities chooses one of two averages."""
    parts = []
    for number, threshold in enumerate(thresholds, 1):
        rows = f"FROM sale WHERE quantity BETWEEN {20 * number - 19} AND {20 * number}"
        parts.append(
            f"CASE WHEN (SELECT COUNT(*) {rows}) > {threshold} THEN (SELECT AVG(discount) {rows})"
            f" ELSE (SELECT AVG(paid) {rows}) END AS bucket{number}"
        )
    return f"SELECT {', '.join(parts)} FROM reason WHERE id = 1"


def _random_query(random: Random) -> str:
    """A SELECT of one to fifteen values, alone or in CASE."""

    values = [_value(random) for _ in range(random.randint(1, 15))]
    outputs = []
    while values:
        if len(values) > 2 and random.random() < 0.7:
            one, two, three = (values.pop() for _ in range(3))
            outputs.append(f"CASE WHEN {one} > {random.choice([0, 1, 5])} THEN {two} ELSE {three} END")
        else:
            outputs.append(values.pop())
    named = ", ".join(f"{output} AS v{i}" for i, output in enumerate(outputs))
    return f"SELECT {named} FROM reason WHERE id = 1"


def _value(random: Random) -> str:
    low = random.choice([1, 21, 41])
    ranges = [f"WHERE quantity BETWEEN {low} AND {low + 19}"] * 3
    where = random.choice([*ranges, "", "WHERE quantity > 200", "WHERE discount > paid"])
    return f"(SELECT {random.choice(_AGGREGATES)} FROM sale {where})"


def _rows(answers: list[Any]) -> Counter:
    return Counter(tuple(None if one is None else round(float(one), 6) for one in row) for row in answers)


def _by_duckdb(query: str, sales: Tuples, reasons: Tuples) -> Counter:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE sale (quantity INT, discount DECIMAL(7,2), paid DECIMAL(7,2))")
    connection.execute("CREATE TABLE reason (id INT)")
    for sale in sales:
        connection.execute("INSERT INTO sale VALUES (?, ?, ?)", [sale[name] for name in _COLUMNS])
    for reason in reasons:
        connection.execute("INSERT INTO reason VALUES (?)", [reason["id"]])
    return _rows(connection.execute(query).fetchall())


def _by_script(folder: Path, query: str, reasons_are: str, **options: Any) -> Counter:
    columns = "quantity INT, discount DECIMAL(7,2), paid DECIMAL(7,2)"
    reason = {
        "a relation": "RELATION reason (id INT)",
        "a stream": "STREAM reason (id INT, ts BIGINT) TIMESTAMP BY ts",
    }
    (folder / "s.sql").write_text(
        f"CREATE STREAM sale ({columns}, ts BIGINT) TIMESTAMP BY ts FROM 'sale.jsonl';\n"
        f"CREATE {reason[reasons_are]} FROM 'reason.jsonl';\n"
        f"CREATE QUERY q WITH (unbounded = true) AS {query};\n"
    )
    net: Counter = Counter()
    for record in run_local(str(folder / "s.sql"), **options).records:
        net[tuple(record["row"].values())] += 1 if record["op"] == "+" else -1
    return _rows([row for row, times in net.items() for _ in range(times)])


def _write(path: Path, tuples: Tuples, first: int | None, random: Random) -> None:
    times = sorted(random.randrange(20) for _ in tuples)
    stamped = [
        one if first is None else {**one, "ts": first + time} for one, time in zip(tuples, times, strict=True)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in stamped))


def _sales(random: Random, count: int) -> Tuples:
    def cents() -> float | None:
        return None if random.random() < 0.2 else random.randint(1, 10_000) / 100

    quantities = [*range(1, 61), None]
    return [
        dict(zip(_COLUMNS, (random.choice(quantities), cents(), cents()), strict=True)) for _ in range(count)
    ]


@pytest.mark.parametrize("reasons_are", ["a relation", "a stream"])
@pytest.mark.parametrize("count", [0, 1, 40])
@pytest.mark.parametrize("thresholds", [_THRESHOLDS, (0, 5, 0, 5, 0)])
def test_fifteen_values(tmp_path: Path, reasons_are: str, count: int, thresholds: tuple[int, ...]) -> None:
    """Of TPC-DS 9; without a single sale there is a row too, of NULLs."""
    random, query = Random(count), _buckets(thresholds)
    sales, reasons = _sales(random, count), [{"id": 1}, {"id": 2}]
    _write(tmp_path / "sale.jsonl", sales, 0, random)
    _write(tmp_path / "reason.jsonl", reasons, None if reasons_are == "a relation" else 0, random)
    expected = _by_duckdb(query, sales, reasons)
    assert expected.total() == 1
    assert _by_script(tmp_path, query, reasons_are) == expected


@seeds(24)
def test_random_values(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    query = _random_query(random)
    sales, reasons = (
        _sales(random, random.choice([0, 1, 5, 30])),
        [{"id": i} for i in random.choice([[1], [2, 1, 1]])],
    )
    reasons_are = random.choice(["a relation", "a stream"])
    _write(tmp_path / "sale.jsonl", sales, random.choice([-100, 0, 1000]), random)
    first = None if reasons_are == "a relation" else random.choice([-100, 0, 1000])
    _write(tmp_path / "reason.jsonl", reasons, first, random)
    expected = _by_duckdb(query, sales, reasons)
    assert expected.total() == sum(reason["id"] == 1 for reason in reasons)
    options = {"batch_rows": random.choice([None, 1, 3]), "buckets": random.choice([1, 2, 4])}
    assert _by_script(tmp_path, query, reasons_are, **options) == expected
