"""ROLLUP, CUBE and GROUPING SETS against brute force: the live tuples are grouped once for each set."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import run_local
from tests.support.seeds import seeds

KEYS = ("a", "b", "c")
Sets = list[tuple[str, ...]]
Tuple = dict[str, Any]


def _grouping(rng: Random) -> tuple[str, Sets]:
    """A GROUP BY and its grouping sets."""
    keys = rng.sample(KEYS, rng.choice([2, 3]))
    names = ", ".join(keys)
    rolled: Sets = [tuple(keys[:n]) for n in range(len(keys), -1, -1)]
    cubed: Sets = [one for n in range(len(keys) + 1) for one in combinations(keys, n)]
    chosen = rng.choices(cubed, k=rng.randint(1, 3))
    listed = ", ".join(f"({', '.join(one)})" for one in chosen)
    rest: Sets = [(keys[0], *keys[1:n]) for n in range(len(keys), 0, -1)]
    return rng.choice(
        [
            (f"ROLLUP ({names})", rolled),
            (f"{names} WITH ROLLUP", rolled),
            (f"CUBE ({names})", cubed),
            (f"GROUPING SETS ({listed})", chosen),
            (f"{keys[0]}, ROLLUP ({', '.join(keys[1:])})", rest),
        ]
    )


def _tuples(rng: Random) -> list[Tuple]:
    values = [None, 0, 1]
    times = sorted(rng.randint(0, 30) for _ in range(rng.randint(8, 40)))
    return [{**{k: rng.choice(values) for k in KEYS}, "v": rng.randint(-3, 9), "ts": ts} for ts in times]


def _answer(sets: Sets, used: list[str], least: int, alive: list[Tuple]) -> Counter[tuple[Any, ...]]:
    """The rows of all sets; a set without rows has none, as in Spark."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for keys in sets:
        bits = sum((key not in keys) << place for place, key in enumerate(reversed(used)))
        groups: dict[tuple[Any, ...], list[int]] = {}
        for one in alive:
            groups.setdefault(tuple(one[k] if k in keys else None for k in used), []).append(one["v"])
        for group, values in groups.items():
            if len(values) >= least:
                rows[(*group, len(values), sum(values), max(values), bits)] += 1
    return rows


@seeds(2)
@pytest.mark.parametrize("batch_rows", [None, 3])
def test_changelog_of_grouping_sets(seed: int, batch_rows: int | None, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples, window = _tuples(rng), rng.choice([4, 9])
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in tuples))
    columns = ", ".join(f"{key} BIGINT" for key in (*KEYS, "v", "ts"))
    script = [f"CREATE STREAM s ({columns}) TIMESTAMP BY ts WINDOW {window} FROM 's.jsonl';"]
    queries = {}
    for number in range(3):
        text, sets = _grouping(rng)
        used, least = [key for key in KEYS if any(key in one for one in sets)] or ["a"], rng.choice([0, 2])
        if used == ["a"] and not any(sets):
            continue
        names = ", ".join(used)
        queries[f"q{number}"] = (sets, used, least)
        script.append(
            f"CREATE QUERY q{number} AS SELECT {names}, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS top, "
            f"GROUPING_ID({names}) AS bits FROM s GROUP BY {text} HAVING COUNT(*) >= {least};"
        )
    path = tmp_path / "s.sql"
    path.write_text("\n".join(script))
    sharing = CONFIGURATIONS[rng.choice(["all", "off"])]
    records = run_local(str(path), batch_rows=batch_rows, sharing=sharing).records
    last = tuples[-1]["ts"]
    for name, (sets, used, least) in queries.items():
        mine = [one for one in records if one["query"] == name]
        assert mine
        for now in range(last + 1):
            net: Counter[tuple[Any, ...]] = Counter()
            for one in mine:
                if one["t_start"] is not None and one["t_start"] <= now:
                    row = one["row"]
                    key = tuple(row[k] for k in (*used, "n", "total", "top", "bits"))
                    net[key] += 1 if one["op"] == "+" else -1
            alive = [one for one in tuples if one["ts"] <= now < one["ts"] + window]
            assert +net == _answer(sets, used, least, alive), (name, now)


@seeds(1)
@pytest.mark.parametrize("window", ["", "WINDOW 50"])
def test_final_grouping_sets_are_told_once(seed: int, window: str, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples = _tuples(rng)
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in tuples))
    columns = ", ".join(f"{key} BIGINT" for key in (*KEYS, "v", "ts"))
    path = tmp_path / "s.sql"
    path.write_text(
        f"CREATE STREAM s ({columns}) TIMESTAMP BY ts {window} FROM 's.jsonl';"
        "CREATE QUERY q WITH (emit = 'final') AS SELECT window.start AS w, a, b, COUNT(*) AS n, "
        "SUM(v) AS total, MAX(v) AS top, GROUPING_ID(a, b) AS bits FROM s "
        "GROUP BY window(ts, 8), CUBE (a, b);"
    )
    records = run_local(str(path), batch_rows=3).records
    cubed: Sets = [("a", "b"), ("a",), ("b",), ()]
    expected = {
        (start, *row): count
        for start in range(0, 31, 8)
        for row, count in _answer(
            cubed, ["a", "b"], 1, [one for one in tuples if start <= one["ts"] < start + 8]
        ).items()
    }
    assert all(one["op"] == "+" for one in records)
    assert Counter(tuple(one["row"].values()) for one in records) == expected
