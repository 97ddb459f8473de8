"""Ranks and ORDER BY ... LIMIT against DuckDB over the tuples alive at random instants."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import run_local
from tests.reference.answers import Answers
from tests.reference.compare import difference, net_of
from tests.support.seeds import seeds

LATENESS = 5
TIES = "ts NULLS FIRST, k NULLS FIRST, v NULLS FIRST, x NULLS FIRST"
FUNCTIONS = ("ROW_NUMBER", "RANK", "DENSE_RANK")


@dataclass(frozen=True)
class Ranked:
    """A query, and what DuckDB is asked: the same with ties broken."""

    sql: str
    duckdb: str


def _order(rng: Random, columns: list[str]) -> tuple[str, str]:
    """ORDER BY as it is written, and with the place of NULLs as Spark has it."""
    written, explicit = [], []
    for column in rng.sample(columns, rng.randint(1, 2)):
        descending = rng.random() < 0.5
        nulls = rng.choice([None, None, "FIRST", "LAST"])
        text = column + (" DESC" if descending else rng.choice(["", " ASC"]))
        written.append(text + (f" NULLS {nulls}" if nulls else ""))
        explicit.append(text + f" NULLS {nulls or ('LAST' if descending else 'FIRST')}")
    return ", ".join(written), ", ".join(explicit)


def _rank(rng: Random, most: int) -> Ranked:
    """The first of partitions, in one of the ways in which that is written."""
    function = rng.choice(FUNCTIONS)
    by = rng.choice(["", "k", "k, x", "x"])
    partition = f"PARTITION BY {by} " if by else ""
    written, explicit = _order(rng, ["v", "x", "ts"])
    bound = rng.choice([f"rn <= {most}", f"rn < {most + 1}", f"{most} >= rn", f"rn BETWEEN 2 AND {most}"])
    if most == 1:
        bound = "rn = 1"
    shown = rng.choice(["k, v, x, ts", "k, v, x, ts, rn", "k, rn"])
    where = rng.choice(["", "WHERE v > 1 OR v IS NULL"])
    ties = f", {TIES}" if function == "ROW_NUMBER" else ""
    inner = f"SELECT k, v, x, ts, {function}() OVER ({partition}ORDER BY %s) AS rn FROM s {where}"
    outer = f"SELECT {shown} FROM ({inner}) t WHERE {bound}"
    duckdb = outer % (explicit + ties)
    if rng.random() < 0.3:
        return Ranked(
            f"SELECT k, v, x, ts, {function}() OVER ({partition}ORDER BY {written}) AS rn FROM s"
            f" {where} QUALIFY {bound}",
            f"SELECT * FROM ({duckdb.replace(shown, 'k, v, x, ts, rn', 1)})",
        )
    return Ranked(outer % written, duckdb)


def _limit(rng: Random, most: int) -> Ranked:
    written, explicit = _order(rng, ["v", "x", "k"])
    offset = rng.choice(["", "", " OFFSET 2"])
    select = "SELECT k, v, x, ts FROM s"
    if rng.random() < 0.2:
        return Ranked(f"{select} LIMIT {most}{offset}", f"{select} ORDER BY {TIES} LIMIT {most}{offset}")
    return Ranked(
        f"{select} ORDER BY {written} LIMIT {most}{offset}",
        f"{select} ORDER BY {explicit}, {TIES} LIMIT {most}{offset}",
    )


def _over_groups(rng: Random, most: int) -> Ranked:
    """The first groups: there ties go by columns alone."""
    groups = "SELECT k, COUNT(*) AS n, MAX(v) AS top FROM s GROUP BY k"
    if rng.random() < 0.5:
        return Ranked(
            f"{groups} ORDER BY COUNT(*) DESC LIMIT {most}",
            f"{groups} ORDER BY n DESC, k NULLS FIRST, n, top NULLS FIRST LIMIT {most}",
        )
    select = "SELECT k, COUNT(*) AS n, RANK() OVER (ORDER BY %s) AS r FROM s GROUP BY k"
    return Ranked(
        f"{select % 'MAX(v) DESC'} QUALIFY r <= {most}",
        f"SELECT * FROM ({select % 'MAX(v) DESC NULLS LAST'}) WHERE r <= {most}",
    )


def _joined(rng: Random, most: int) -> Ranked:
    """The best partner of each tuple, as a pair."""
    function = rng.choice(FUNCTIONS)
    select = "SELECT s.k, s.v AS a, t.v AS b, s.ts, t.ts AS u, {} FROM s JOIN t ON s.k = t.k"
    over = f"{function}() OVER (PARTITION BY s.k ORDER BY t.v DESC%s) AS rn"
    ties = " NULLS LAST"
    if function == "ROW_NUMBER":
        ties += ", greatest(s.ts, t.ts), s.k, s.v NULLS FIRST, t.v NULLS FIRST, s.ts, t.ts"
    return Ranked(
        f"SELECT * FROM ({select.format(over % '')}) p WHERE rn <= {most}",
        f"SELECT * FROM ({select.format(over % ties)}) p WHERE rn <= {most}",
    )


UNFRAMED = [  # functions without a frame, and whether rows of equal values of ORDER BY are told apart
    *((call, True) for call in ("LAG(v)", "LAG(v, 2, 7)", "LEAD(x)", "FIRST_VALUE(v)", "NTILE(3)")),
    *((call, False) for call in ("PERCENT_RANK()", "CUME_DIST()")),
]


def _frame(rng: Random, by_time: bool) -> tuple[str, bool]:
    """A frame, and whether rows of equal values of ORDER BY are told apart in it."""
    if rng.random() < 0.3 and by_time:
        return rng.choice(
            ["RANGE BETWEEN 7 PRECEDING AND CURRENT ROW", "RANGE BETWEEN 9 PRECEDING AND 3 FOLLOWING"]
        ), False
    if rng.random() < 0.3:
        return rng.choice(["", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"]), False
    bounds = rng.choice(
        ["2 PRECEDING AND CURRENT ROW", "3 PRECEDING AND 1 PRECEDING", "1 PRECEDING AND 2 FOLLOWING"]
    )
    ends = rng.choice(["CURRENT ROW", "CURRENT ROW", "1 PRECEDING", "3 PRECEDING", "UNBOUNDED FOLLOWING"])
    return f"ROWS BETWEEN {rng.choice([bounds, f'UNBOUNDED PRECEDING AND {ends}'])}", True


def _framed(rng: Random, most: int) -> Ranked:
    """Functions over frames, mostly in the order of time."""
    partition = rng.choice(["", "PARTITION BY k ", "PARTITION BY k, x "])
    by_time = rng.random() < 0.7
    written, explicit = ("ts", "ts NULLS FIRST") if by_time else _order(rng, ["v", "x"])
    select, duckdb = [], []
    for number in range(rng.randint(1, 2)):
        frame, exact = _frame(rng, by_time)
        calls = ["SUM(v)", "COUNT(*)", "AVG(x)", "MAX(v)", "COUNT(DISTINCT v)"]
        call = rng.choice(calls + (["FIRST_VALUE(v)", "LAST_VALUE(x)", "NTH_VALUE(v, 2)"] if exact else []))
        if rng.random() < 0.4:
            call, exact = rng.choice(UNFRAMED)
            frame = ""
        ties = f", {TIES}" if exact else ""
        select.append(f"{call} OVER ({partition}ORDER BY {written} {frame}) AS f{number}")
        duckdb.append(f"{call} OVER ({partition}ORDER BY {explicit}{ties} {frame}) AS f{number}")
    return Ranked(
        *(
            f"SELECT k, v, x, ts, {', '.join(one)} FROM s WHERE v IS NULL OR v <> {most}"
            for one in (select, duckdb)
        )
    )


def _framed_groups(rng: Random, most: int) -> Ranked:
    """Frames over rows that change: the last best bids of each key."""
    inner = "SELECT k, v, ts, ROW_NUMBER() OVER (PARTITION BY v ORDER BY x DESC%s) AS n FROM s"
    frame = "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
    over = f"SELECT k, v, SUM(ts) OVER (PARTITION BY k ORDER BY v%s {frame}) AS total"
    ties = " NULLS FIRST, k NULLS FIRST, v, ts"
    return Ranked(
        f"{over % ''} FROM ({inner % ''}) WHERE n <= {most}",
        f"{over % ties} FROM ({inner % (' NULLS LAST, ts, k NULLS FIRST, v NULLS FIRST')}) WHERE n <= {most}",
    )


def _lines(rng: Random, count: int, retractable: bool) -> list[dict[str, Any]]:
    """Tuples out of order, but in time, with duplicates and NULLs; some are deleted later."""
    lines = []
    for time in sorted(rng.randint(0, 60) for _ in range(count)):
        if lines and rng.random() < 0.15:
            row = dict(rng.choice(lines))
            row.pop("@op", None)
            lines.append(row | {"ts": time} | ({"@op": "-"} if retractable and rng.random() < 0.7 else {}))
        else:
            values = {"k": rng.choice("ab"), "v": rng.randint(0, 4), "x": rng.choice([0.5, 1.5, -0.0, 0.0])}
            row = {name: value for name, value in values.items() if rng.random() > 0.1}
            lines.append(row | {"ts": time})
    if retractable:
        return lines
    return sorted(lines, key=lambda one: one["ts"] + rng.uniform(0, LATENESS))


def _script(rng: Random, retractable: bool, window: int | None) -> str:
    columns = "(k STRING, v BIGINT, x DOUBLE, ts BIGINT)"
    window_clause = "" if window is None else f"WINDOW {window}"
    clauses = f"TIMESTAMP BY ts {window_clause} LATENESS {LATENESS} {'RETRACTABLE' if retractable else ''}"
    return "\n".join(f"CREATE STREAM {name} {columns} {clauses} FROM '{name}.jsonl';" for name in ("s", "t"))


@seeds(4)
@pytest.mark.parametrize("window", [None, 12])
@pytest.mark.parametrize("retractable", [False, True])
def test_the_first_rows_are_those_of_duckdb(
    retractable: bool, window: int | None, seed: int, tmp_path: Path
) -> None:
    rng = Random(f"{seed} {window} {retractable}")
    kinds = [_rank, _rank, _limit, _over_groups, _joined, _framed, _framed, _framed_groups]
    queries = {f"q{i}": rng.choice(kinds)(rng, rng.choice([1, 1, 2, 3, 7])) for i in range(8)}
    streams = _script(rng, retractable, window)
    options = "WITH (unbounded = true)"
    statements = [f"CREATE QUERY {name} {options} AS {one.sql};" for name, one in queries.items()]
    for name in ("s", "t"):
        lines = _lines(rng, 60, retractable)
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    path = tmp_path / "script.sql"
    path.write_text("\n".join([streams, *statements]))
    sharing = CONFIGURATIONS[rng.choice(["all", "all", "off"])]
    result = run_local(str(path), batch_rows=rng.choice([3, 11, None]), buckets=2, sharing=sharing)
    answers = Answers(streams, tmp_path)
    shown = 0
    for name, one in queries.items():
        answers.lifted[name] = (one.duckdb, True)
        records = [record for record in result.records if record["query"] == name]
        instants = [at for at in answers.instants() if at <= answers.final]
        for at in [*rng.sample(instants, min(12, len(instants))), answers.final]:
            expected = answers.net(name, at)
            got = net_of(record for record in records if record["t_start"] <= at)
            assert difference(expected, got) == ([], []), (one, at)
            shown += len(expected)
        if one.sql.startswith("SELECT k, v, x, ts"):  # partitions that are not seen may change places
            _assert_no_idle_changes(records, one)
    assert shown > 50


def _assert_no_idle_changes(records: list[dict[str, Any]], query: Ranked) -> None:
    """No row ends at an instant at which an equal one begins."""
    changes = {"+": [], "-": []}
    for record in records:
        changes[record["op"]].append(json.dumps([record["t_start"], record["row"]], sort_keys=True))
    assert not {*changes["+"]} & {*changes["-"]}, query
