"""Event-time windows against brute force: every tuple is looked at for every window, at every instant."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.run_local import run_local
from tests.support.seeds import seeds

Tuple = dict[str, int]
LATENESS = 6


@dataclass(frozen=True)
class Windowed:
    """A query: lengths of its window, the least value that it counts, and whether it has a key."""

    name: str
    length: int
    slide: int
    start: int
    least: int
    by_key: bool
    final: bool
    spelling: str

    @property
    def sql(self) -> str:
        key = "k, " if self.by_key else ""
        calls = "COUNT(*) AS n, SUM(v) AS total, MAX(v) AS top"
        where = f"WHERE v >= {self.least}"
        if self.spelling == "function":
            window = f"window(ts, {self.length}, {self.slide}, {self.start})"
            select = f"SELECT {key}window.start AS s, window.end AS e, {calls}"
            return f"{select} FROM bid {where} GROUP BY {key}{window}"
        sizes = f"{self.slide}, {self.length}, {self.start}"
        source = f"TABLE(HOP(TABLE bid, DESCRIPTOR(ts), {sizes})) b"
        select = f"SELECT {key}window_start AS s, window_end AS e, {calls}"
        return f"{select} FROM {source} {where} GROUP BY window_start, {key}window_end"

    @property
    def statement(self) -> str:
        options = " WITH (emit = 'final')" if self.final else ""
        return f"CREATE QUERY {self.name}{options} AS {self.sql};"

    def groups(self, tuples: list[Tuple]) -> dict[tuple[Any, ...], list[Tuple]]:
        """The tuples of each window, and of each key if there is one."""
        groups: dict[tuple[Any, ...], list[Tuple]] = defaultdict(list)
        for one in tuples:
            if one["v"] >= self.least:
                for start in self._starts(one["ts"]):
                    groups[start, one["k"] if self.by_key else None].append(one)
        return groups

    def _starts(self, time: int) -> Iterator[int]:
        for start in range(time - self.length - self.slide, time + 1):
            if (start - self.start) % self.slide == 0 and start <= time < start + self.length:
                yield start

    def row(self, group: tuple[Any, ...], members: list[Tuple]) -> tuple[Any, ...]:
        values = [one["v"] for one in members]
        return (group[1], group[0], group[0] + self.length, len(values), sum(values), max(values))


def _query(rng: Random, name: str, final: bool) -> Windowed:
    slide = rng.choice([1, 3, 5, 10, 20])
    length = slide * rng.choice([1, 1, 2, 3]) if rng.random() < 0.7 else slide + rng.randint(0, 7)
    spelling = rng.choice(["function", "table"])
    return Windowed(
        name,
        length,
        slide,
        rng.choice([0, 0, 2]),
        rng.choice([-9, -9, 0]),
        rng.random() < 0.6,
        final,
        spelling,
    )


def _tuples(rng: Random, count: int) -> list[Tuple]:
    """Tuples out of order, but in time."""
    times = sorted(rng.randint(-20, 90) for _ in range(count))
    tuples = [{"k": rng.randint(0, 3), "v": rng.randint(-5, 5), "ts": time} for time in times]
    return sorted(tuples, key=lambda one: one["ts"] + rng.uniform(0, LATENESS))


def _run(
    folder: Path,
    rng: Random,
    tuples: list[Tuple],
    statements: list[str],
    clauses: str = "",
    sharing: Strategy = CONFIGURATIONS["all"],
) -> dict[str, list[dict[str, Any]]]:
    folder.mkdir(exist_ok=True)
    columns = "(k BIGINT, v BIGINT, ts BIGINT)"
    stream = f"CREATE STREAM bid {columns} TIMESTAMP BY ts LATENESS {LATENESS} {clauses} FROM 'bid.jsonl';"
    (folder / "script.sql").write_text("\n".join([stream, *statements]))
    (folder / "bid.jsonl").write_text("".join(json.dumps(one) + "\n" for one in tuples))
    rows = rng.choice([3, 11, 40, None])
    result = run_local(
        str(folder / "script.sql"), batch_rows=rows, buckets=rng.choice([1, 2]), sharing=sharing
    )
    assert not result.dead
    by_query: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in result.records:
        by_query[record["query"]].append(record)
    return by_query


def _shown(record: dict[str, Any]) -> tuple[Any, ...]:
    row = record["row"]
    return row.get("k"), row["s"], row["e"], row["n"], row["total"], row["top"]


def _net(records: list[dict[str, Any]], at: int) -> Counter:
    """What the records up to an instant add up to."""
    net: Counter = Counter()
    for record in records:
        if record["t_start"] <= at:
            net[_shown(record)] += 1 if record["op"] == "+" else -1
    assert all(count >= 0 for count in net.values())
    return +net


@seeds(2)
@pytest.mark.parametrize("sharing", ["all", "all-panes", "no-panes", "off"])
def test_final_windows_are_told_once_when_complete(sharing: str, seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples = _tuples(rng, 80)
    queries = [_query(rng, f"q{i}", final=True) for i in range(9)]
    statements = [query.statement for query in queries]
    records = _run(tmp_path, rng, tuples, statements, sharing=CONFIGURATIONS[sharing])
    for query in queries:
        expected = Counter(
            (query.row(group, members), max(one["ts"] for one in members))
            for group, members in query.groups(tuples).items()
        )
        reported = Counter((_shown(record), record["t_start"]) for record in records[query.name])
        assert reported == expected, query
        assert expected.total() > 2
        assert all(record["op"] == "+" and record["t_end"] is None for record in records[query.name])


@seeds(3)
def test_windows_change_as_they_grow(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples = _tuples(rng, 60)
    queries = [_query(rng, f"q{i}", final=False) for i in range(5)]
    window = rng.choice([None, 4, 30])
    clauses = "" if window is None else f"WINDOW {window}"
    records = _run(tmp_path, rng, tuples, [query.statement for query in queries], clauses)
    for query in queries:
        for at in range(-25, 91, 4):
            alive = [one for one in tuples if one["ts"] <= at and (window is None or at < one["ts"] + window)]
            expected = Counter(query.row(*group) for group in query.groups(alive).items())
            last = max(one["ts"] for one in tuples)
            if at <= last:
                assert _net(records[query.name], at) == expected, (query, at)
        assert records[query.name]


def test_windows_are_final_with_the_watermark_not_with_the_end(tmp_path: Path) -> None:
    """The window [s, e) is told when a tuple at e and the lateness has come, no sooner and no later."""
    tuples = [{"k": 1, "v": 1, "ts": time} for time in range(60)]
    query = Windowed("q", 10, 5, 0, -9, True, True, "function")
    (tmp_path / "bid.jsonl").write_text("".join(json.dumps(one) + "\n" for one in tuples))
    stream = "CREATE STREAM bid (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts"
    plain = "CREATE QUERY plain AS SELECT ts FROM bid;"
    script = tmp_path / "script.sql"
    script.write_text(f"{stream} LATENESS {LATENESS} FROM 'bid.jsonl';\n{query.statement}\n{plain}")
    reported = [], []
    latest = -1
    for record in run_local(str(script), batch_rows=1).records:
        if record["query"] == "plain":
            latest = record["row"]["ts"]
        else:
            reported[latest == 59].append((record["row"]["e"], latest))
    assert reported[0] == [(end, end + LATENESS) for end in range(5, 55, 5)]
    assert sorted(end for end, _ in reported[1]) == [55, 60, 65]


def _sessions(members: list[Tuple], gap: int) -> Iterator[list[Tuple]]:
    run: list[Tuple] = []
    for one in sorted(members, key=lambda one: one["ts"]):
        if run and one["ts"] > run[-1]["ts"] + gap:
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _session_rows(tuples: list[Tuple], gap: int, by_key: bool) -> Iterator[tuple[tuple[Any, ...], int]]:
    groups: dict[Any, list[Tuple]] = defaultdict(list)
    for one in tuples:
        groups[one["k"] if by_key else None].append(one)
    for key, members in groups.items():
        for run in _sessions(members, gap):
            values = [one["v"] for one in run]
            last = run[-1]["ts"]
            yield (key, run[0]["ts"], last + gap, len(run), sum(values), max(values)), last


def _session_sql(gap: int, by_key: bool, spelling: str) -> str:
    key, partition = ("k, ", "PARTITION BY k") if by_key else ("", "")
    calls = "COUNT(*) AS n, SUM(v) AS total, MAX(v) AS top"
    if spelling == "function":
        select = f"SELECT {key}session_window.start AS s, session_window.end AS e, {calls}"
        return f"{select} FROM bid GROUP BY {key}session_window(ts, {gap})"
    source = f"TABLE(SESSION(TABLE bid {partition}, DESCRIPTOR(ts), {gap}))"
    select = f"SELECT {key}window_start AS s, window_end AS e, {calls}"
    return f"{select} FROM {source} GROUP BY {key}window_start, window_end"


@seeds(3)
@pytest.mark.parametrize("final", [True, False])
def test_sessions(final: bool, seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples = _tuples(rng, 60)
    window = None if final else rng.choice([None, 3, 12])
    clauses = "" if window is None else f"WINDOW {window}"
    queries = {
        f"q{i}": (rng.randint(1, 9), rng.random() < 0.7, rng.choice(["function", "table"])) for i in range(4)
    }
    options = "WITH (emit = 'final')" if final else ""
    statements = [f"CREATE QUERY {name} {options} AS {_session_sql(*one)};" for name, one in queries.items()]
    records = _run(tmp_path, rng, tuples, statements, clauses)
    sessions = 0
    for name, (gap, by_key, _) in queries.items():
        if final:
            reported = Counter((_shown(record), record["t_start"]) for record in records[name])
            expected = Counter(_session_rows(tuples, gap, by_key))
            assert reported == expected
            sessions += expected.total()
            continue
        for at in range(-25, max(one["ts"] for one in tuples) + 1, 3):
            alive = [one for one in tuples if one["ts"] <= at and (window is None or at < one["ts"] + window)]
            expected = Counter(row for row, _ in _session_rows(alive, gap, by_key))
            assert _net(records[name], at) == expected, (name, gap, at)
            sessions += expected.total()
    assert sessions > 8
