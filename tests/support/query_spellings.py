"""Families of queries that are one computation in several wordings, and the streams that they read."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

STREAMS = """\
CREATE STREAM f (id BIGINT, type BIGINT, sacct STRING, racct STRING, bank BIGINT, branch BIGINT,
  amount DOUBLE, damt DECIMAL(15,2), d DATE, ts TIMESTAMP, ok BOOLEAN, n INT, day BIGINT)
  TIMESTAMP BY day WINDOW 20 FROM 'f.jsonl';
CREATE STREAM g (id BIGINT, type BIGINT, bank BIGINT, amount DOUBLE, day BIGINT)
  TIMESTAMP BY day WINDOW 20 FROM 'g.jsonl';
CREATE STREAM h (id BIGINT, type BIGINT, bank BIGINT, amount DOUBLE, day BIGINT)
  TIMESTAMP BY day WINDOW 20 FROM 'h.jsonl';
CREATE RELATION r (bank BIGINT, name STRING, country STRING) FROM 'r.csv' FORMAT CSV;
"""


def read_families() -> dict[str, list[str]]:
    """The families by name."""
    families: dict[str, list[str]] = {}
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("== "):
            queries = families.setdefault(line[3:], [])
        elif line and not line.startswith("#"):
            queries.append(line)
    return families


def script_of(queries: list[str]) -> str:
    """A script of streams and queries q0, q1, ..."""
    return STREAMS + "".join(f"CREATE QUERY q{i} AS {sql};\n" for i, sql in enumerate(queries))


def write_streams(folder: Path, seed: int, rows: int) -> None:
    """Few different values, so that joins and groups meet often; some are NULL."""
    rng = Random(seed)
    for name in "fgh":
        days = sorted(rng.randint(0, 30) for _ in range(rows))
        lines = [json.dumps(_tuple(rng, day, name == "f")) for day in days]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    relation = [f"{bank},bank{bank},{'xy'[bank % 2]}" for bank in range(5)]
    (folder / "r.csv").write_text("\n".join(["bank,name,country", *relation]) + "\n", encoding="utf-8")


def _tuple(rng: Random, day: int, long: bool) -> dict[str, object]:
    def value(*values: object) -> object:
        return None if rng.random() < 0.05 else rng.choice(values)

    row = {
        "id": value(*range(9)),
        "type": value(1, 2, 3, 3),
        "bank": value(0, 1, 2, 3),
        "amount": value(-1.5, 0.0, -0.0, 3.0, 6.0),
        "day": day,
    }
    if not long:
        return row
    return row | {
        "sacct": value("a", "b", "abc", ""),
        "racct": value("a", "b", "abc", ""),
        "branch": value(0, 1, 2, 3),
        "damt": value(0.99, 1, 1.01, 1.5, 3, 400, 800),
        "d": value("2020-01-01", "2020-01-02", "2019-12-31"),
        "ts": value("2020-01-01 00:00:00", "2020-01-02 00:00:00"),
        "ok": value(True, False),
        "n": value(0, 1, 2),
    }
