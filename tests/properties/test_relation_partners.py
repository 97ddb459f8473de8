"""Outer, semi and anti joins with a relation against brute force: tuples keep their lives."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import run_local
from tests.support.seeds import seeds

Tuple = dict[str, Any]
WINDOW = 10
QUERIES = {
    "pairs": "SELECT a.x, r.v FROM a LEFT JOIN r ON a.k = r.k",
    "bounded": "SELECT a.x, r.v FROM a LEFT JOIN r ON a.k = r.k AND a.x < r.v",
    "above": "SELECT a.x, r.v FROM r RIGHT JOIN a ON a.k = r.k AND r.v > 1",
    "semi": "SELECT x FROM a WHERE k IN (SELECT k FROM r)",
    "anti": "SELECT x FROM a ANTI JOIN r ON a.k = r.k",
    "unlisted": "SELECT x FROM a WHERE k NOT IN (SELECT r.k FROM r WHERE v > 1)",
}
STREAM = (
    "CREATE STREAM a (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 RETRACTABLE FROM 'a.jsonl';"
)
RELATION = (
    'CREATE RELATION r (k BIGINT, v BIGINT, begin BIGINT, "end" BIGINT) VALID FROM begin TO "end" '
    "FROM 'r.jsonl';"
)


@seeds(5)
def test_tuples_keep_their_lives(seed: int) -> None:
    rng = Random(seed)
    rows, tuples = _relation(rng), [*_tuples(rng)]
    ends = _ends(tuples)
    expected = {name: Counter(_expected(name, tuples, ends, rows)) for name in QUERIES}
    assert all(sum(records.values()) > 3 for records in expected.values())
    with tempfile.TemporaryDirectory() as name:
        path = _write(Path(name), tuples, rows)
        for batch_rows, sharing in ((None, "all"), (rng.randint(1, 5), "off"), (rng.randint(6, 20), "all")):
            run = run_local(str(path), batch_rows=batch_rows, sharing=CONFIGURATIONS[sharing])
            records: dict[str, Counter] = {query: Counter() for query in QUERIES}
            for record in run.records:
                row = tuple(record["row"].values())
                records[record["query"]][record["op"], record["t_start"], record["t_end"], row] += 1
            assert records == expected


def _relation(rng: Random) -> list[Tuple]:
    keys, bounds = [1, 2, 2, 3, None], [None, None, 15, 30]
    return [
        {
            "k": rng.choice(keys),
            "v": rng.randint(0, 3),
            "begin": rng.choice(bounds),
            "end": rng.choice(bounds),
        }
        for _ in range(6)
    ]


def _tuples(rng: Random) -> Iterator[Tuple]:
    time = 0
    for _ in range(40):
        time += rng.choice([0, 0, 1, 2, 4])
        deletion = {"@op": "-"} if rng.random() < 0.25 else {}
        yield {**deletion, "k": rng.choice([1, 2, 3, 4, None]), "x": rng.randint(0, 3), "ts": time}


def _ends(tuples: list[Tuple]) -> dict[int, int]:
    """The early ends of tuples, by their places: a deletion takes the oldest that is alive and equal."""
    ends: dict[int, int] = {}
    for late, deletion in enumerate(tuples):
        for place, one in enumerate(tuples[:late]) if "@op" in deletion else ():
            same = "@op" not in one and (one["k"], one["x"]) == (deletion["k"], deletion["x"])
            if same and place not in ends and one["ts"] <= deletion["ts"] < one["ts"] + WINDOW:
                ends[place] = deletion["ts"]
                break
    return ends


def _expected(
    name: str, tuples: list[Tuple], ends: dict[int, int], relation: list[Tuple]
) -> Iterator[tuple[Any, ...]]:
    """The records of a query: op, start, end, row."""
    for place, a in enumerate(tuples):
        start, end = a.get("ts", 0), ends.get(place, a["ts"] + WINDOW)
        if "@op" in a or end <= start:
            continue
        met = [r for r in relation if _is_active(r, start) and _meet(name, a, r)]
        if name in ("semi", "anti", "unlisted"):
            rows = [(a["x"],)] if bool(met) == (name == "semi") else []
        else:
            rows = [(a["x"], r["v"]) for r in met] or [(a["x"], None)]
        for row in rows:
            yield "+", start, start + WINDOW, row
            if place in ends:
                yield "-", start, end, row


def _is_active(r: Tuple, time: int) -> bool:
    return (r["begin"] is None or r["begin"] <= time) and (r["end"] is None or time < r["end"])


def _meet(name: str, a: Tuple, r: Tuple) -> bool:
    if name in ("above", "unlisted") and r["v"] <= 1:
        return False
    if a["k"] is None or r["k"] is None:
        return name == "unlisted"
    return bool(a["k"] == r["k"] and (name != "bounded" or a["x"] < r["v"]))


def _write(folder: Path, tuples: list[Tuple], relation: list[Tuple]) -> Path:
    for name, lines in (("a", tuples), ("r", relation)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    queries = [f"CREATE QUERY {name} AS {text};" for name, text in QUERIES.items()]
    path = folder / "script.sql"
    path.write_text("\n".join([STREAM, RELATION, *queries]), encoding="utf-8")
    return path
