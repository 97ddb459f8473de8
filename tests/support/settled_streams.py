"""Two streams without windows, out of order within their lateness, and what DuckDB says of their tuples."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import duckdb

Tuple = dict[str, int]
LATENESS = 6
NAMES = ("s", "t")


def random_tuples(rng: Random, count: int) -> dict[str, list[Tuple]]:
    """Of each stream so many tuples, as they arrive."""
    return {name: _late(rng, [_tuple(rng, i) for i in range(count)]) for name in NAMES}


def _tuple(rng: Random, number: int) -> Tuple:
    return {"k": rng.randint(0, 3), "v": rng.randint(0, 9), "ts": number + rng.randint(0, 2)}


def _late(rng: Random, tuples: list[Tuple]) -> list[Tuple]:
    """In an order in which none is too late."""
    latest, arrived = -LATENESS, []
    for one in sorted(tuples, key=lambda one: one["ts"] + rng.randint(0, LATENESS)):
        if one["ts"] >= latest - LATENESS:
            arrived.append(one)
            latest = max(latest, one["ts"])
    return arrived


def write_streams(
    folder: Path, lines: Mapping[str, Sequence[Mapping[str, Any]]], clauses: str = "", query: str = ""
) -> Path:
    """A script that declares the streams, with a query, and their files."""
    folder.mkdir(parents=True, exist_ok=True)
    text = []
    for name, of_stream in lines.items():
        columns = "k BIGINT, v BIGINT, ts BIGINT"
        text.append(
            f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts LATENESS {LATENESS}{clauses}"
            f" FROM '{name}.jsonl';"
        )
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in of_stream))
    path = folder / "script.sql"
    path.write_text("\n".join([*text, query]))
    return path


def answer(
    sql: str, tuples: Mapping[str, Sequence[Tuple]], until: int | None = None
) -> Counter[tuple[Any, ...]]:
    """The rows of a SELECT over all tuples, or those up to an instant."""
    with duckdb.connect() as database:
        for name, rows in tuples.items():
            database.execute(f"CREATE TABLE {name} (k BIGINT, v BIGINT, ts BIGINT)")
            values = [(r["k"], r["v"], r["ts"]) for r in rows if until is None or r["ts"] <= until]
            if values:
                database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", values)
        return Counter(database.execute(sql).fetchall())


def net(records: Sequence[Mapping[str, Any]], until: int | None = None) -> Counter[tuple[Any, ...]]:
    """What records say of the result now, or at an instant."""
    counted: Counter[tuple[Any, ...]] = Counter()
    for record in records:
        if until is None or record["t_start"] is None or record["t_start"] <= until:
            counted[tuple(record["row"].values())] += 1 if record["op"] == "+" else -1
    return Counter({row: count for row, count in counted.items() if count})
