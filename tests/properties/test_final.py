"""emit = 'final': every group is told once, with its result when the last tuple joined it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.errors import SeineError
from seine.run_local import run_local
from tests.support.seeds import seeds

Line = dict[str, Any]


def _run(
    folder: Path, rng: Random, streams: dict[str, tuple[str, list[Line]]], sql: str
) -> list[dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    text = []
    for name, (clauses, lines) in streams.items():
        text.append(
            f"CREATE STREAM {name} (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts {clauses}"
            f" FROM '{name}.jsonl';"
        )
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text.append(f"CREATE QUERY q WITH (emit = 'final', unbounded = true) AS {sql};")
    (folder / "script.sql").write_text("\n".join(text))
    rows = rng.choice([5, 13, 50, None])
    return run_local(str(folder / "script.sql"), batch_rows=rows, buckets=rng.choice([1, 2])).records


def _tuples(rng: Random, count: int, pace: float = 1.0) -> list[Line]:
    return [
        {"k": int(i * 0.05) + rng.randint(0, 3), "v": rng.randint(-5, 5), "ts": int(i * pace)}
        for i in range(count)
    ]


def _punctuating(tuples: list[Line], order: Iterable[int] | None = None) -> list[Line]:
    """Every second key is promised once its last tuple has come."""
    last = {line["k"]: number for number, line in enumerate(tuples)}
    lines = []
    for number, line in enumerate(tuples):
        lines.append(line)
        if last[line["k"]] == number and line["k"] % 2 == 0:
            lines.append({"@punctuate": {"k": line["k"]}, "ts": line["ts"]})
    return lines


def _lives(tuples: list[Line], window: int | None, key: Callable[[Line], Any]) -> Counter:
    """What each life of each group was when the last tuple joined it: key, instant, count and sum."""
    groups = defaultdict(list)
    for line in tuples:
        groups[key(line)].append(line)
    finals: Counter = Counter()
    for name, members in groups.items():
        lives: list[list[Line]] = []
        for line in sorted(members, key=lambda line: line["ts"]):
            if lives and (window is None or line["ts"] <= lives[-1][-1]["ts"] + window):
                lives[-1].append(line)
            else:
                lives.append([line])
        for life in lives:
            at = life[-1]["ts"]
            alive = [line["v"] for line in life if window is None or at < line["ts"] + window]
            finals[name, at, len(alive), sum(alive)] += 1
    return finals


def _reported(records: list[dict[str, Any]], name: str) -> Counter:
    assert all(record["op"] == "+" and record["t_end"] is None for record in records)
    return Counter((r["row"][name], r["t_start"], r["row"]["n"], r["row"]["total"]) for r in records)


@seeds(4)
@pytest.mark.parametrize("window", [None, 3, 40])
def test_groups_of_a_stream(window: int | None, seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples = _tuples(rng, 120, rng.choice([0.4, 1.0, 2.5]))
    clauses = f"PUNCTUATED ON (k) LATENESS 4 {f'WINDOW {window}' if window else ''}"
    sql = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k"
    records = _run(tmp_path / "here", rng, {"s": (clauses, _punctuating(tuples))}, sql)
    expected = _lives(tuples, window, lambda line: line["k"])
    assert _reported(records, "k") == expected and expected.total() > 5
    if window is None:
        odd = [record["row"]["k"] % 2 for record in records]
        assert odd[: len(odd) // 3] == [0] * (len(odd) // 3)  # others wait for the end


@seeds(4)
@pytest.mark.parametrize("window", [None, 25])
@pytest.mark.parametrize("key", ["ts DIV 10", "ts - ts % 10", "FLOOR((ts - 3) / 10)"])
def test_groups_by_time_are_final_with_the_watermark(
    key: str, window: int | None, seed: int, tmp_path: Path
) -> None:
    rng = Random(seed)
    tuples = _tuples(rng, 90)
    number = {"ts DIV 10": lambda t: t // 10, "ts - ts % 10": lambda t: t // 10 * 10}.get(
        key, lambda t: (t - 3) // 10
    )
    sql = f"SELECT {key} AS slot, COUNT(*) AS n, SUM(v) AS total FROM s WHERE v > -4 GROUP BY {key}"
    clauses = f"WINDOW {window}" if window else ""
    records = _run(tmp_path / "here", rng, {"s": (clauses, tuples)}, sql)
    counted = [line for line in tuples if line["v"] > -4]
    assert _reported(records, "slot") == _lives(counted, window, lambda line: number(line["ts"]))
    slots = [record["row"]["slot"] for record in records]
    assert len(slots) > 5


@seeds(4)
def test_groups_of_a_join_need_the_punctuations_of_both(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    streams = {name: _tuples(rng, 60) for name in ("s", "t")}
    sql = "SELECT t.k AS k, COUNT(*) AS n, SUM(s.v) AS total FROM s, t WHERE s.k = t.k GROUP BY t.k"
    sql += " HAVING COUNT(*) > 2"
    given = {name: ("PUNCTUATED ON (k)", _punctuating(tuples)) for name, tuples in streams.items()}
    records = _run(tmp_path / "here", rng, given, sql)
    values: dict[int, list[int]] = defaultdict(list)
    times: dict[int, int] = {}
    for a in streams["s"]:
        for b in streams["t"]:
            if a["k"] == b["k"]:
                values[a["k"]].append(a["v"])
                times[a["k"]] = max(times.get(a["k"], 0), a["ts"], b["ts"])
    expected = Counter((k, times[k], len(vs), sum(vs)) for k, vs in values.items() if len(vs) > 2)
    assert _reported(records, "k") == expected and expected
    odd = [record["row"]["k"] % 2 for record in records]
    assert odd == sorted(odd)


@pytest.mark.parametrize("sql", ["SELECT DISTINCT k FROM s", "SELECT k FROM s UNION SELECT k FROM t"])
def test_distinct_rows_are_told_once(sql: str, tmp_path: Path) -> None:
    rng = Random(1)
    streams = {name: _tuples(rng, 60) for name in ("s", "t")}
    given = {name: ("PUNCTUATED ON (k)", _punctuating(tuples)) for name, tuples in streams.items()}
    records = _run(tmp_path / "here", rng, given, sql)
    read = streams["s"] + (streams["t"] if "UNION" in sql else [])
    first: dict[int, int] = {}
    for line in read:
        first[line["k"]] = min(first.get(line["k"], line["ts"]), line["ts"])
    assert Counter((r["row"]["k"], r["t_start"]) for r in records) == Counter(first.items())
    odd = [record["row"]["k"] % 2 for record in records]
    assert odd[: len(odd) // 3] == [0] * (len(odd) // 3)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM s EXCEPT SELECT k FROM t",
        "SELECT s.k FROM s, (SELECT k, COUNT(*) AS n FROM t GROUP BY k) g WHERE s.k = g.k",
        "SELECT n, COUNT(*) AS m FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) g GROUP BY n",
        "SELECT r.k FROM s, r WHERE r.k = s.k",
        "SELECT k FROM r",
    ],
)
def test_what_never_becomes_final_is_refused(sql: str, tmp_path: Path) -> None:
    streams: dict[str, tuple[str, list[Line]]] = {"s": ("WINDOW 5", []), "t": ("WINDOW 5", [])}
    streams["r"] = ("RETRACTABLE", [])
    with pytest.raises(SeineError, match="emit = 'final'"):
        _run(tmp_path / "here", Random(0), streams, sql)


@pytest.mark.parametrize("sql", ["SELECT s.k AS k, t.v AS v FROM s, t WHERE s.k = t.k", "SELECT k, v FROM s"])
def test_tuples_and_their_pairs_are_final_as_they_come(sql: str, tmp_path: Path) -> None:
    streams = {name: ("WINDOW 5", _tuples(Random(2), 40)) for name in ("s", "t")}
    expected = _run(tmp_path / "here", Random(0), streams, sql)
    assert expected and {record["op"] for record in expected} == {"+"}


def test_rows_of_a_union_all_are_told_once(tmp_path: Path) -> None:
    tuples = _tuples(Random(2), 40)
    sql = "SELECT k, v FROM s UNION ALL SELECT k, v FROM s"
    records = _run(tmp_path / "here", Random(0), {"s": ("WINDOW 5", tuples)}, sql)
    emitted = Counter((r["op"], r["row"]["k"], r["row"]["v"]) for r in records)
    assert emitted == Counter(("+", line["k"], line["v"]) for line in tuples for _ in range(2))


def test_joined_windows_are_refused(tmp_path: Path) -> None:
    streams: dict[str, tuple[str, list[Line]]] = {"s": ("WINDOW 5", []), "t": ("WINDOW 5", [])}
    sql = "SELECT s.k, COUNT(*) AS n FROM s, t WHERE s.k = t.k GROUP BY s.k"
    with pytest.raises(SeineError, match="joined streams with windows"):
        _run(tmp_path / "here", Random(0), streams, sql)


@pytest.mark.parametrize("window", [None, 40])
def test_final_groups_may_be_made_of_finer_ones(window: int | None, tmp_path: Path) -> None:
    rng = Random(3)
    tuples = _tuples(rng, 120, 0.4)
    clauses = f"PUNCTUATED ON (k) LATENESS 4 {f'WINDOW {window}' if window else ''}"
    sql = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k"
    finer = "; CREATE QUERY fine WITH (unbounded = true) AS SELECT k, v, COUNT(*) AS n FROM s GROUP BY k, v"
    records = _run(tmp_path, rng, {"s": (clauses, _punctuating(tuples))}, sql + finer)
    final = [record for record in records if record["query"] == "q"]
    assert _reported(final, "k") == _lives(tuples, window, lambda line: line["k"])
    assert len(final) < len(records)


@pytest.mark.parametrize("window", [None, 6])
def test_final_groups_do_not_depend_on_their_neighbours(window: int | None, tmp_path: Path) -> None:
    """Not their results, nor the instants at which they got them, whatever others ask of the same groups."""
    tuples = _tuples(Random(4), 120, 0.4)
    clauses = f"PUNCTUATED ON (k) {f'WINDOW {window}' if window else ''}"
    given = {"s": (clauses, _punctuating(tuples))}
    groups = "FROM s GROUP BY k"
    alone = {
        "q": f"SELECT k, MAX(v) AS top {groups}",
        "r": f"SELECT k, COUNT(*) AS n, SUM(v) AS total {groups}",
        "t": f"SELECT k, COUNT(DISTINCT v) AS n {groups} HAVING MIN(v) < 0",
        "u": "SELECT DISTINCT k FROM s",
    }
    expected = {
        name: Counter(map(_shown, _run(tmp_path / name, Random(0), given, sql)))
        for name, sql in alone.items()
    }
    others = (
        f"CREATE QUERY {name} WITH (emit = 'final', unbounded = true) AS {alone[name]}" for name in "rtu"
    )
    records = _run(tmp_path / "all", Random(1), given, "; ".join([alone["q"], *others]))
    for name, wanted in expected.items():
        assert wanted and Counter(_shown(record) for record in records if record["query"] == name) == wanted


def _shown(record: dict[str, Any]) -> str:
    return json.dumps([record["op"], record["t_start"], record["row"]])
