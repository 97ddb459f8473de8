"""Final rows of outer, semi and anti joins against brute force: pairs, and each lonely tuple once."""

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
WINDOWS = {"a": 10, "b": 4}
QUERIES = {
    "pairs": "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k",
    "bounded": "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND a.x < b.y",
    "mirrored": "SELECT a.x, b.y FROM b RIGHT JOIN a ON a.k = b.k",
    "both": "SELECT a.x, b.y FROM a FULL JOIN b ON a.k = b.k",
    "semi": "SELECT x FROM a WHERE k IN (SELECT k FROM b)",
    "anti": "SELECT x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k)",
    "unlisted": "SELECT x FROM a WHERE k NOT IN (SELECT k FROM b)",
}


@seeds(3)
def test_final_rows_are_those_of_whole_lives(seed: int) -> None:
    rng = Random(seed)
    tuples = {name: [*_tuples(rng, "x" if name == "a" else "y")] for name in WINDOWS}
    expected = {name: Counter(_expected(name, tuples["a"], tuples["b"])) for name in QUERIES}
    assert all(sum(records.values()) > 3 for records in expected.values())
    with tempfile.TemporaryDirectory() as name:
        path = _write(Path(name), tuples)
        for batch_rows, sharing in ((None, "all"), (rng.randint(1, 5), "off"), (rng.randint(6, 20), "all")):
            run = run_local(str(path), batch_rows=batch_rows, sharing=CONFIGURATIONS[sharing])
            records: dict[str, Counter] = {query: Counter() for query in QUERIES}
            for record in run.records:
                assert record["op"] == "+"
                row = tuple(record["row"].values())
                records[record["query"]][record["t_start"], record["t_end"], row] += 1
            assert records == expected


def _tuples(rng: Random, value: str) -> Iterator[Tuple]:
    time = 0
    for _ in range(40):
        time += rng.choice([0, 0, 1, 2, 6])
        yield {"k": rng.choice([1, 2, 3, 4, None]), value: rng.randint(0, 3), "ts": time}


def _expected(name: str, lefts: list[Tuple], rights: list[Tuple]) -> Iterator[tuple[Any, ...]]:
    """The records of a query: start, end, row."""
    for a in lefts:
        start, end = a["ts"], a["ts"] + WINDOWS["a"]
        near = [b for b in rights if b["ts"] < end and start < b["ts"] + WINDOWS["b"]]
        met = [b for b in near if _meet(name, a, b)]
        if name == "semi" and met:
            yield max(start, min(b["ts"] for b in met)), end, (a["x"],)
        if name in ("anti", "unlisted") and not met:
            yield start, end, (a["x"],)
        if name in ("semi", "anti", "unlisted"):
            continue
        for b in met:
            yield max(start, b["ts"]), min(end, b["ts"] + WINDOWS["b"]), (a["x"], b["y"])
        if not met:
            yield start, end, (a["x"], None)
    for b in rights if name == "both" else []:
        start, end = b["ts"], b["ts"] + WINDOWS["b"]
        if not any(_meet(name, a, b) and a["ts"] < end and start < a["ts"] + WINDOWS["a"] for a in lefts):
            yield start, end, (None, b["y"])


def _meet(name: str, a: Tuple, b: Tuple) -> bool:
    if a["k"] is None or b["k"] is None:
        return name == "unlisted"
    return bool(a["k"] == b["k"] and (name != "bounded" or a["x"] < b["y"]))


def _write(folder: Path, tuples: dict[str, list[Tuple]]) -> Path:
    script = ""
    for name, window in WINDOWS.items():
        value = "x" if name == "a" else "y"
        script += (
            f"CREATE STREAM {name} (k BIGINT, {value} BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW {window} "
        )
        script += f"FROM '{name}.jsonl';\n"
        lines = "".join(json.dumps(one) + "\n" for one in tuples[name])
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    for query, text in QUERIES.items():
        script += f"CREATE QUERY {query} WITH (emit = 'final') AS {text};\n"
    path = folder / "script.sql"
    path.write_text(script, encoding="utf-8")
    return path
