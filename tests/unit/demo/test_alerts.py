"""The main demonstration's data and alerts: checked by an independent engine, DuckDB."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from collections import Counter
from decimal import Decimal
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pytest
import sqlglot

from seine.demo.alerts import DESCRIPTIONS, Fedwire, make_fedwire, write_demo
from seine.run_local import run_local
from tests.support.paths import ROOT

TRANSFERS = 40_000
_WINDOW = "INTERVAL 20 DAY"
_CHANGELOGS = {
    "smurfing",
    "smurfing_crowd",
    "busy_banks",
    "haven_flow",
    "collected_and_sent",
    "suspects",
    "parked",
    "corridors",
}
FOUND_BY = {
    "followed": ("passed_on", ["first", "second"]),
    "layering": ("four_hops", ["first", "second", "third", "fourth"]),
    "round_trip": ("round_trip", ["out_id", "back_id"]),
    "circle": ("circle", ["first", "second", "third"]),
    "split": ("split_in_two", ["first", "one", "other"]),
}


@cache
def made() -> Fedwire:
    return make_fedwire(TRANSFERS)


@cache
def script() -> str:
    return ROOT.joinpath("src/seine/demo/alerts.sql").read_text(encoding="utf-8")


@cache
def selects() -> dict[str, sqlglot.exp.Query]:
    statements = re.findall(r"CREATE QUERY (\w+) AS\s+(.*?);", script(), flags=re.DOTALL)
    return {name: sqlglot.parse_one(select, read="spark") for name, select in statements}


@cache
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    for name, table in (
        ("all_transfers", made().transfers),
        ("bank", made().banks),
        ("watchlist", made().watch_list),
    ):
        connection.register("arriving", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arriving")
        connection.unregister("arriving")
    connection.execute("CREATE VIEW transfer AS SELECT * FROM all_transfers")
    return connection


def answers(name: str) -> list[dict[str, object]]:
    """Every combination over all time whose lives overlap."""
    select = _among_active(selects()[name])
    streams = _aliases(select, "transfer")
    for a, b in itertools.combinations(streams, 2):
        select = select.where(
            f"{a}.ts < {b}.ts + {_WINDOW} AND {b}.ts < {a}.ts + {_WINDOW}", dialect="duckdb"
        )
    return _rows(select)


def answers_at(name: str, instant: str) -> list[dict[str, object]]:
    """The result over the transfers alive at an instant."""
    alive = f"ts <= TIMESTAMPTZ '{instant}' AND ts > TIMESTAMPTZ '{instant}' - {_WINDOW}"
    database().execute(f"CREATE OR REPLACE VIEW transfer AS SELECT * FROM all_transfers WHERE {alive}")
    try:
        return _rows(_among_active(selects()[name]))
    finally:
        database().execute("CREATE OR REPLACE VIEW transfer AS SELECT * FROM all_transfers")


def _among_active(select: sqlglot.exp.Expression) -> sqlglot.exp.Expression:
    """Say what VALID leaves unsaid: a watched account is active at every transfer's instant."""
    select = select.copy()
    for block in select.find_all(sqlglot.exp.Select):
        for w, t in itertools.product(_aliases(block, "watchlist"), _aliases(block, "transfer")):
            active = f"{w}.listed <= {t}.ts AND ({w}.cleared IS NULL OR {t}.ts < {w}.cleared)"
            block.where(active, dialect="duckdb", copy=False)
    return select


def _aliases(select: sqlglot.exp.Expression, table: str) -> list[str]:
    return [
        table_node.alias_or_name
        for table_node in select.find_all(sqlglot.exp.Table)
        if table_node.name == table
    ]


def _rows(select: sqlglot.exp.Expression) -> list[dict[str, object]]:
    return database().sql(select.sql("duckdb")).to_arrow_table().to_pylist()


def test_every_alert_is_described() -> None:
    assert list(selects()) == list(DESCRIPTIONS)
    assert len(selects()) >= 25


@pytest.mark.parametrize("name", [name for name in DESCRIPTIONS if name not in _CHANGELOGS])
def test_alerts_are_neither_silent_nor_noisy(name: str) -> None:
    assert 1 <= len(answers(name)) <= 2_000


@pytest.mark.parametrize("name", sorted(_CHANGELOGS))
def test_changelogs_have_something_to_tell(name: str) -> None:
    days = np.arange(np.datetime64("2026-01-12"), np.datetime64("2026-03-28"), 5)
    sizes = [len(answers_at(name, f"{day} 23:59:59+00")) for day in days]
    assert 1 <= max(sizes) <= 200


@pytest.mark.parametrize("pattern", list(FOUND_BY))
def test_planted_combinations_are_found(pattern: str) -> None:
    query, columns = FOUND_BY[pattern]
    reported = {tuple(row[column] for column in columns) for row in answers(query)}
    planted = set(map(tuple, made().planted[pattern].tolist()))
    assert planted
    assert planted <= reported


def test_planted_smurfing_is_found() -> None:
    transfers = made().transfers.to_pandas().set_index("tran_id")
    for instance in made().planted["smurfing"]:
        collector = transfers.loc[instance[-1]]
        instant = str(collector.ts)
        assert collector.sacct in [row["racct"] for row in answers_at("smurfing", instant)]
        assert collector.sacct in [row["racct"] for row in answers_at("smurfing_crowd", instant)]
        assert instance[-1] in [row["tran_id"] for row in answers_at("collected_and_sent", instant)]


def test_the_engine_gives_the_same_answers(tmp_path: Path) -> None:
    records = run_local(str(write_demo(tmp_path, transfers=TRANSFERS)), batch_rows=15_000).records
    last = str(max(made().transfers["ts"].to_pylist()))
    for name in DESCRIPTIONS:
        expected = answers_at(name, last) if name in _CHANGELOGS else answers(name)
        net = Counter()
        for record in records:
            if record["query"] == name:
                net[_comparable(record["row"])] += 1 if record["op"] == "+" else -1
        assert {row: n for row, n in net.items() if n} == Counter(map(_comparable, expected)), name


def _comparable(row: dict[str, object]) -> tuple[tuple[str, object], ...]:
    """Values as JSON tells them; a quotient's last digits may differ."""
    return tuple(sorted((name, _plain(value)) for name, value in row.items() if value is not None))


def _plain(value: object) -> object:
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return round(float(value), 4) if isinstance(value, float | Decimal) else value


def test_files_hold_what_was_made(tmp_path: Path) -> None:
    path = write_demo(tmp_path, transfers=3_000, seed=3)
    assert path.read_text(encoding="utf-8") == script()
    lines = (tmp_path / "transfers.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    small = make_fedwire(3_000, seed=3)
    row = small.transfers.slice(0, 1).to_pylist()[0]
    assert len(lines) == 3_000
    assert first["amount"] == float(row["amount"])
    assert first["ts"] == row["ts"].strftime("%Y-%m-%dT%H:%M:%SZ")
    assert {name: first[name] for name in first if name not in ("amount", "ts")} == {
        name: row[name] for name in row if name not in ("amount", "ts")
    }
    assert len((tmp_path / "banks.jsonl").read_text().splitlines()) == small.banks.num_rows
    assert len((tmp_path / "watchlist.jsonl").read_text().splitlines()) == small.watch_list.num_rows


def test_lines_are_in_time_within_the_lateness() -> None:
    times = made().transfers["ts"].to_numpy().astype("datetime64[s]")
    late = np.maximum.accumulate(times) - times
    assert np.timedelta64(0, "s") < late.max() <= np.timedelta64(300, "s")


def test_the_same_seed_makes_the_same_data() -> None:
    assert make_fedwire(2_000, seed=5).transfers.equals(make_fedwire(2_000, seed=5).transfers)
    assert not make_fedwire(2_000, seed=5).transfers.equals(make_fedwire(2_000, seed=6).transfers)


def test_transfers_keep_business_days() -> None:
    days = made().transfers["ts"].to_numpy().astype("datetime64[D]")
    assert np.is_busday(days).all()
    assert len(np.unique(days)) == 60
