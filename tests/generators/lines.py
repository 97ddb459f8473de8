"""Random input lines: tuples, duplicates, ties, negative tuples, promises, late and broken lines."""

from __future__ import annotations

import datetime as dt
import json
from random import Random
from typing import Any

from tests.generators.tables import Table

STRINGS = [
    "a",
    "b",
    "ab",
    "",
    "d'Or",
    'say "hi"',
    "東京",
    "Zoë",
    "tab\there",
    "100%",
    "12",
    "A_b",
    "back\\slash",
    "🙂x",
]
BIGS = [2**63 - 1, -(2**63), 2**53 + 1, 2**53, 0, -1]
BROKEN = [
    "17",
    "not json",
    '{"k": 1, "ts": 3',
    "[]",
    '{"k": "1", "ts": 4}',
    '{"k": 1.5, "ts": 4}',
    '{"nope": null, "ts": 5}',
]
BROKEN += [
    '{"k": 1}',
    '{"k": 9223372036854775808, "ts": 5}',
    '{"@op": "?", "k": 1, "ts": 5}',
    '{"@punctuate": {"zz": 1}, "ts": 5}',
]


def random_lines(rng: Random, table: Table) -> list[str]:
    if table.is_stream:
        return _Writer(rng, table).lines(rng.randint(10, 40))
    lines = [_text(rng, _relation_row(rng, table)) for _ in range(rng.randint(3, 12))]
    return lines + ["not json"] * (rng.random() < 0.2)


def moment(units: int, calendar: bool) -> Any:
    """A point in time as a JSON value."""
    if not calendar:
        return units
    return (dt.datetime(2024, 1, 1) + dt.timedelta(seconds=units)).isoformat() + "Z"


def _text(rng: Random, record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=rng.random() < 0.5)


def _value(rng: Random, type_: str, name: str) -> Any:
    if rng.random() < 0.12:
        return None
    if name == "big":
        return rng.choice(BIGS)
    match type_.partition("(")[0]:
        case "BIGINT":
            return rng.randint(-1, 4)
        case "INT":
            return rng.randint(-2, 3)
        case "DOUBLE":
            return rng.choice([rng.randint(-8, 8) / 4, rng.randint(-3, 3)])
        case "DECIMAL":
            return rng.randint(-300, 900) / 100
        case "STRING":
            return rng.choice(STRINGS[: rng.choice([4, len(STRINGS)])])
        case "BOOLEAN":
            return rng.random() < 0.5
    return f"2024-01-0{rng.randint(1, 5)}"


def _relation_row(rng: Random, table: Table) -> dict[str, Any]:
    data = {n: _value(rng, t, n) for n, t in table.columns.items() if n not in ("begin", '"end"')}
    if not table.valid:
        return data
    begin = rng.randint(0, 40)
    edges = {"begin": begin, "end": begin + rng.randint(1, 40)}
    return data | {n: moment(v, table.calendar) for n, v in edges.items() if rng.random() < 0.8}


class _Writer:
    """Writes the lines of one stream, remembering rows for its duplicates and negative tuples."""

    def __init__(self, rng: Random, table: Table) -> None:
        self.rng, self.table = rng, table
        self.clock = rng.randint(0, 5)
        self.rows: list[dict[str, Any]] = []
        self.punctuations: list[dict[str, Any]] = []

    def lines(self, count: int) -> list[str]:
        return [line for _ in range(count) for line in self._next()]

    def _next(self) -> list[str]:
        self.clock += self.rng.choice([0, 0, 1, 1, 2, 4])
        dice = self.rng.random()
        if dice < 0.03:
            return [self.rng.choice(BROKEN)]
        if dice < 0.07 and self.table.schemes:
            return [self._punctuation()]
        if dice < 0.35 and self.table.retractable and self.rows:
            return self._negative()
        return [self._tuple()]

    def _time(self) -> int:
        if self.rng.random() < 0.03:
            return self.clock - self.table.lateness - self.rng.randint(1, 3)
        return self.clock - self.rng.randint(0, self.table.lateness)

    def _record(self, row: dict[str, Any], time: int) -> dict[str, Any]:
        shown = {n: v for n, v in row.items() if v is not None or self.rng.random() < 0.5}
        return shown | {"ts": moment(time, self.table.calendar)}

    def _tuple(self) -> str:
        if self.rows and self.rng.random() < 0.25:
            row = self.rng.choice(self.rows)
        else:
            row = {n: _value(self.rng, t, n) for n, t in self.table.columns.items() if n != "ts"}
        self.rows.append(row)
        return _text(self.rng, self._record(row, self._time()))

    def _negative(self) -> list[str]:
        row = self.rng.choice([self.rng.choice(self.rows), *self.rows[-2:]])
        if self.rng.random() < 0.1:
            row = row | {"k": 77}
        if any(all(row[n] == v for n, v in punctuation.items()) for punctuation in self.punctuations):
            return []  # whether a deletion can break a promise is left open here
        return [_text(self.rng, {"@op": "-"} | self._record(row, self._time()))] * self.rng.choice(
            [1, 1, 1, 2]
        )

    def _punctuation(self) -> str:
        names, _ = self.table.schemes[0]
        punctuation = {n: _value(self.rng, self.table.columns[n], n) for n in names}
        self.punctuations.append(punctuation)
        return _text(self.rng, {"@punctuate": punctuation, "ts": moment(self.clock, self.table.calendar)})
