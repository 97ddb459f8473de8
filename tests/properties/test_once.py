"""WITH (once = ..., per = ...): records beside those of the same query without it, in random runs."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.run_local import run_local
from tests.support.seeds import seeds

STREAMS = """
CREATE STREAM s (k STRING, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 6 LATENESS 3 FROM 's.jsonl';
CREATE STREAM t (k STRING, w BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 6 LATENESS 3 FROM 't.jsonl';
"""
PLANS = {
    "plain": ("SELECT k, v FROM s WHERE v > 1", ["k"]),
    "other": ("SELECT k, v FROM s WHERE v > 3", ["k"]),
    "twice": ("SELECT v, k FROM s", ["k", "v"]),
    "joined": ("SELECT s.k AS key, v, w FROM s, t WHERE s.k = t.k", ["key"]),
    "apart": ("SELECT v, w FROM s, t WHERE s.k = t.k AND v < w", ["w"]),
}


def _script(chance: random.Random) -> tuple[str, dict[str, int]]:
    periods = {name: chance.choice([1, 4, 7, 100]) for name in PLANS}
    once = [
        f"CREATE QUERY {name}_once WITH (once = '{', '.join(keys)}', per = {periods[name]}) AS {text};"
        for name, (text, keys) in PLANS.items()
    ]
    every = [f"CREATE QUERY {name} AS {text};" for name, (text, _) in PLANS.items()]
    statements = [*once, *every]
    chance.shuffle(statements)
    return STREAMS + "\n".join(statements), periods


def _write(folder: Path, name: str, value: str, chance: random.Random) -> None:
    lines, now = [], 0
    for _ in range(chance.randrange(5, 60)):
        now += chance.choice([0, 0, 1, 2])
        row = {"k": chance.choice(["a", "b", "c", None]), value: chance.randrange(6)}
        lines.append(json.dumps({**row, "ts": max(0, now - chance.randrange(5))}))
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def _expected(records: list[Any], keys: list[str], period: int) -> Counter[str]:
    """The first record of each key and period, by what people would do with a list."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for record in records:
        key = tuple(record["row"].get(name) for name in keys)
        groups.setdefault((*key, record["t_start"] // period), []).append(record)
    wanted: Counter[str] = Counter()
    for group in groups.values():
        first = min(group, key=_order)
        for followed in {0, len(group) - 1}:
            wanted[
                json.dumps([first["t_start"], first["t_end"], {**first["row"], "followed": followed}])
            ] += 1
    return wanted


def _order(record: Any) -> tuple[Any, ...]:
    values = [(value is not None, value) for value in record["row"].values()]
    return record["t_start"], values, record["t_end"]


@seeds(4)
def test_against_all_records(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    script, periods = _script(chance)
    for name, value in (("s", "v"), ("t", "w")):
        _write(tmp_path, name, value, chance)
    (tmp_path / "x.sql").write_text(script)
    seen = 0
    for rows, buckets in ((1, 1), (7, 3), (None, 2)):
        by_query: dict[str, list[Any]] = {}
        for record in run_local(str(tmp_path / "x.sql"), batch_rows=rows, buckets=buckets).records:
            by_query.setdefault(record["query"], []).append(record)
        for name, (_, keys) in PLANS.items():
            got = Counter(
                json.dumps([one["t_start"], one["t_end"], one["row"]])
                for one in by_query.get(f"{name}_once", [])
            )
            assert got == _expected(by_query.get(name, []), keys, periods[name]), (name, rows)
            seen += sum(got.values())
    assert seen


@pytest.mark.parametrize(
    ("options", "text", "words"),
    [
        ("once = 'k'", "SELECT k FROM s", "option once needs per"),
        ("per = 5", "SELECT k FROM s", "option per needs once"),
        ("once = 'x', per = 5", "SELECT k FROM s", "the query has no column x"),
        ("once = 'k, K', per = 5", "SELECT k FROM s", "names a column twice"),
        ("once = 'k', per = 0", "SELECT k FROM s", "a length of this query's event time"),
        ("once = 'k', per = INTERVAL '1' HOUR", "SELECT k FROM s", "a length of this query's event time"),
        ("once = 'k', per = 5", "SELECT k, COUNT(*) AS n FROM s GROUP BY k", "results that only come"),
        ("once = 'k', per = 5", "SELECT DISTINCT k FROM s", "results that only come"),
        ("once = 'k', per = 5", "SELECT k, v AS followed FROM s", "a column followed of its own"),
        ("once = 'k', per = 5, emit = 'final'", "SELECT k FROM s", "once and emit do not go together"),
        ("once = 'k', per = 5", "SEARCH 'a'", "only SELECT takes the option once"),
    ],
)
def test_what_is_refused(options: str, text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "x.sql").write_text(STREAMS + f"CREATE QUERY q WITH ({options}) AS {text};")
    for name in ("s", "t"):
        (tmp_path / f"{name}.jsonl").touch()
    with pytest.raises(SeineError, match=words):
        run_local(str(tmp_path / "x.sql"))
