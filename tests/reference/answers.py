"""The answers of a script: what each query must report, by brute force in DuckDB."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tests.reference.lifted import HIDDEN, lift
from tests.reference.lives import Life, Lives, lives_of
from tests.reference.pattern_answers import PatternAnswers, is_xscl
from tests.reference.script import Script, Table, read_script
from tests.reference.trees import Trees, is_search

BOUND = 2**62  # stands for infinity in hidden columns

Record = tuple[str, Any, Any, dict[str, Any]]  # op, t_start, t_end, row


class Answers:
    """Lives of all tuples of a script, ready to be asked for the answer of each query.

    A query without aggregates, DISTINCT and set operators has `records`; any other has a
    `net` result at each instant up to `final`.
    """

    def __init__(self, script: str | Script, folder: Path) -> None:
        self.script = read_script(script) if isinstance(script, str) else script
        self.lives = {name: lives_of(table, folder) for name, table in self.script.tables.items()}
        queries = self.script.queries.items()
        self.lifted = {
            name: lift(text) for name, text in queries if not is_search(text) and not is_xscl(text)
        }
        self.patterns = PatternAnswers(self.script, self.lives)
        self.trees = Trees(self.script, self.lives)
        self.dead = sorted((name, line) for name, lives in self.lives.items() for line in lives.dead)
        self.final = max((lives.last for lives in self.lives.values()), default=-math.inf)
        times = {t.columns[t.time] for t in self.script.tables.values() if t.time is not None}
        self.calendar = times == {"TIMESTAMP"}
        self._database = _load(self.script, self.lives)

    def is_changelog(self, query: str) -> bool:
        return query in self.lifted and self.lifted[query][1]

    def records(self, query: str) -> list[Record]:
        """Every combination or tree that lives, and the early end of those that end early."""
        collected: list[Record] = []
        for start, natural, end, visible in self._living(query):
            collected.append(("+", self._time(start), self._time(natural), visible))
            if end < natural:
                collected.append(("-", self._time(start), self._time(end), visible))
        return collected

    def _living(self, query: str) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
        """Start, natural and actual end, and the row of each result."""
        if is_xscl(self.script.queries[query]):
            for start, end, row in self.patterns.of(query):
                yield start, _bounded(end), _bounded(end), row
            return
        if query not in self.lifted:
            for tree in self.trees.of(query):
                yield int(tree.start), _bounded(tree.natural), _bounded(tree.end), _plain(tree.row)
            return
        for row in self._rows(query, "lives"):
            start, natural, end = (row[name] for name in ("__s", "__e", "__d"))
            yield start, natural, end, {name: value for name, value in row.items() if name not in HIDDEN}

    def net(self, query: str, at: float) -> list[dict[str, Any]]:
        """The SELECT over the tuples alive at an instant."""
        self._database.execute(f"SET VARIABLE now = {_bounded(at)}::BIGINT")
        return self._rows(query, "alive")

    def instants(self) -> list[float]:
        """All instants up to the final one at which a tuple begins or ends."""
        lives = [life for table in self.lives.values() for life in table.tuples]
        edges = {edge for life in lives for edge in (life.start, life.end)}
        return sorted(edge for edge in edges if -math.inf < edge <= self.final)

    def _rows(self, query: str, schema: str) -> list[dict[str, Any]]:
        self._database.execute(f"SET schema = '{schema}'")
        cursor = self._database.execute(self.lifted[query][0])
        names = [column[0] for column in cursor.description]
        return [{n: _plain(v) for n, v in zip(names, row, strict=True)} for row in cursor.fetchall()]

    def _time(self, instant: int) -> Any:
        if abs(instant) >= BOUND:
            return None
        if self.calendar:
            return _plain(dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=instant))
        return instant


def _load(script: Script, lives: dict[str, Lives]) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    database.execute(
        "CREATE SCHEMA lives; CREATE SCHEMA alive; SET VARIABLE now = 0::BIGINT; SET threads = 1"
    )
    for name, table in script.tables.items():
        database.register("loading", _arrow(table, lives[name].tuples))
        database.execute(f'CREATE TABLE lives."{name}" AS SELECT * FROM loading')
        database.execute(
            f'CREATE VIEW alive."{name}" AS SELECT * FROM lives."{name}" '
            "WHERE __s <= getvariable('now') AND getvariable('now') < __d"
        )
    return database


_ARROW = {
    "BOOLEAN": pa.bool_(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "XML": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
}


def _arrow(table: Table, tuples: list[Life]) -> pa.Table:
    columns = {}
    for name, type_ in table.columns.items():
        arrow = pa.decimal128(*map(int, type_[8:-1].split(","))) if type_.startswith("DEC") else _ARROW[type_]
        columns[name] = pa.array([life.row[name] for life in tuples], arrow)
    earliest = [life.start if table.is_stream else math.inf for life in tuples]
    hidden = {
        "__s": [life.start for life in tuples],
        "__e": [life.natural for life in tuples],
        "__d": [life.end for life in tuples],
        "__lo": earliest,
        "__vb": [life.active[0] for life in tuples],
        "__ve": [life.active[1] for life in tuples],
    }
    columns |= {name: pa.array(map(_bounded, values), pa.int64()) for name, values in hidden.items()}
    return pa.table(columns)


def _bounded(value: float) -> int:
    return int(max(-BOUND, min(BOUND, value)))


def _plain(value: Any) -> Any:
    """A value as it is in JSON."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dt.datetime):
        return value.isoformat() + "Z"
    if isinstance(value, dt.date):
        return value.isoformat()
    return value
