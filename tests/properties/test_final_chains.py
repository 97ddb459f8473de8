"""Final rows of chains of outer, semi and anti joins bounded by ranges of times, against brute force."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import run_local
from seine.safety.verdict import verdict
from tests.support.seeds import seeds

Tuple = dict[str, Any]
_STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts FROM '{name}.jsonl';\n"
    for name in "abcd"
)
_B = "a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 4"
_C = "a.k = c.k AND c.ts BETWEEN a.ts AND a.ts + 6"
_D = "a.k = d.k AND d.ts BETWEEN a.ts - 3 AND a.ts + 3"
_C_OF_B = "b.k = c.k AND c.ts BETWEEN b.ts AND b.ts + 6"
_LONELY = "NOT EXISTS (SELECT 1 FROM {0} WHERE {1})"
QUERIES = {
    "left_left": f"SELECT a.x, b.x AS y, c.x AS z FROM a LEFT JOIN b ON {_B} LEFT JOIN c ON {_C}",
    "left_left_of_b": f"SELECT a.x, b.x AS y, c.x AS z FROM a LEFT JOIN b ON {_B} LEFT JOIN c ON {_C_OF_B}",
    "inner_left": f"SELECT a.x, b.x AS y, c.x AS z FROM a JOIN b ON {_B} LEFT JOIN c ON {_C}",
    "left_inner": f"SELECT a.x, b.x AS y, c.x AS z FROM a LEFT JOIN b ON {_B} JOIN c ON {_C}",
    "bounded": f"SELECT a.x, b.x AS y, c.x AS z FROM a LEFT JOIN b ON {_B} AND b.x > a.x LEFT JOIN c ON {_C}"
    " WHERE a.x > 0",
    "left_left_left": "SELECT a.x, b.x AS y, c.x AS z, d.x AS u FROM a"
    f" LEFT JOIN b ON {_B} LEFT JOIN c ON {_C} LEFT JOIN d ON {_D}",
    "left_inner_left": f"SELECT a.x, b.x AS y, c.x AS z, d.x AS u FROM a LEFT JOIN b ON {_B} JOIN c ON {_C}"
    f" LEFT JOIN d ON {_D}",
    "left_left_lonely": f"SELECT a.x, b.x AS y, c.x AS z FROM a LEFT JOIN b ON {_B} LEFT JOIN c ON {_C}"
    f" WHERE {_LONELY.format('d', _D)}",
    "neither": f"SELECT x FROM a WHERE {_LONELY.format('b', _B)} AND {_LONELY.format('c', _C)}",
    "lonely_left": f"SELECT a.x, c.x AS z FROM a LEFT JOIN c ON {_C} WHERE {_LONELY.format('b', _B)}",
}


@seeds(3)
def test_rows_of_chains_are_told_once(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples = {name: [*_tuples(rng)] for name in "abcd"}
    expected = {name: Counter(_expected(name, **tuples)) for name in QUERIES}
    assert all(expected.values())
    path = _script(tmp_path, QUERIES, tuples)
    for query in read_script(str(path)).declarations.queries.values():
        assert verdict(query).safe
    for batch_rows, sharing in ((None, "all"), (rng.randint(1, 5), "off"), (rng.randint(6, 20), "all")):
        run = run_local(
            str(path), batch_rows=batch_rows, sharing=CONFIGURATIONS[sharing], buckets=rng.randint(1, 3)
        )
        records: dict[str, Counter] = {query: Counter() for query in QUERIES}
        for record in run.records:
            assert record["op"] == "+" and record["t_end"] is None
            records[record["query"]][record["t_start"], tuple(record["row"].values())] += 1
        for name in QUERIES:
            assert records[name] == expected[name], name


def test_chains_of_rows_that_may_change_are_refused(tmp_path: Path) -> None:
    full = f"SELECT a.x, c.x AS z FROM a LEFT JOIN b ON {_B} FULL JOIN c ON {_C}"
    path = _script(tmp_path, {"q": full}, {name: [] for name in "abcd"})
    with pytest.raises(SeineError, match="emit = 'final' is for"):
        run_local(str(path))


def _tuples(rng: Random) -> Iterator[Tuple]:
    time = 0
    for _ in range(30):
        time += rng.choice([0, 0, 1, 2, 6])
        yield {"k": rng.choice([1, 2, 3, None]), "x": rng.randint(0, 3), "ts": time}


def _expected(name: str, a: list[Tuple], b: list[Tuple], c: list[Tuple], d: list[Tuple]) -> Iterator[tuple]:
    """The records of a query, which are those of the SELECT over all tuples: start, row."""
    for one in a:
        if name == "bounded" and not one["x"] > 0:
            continue
        bs: list[Tuple | None] = [*_met(one, b, 4)]
        if name == "bounded":
            bs = [two for two in bs if two is not None and two["x"] > one["x"]]
        if name in ("neither", "lonely_left"):
            cs = [*_met(one, c, 6)]
            if bs or (name == "neither" and cs):
                continue
            if name == "neither":
                yield one["ts"], (one["x"],)
            else:
                yield from (_row(one, three) for three in cs or [None])
            continue
        for two in bs or ([] if name == "inner_left" else [None]):
            host = two if name == "left_left_of_b" else one
            cs: list[Tuple | None] = [] if host is None else [*_met(host, c, 6)]
            for three in cs or ([] if name.startswith("left_inner") else [None]):
                ds = [*_met(one, d, 3, back=3)]
                if name == "left_left_lonely" and ds:
                    continue
                with_d = name in ("left_left_left", "left_inner_left")
                yield from (
                    (_row(one, two, three, four) for four in ds or [None])
                    if with_d
                    else [_row(one, two, three)]
                )


def _met(host: Tuple, others: list[Tuple], reach: int, back: int = 0) -> Iterator[Tuple]:
    for other in others:
        if host["k"] is not None and host["k"] == other["k"] and -back <= other["ts"] - host["ts"] <= reach:
            yield other


def _row(*tuples: Tuple | None) -> tuple:
    times = [one["ts"] for one in tuples if one is not None]
    return max(times), tuple(None if one is None else one["x"] for one in tuples)


def _script(folder: Path, queries: dict[str, str], tuples: dict[str, list[Tuple]]) -> Path:
    for name, rows in tuples.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = "".join(f"CREATE QUERY {name} WITH (emit = 'final') AS {q};\n" for name, q in queries.items())
    path = folder / "script.sql"
    path.write_text(_STREAMS + text)
    return path
