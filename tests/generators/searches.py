"""Random schemas, streams and keyword queries: cycles, self-edges, parallel edges, keys of many types.

Domains are tiny, so that tuples join and words meet, and inputs are short: the reference looks at all sets of
tuples.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any
from unicodedata import normalize

from tests.generators.lines import moment
from tests.generators.scenario import Scenario
from tests.generators.tables import length

WORDS = ("amber", "basil", "Cedar", "zoë", "66")
SIGNS = (" ", ", ", "-", "_", "! ")
KEY_TYPES = ("BIGINT", "BIGINT", "BIGINT", "INT", "DOUBLE", "DECIMAL(8,2)", "STRING")


@dataclass(frozen=True)
class SearchedTable:
    """A stream or relation with columns of keys and of text."""

    name: str
    is_stream: bool
    keys: dict[str, str]
    texts: tuple[str, ...]
    calendar: bool = False
    window: int | None = None
    lateness: int = 0
    retractable: bool = False
    valid: bool = False

    def declaration(self) -> str:
        columns = [f"{name} {type_}" for name, type_ in self.keys.items()]
        columns += [f"{name} STRING" for name in self.texts]
        time = "TIMESTAMP" if self.calendar else "BIGINT"
        if self.is_stream:
            columns.append(f"ts {time}")
        elif self.valid:
            columns += [f"begin {time}", f'"end" {time}']
        kind = "STREAM" if self.is_stream else "RELATION"
        clauses = "".join(self._clauses())
        return f"CREATE {kind} {self.name} ({', '.join(columns)}){clauses} FROM '{self.name}.jsonl';"

    def _clauses(self) -> list[str]:
        if not self.is_stream:
            return [' VALID FROM begin TO "end"'] * self.valid
        clauses = [" TIMESTAMP BY ts"]
        if self.window is not None:
            clauses.append(f" WINDOW {length(self.window, self.calendar)}")
        if self.lateness:
            clauses.append(f" LATENESS {length(self.lateness, self.calendar)}")
        return clauses + [" RETRACTABLE"] * self.retractable


def search_scenario(
    seed: int, queries: int = 6, *, appending: bool = False, stored: bool = True, rows: int = 14
) -> Scenario:
    """The scenario of a seed; an `appending` one has no deletions, no relations, and windows everywhere.

    Relations are `stored`.
    """
    rng = Random(seed)
    tables = _tables(rng, appending, stored)
    edges = _edges(rng, tables)
    texts = [random_search(rng, tables) for _ in range(queries)]
    return Scenario(
        (*(table.declaration() for table in tables), *(f"CREATE JOIN {edge};" for edge in edges)),
        {f"q{i}": text for i, text in enumerate(texts, 1)},
        {table.name: _lines(rng, table, rng.randint(rows // 2, rows)) for table in tables},
    )


def _tables(rng: Random, appending: bool, stored: bool) -> list[SearchedTable]:
    calendar = rng.random() < 0.2
    tables = [
        SearchedTable(
            f"s{i}",
            True,
            _keys(rng),
            tuple(f"t{n}" for n in range(rng.choice([0, 1, 1, 1, 2]))) or (("t0",) if i == 0 else ()),
            calendar,
            window=rng.choice([4, 8, 15] if appending else [None, 4, 8, 15]),
            lateness=rng.choice([0, 0, 3, 12, 40]),
            retractable=not appending and rng.random() < 0.3,
        )
        for i in range(rng.randint(2, 4))
    ]
    relations = rng.choice([0, 0, 1, 2]) if stored and not appending else 0
    return tables + [
        SearchedTable(f"r{i}", False, _keys(rng), ("t0",), calendar, valid=rng.random() < 0.5)
        for i in range(relations)
    ]


def _keys(rng: Random) -> dict[str, str]:
    return {f"k{i}": rng.choice(KEY_TYPES) for i in range(rng.randint(1, 3))}


def _edges(rng: Random, tables: list[SearchedTable]) -> list[str]:
    """A path through all tables mostly, and more edges: cycles, self-edges and parallel ones come about."""

    def side(table: SearchedTable) -> str:
        return f"{table.name}.{rng.choice(list(table.keys))}"

    pairs = [(side(a), side(b)) for a, b in pairwise(tables) if rng.random() < 0.9]
    for _ in range(rng.choice([0, 1, 1, 2])):
        pairs.append((side(rng.choice(tables)), side(rng.choice(tables))))
    distinct = {frozenset(pair): pair for pair in pairs}
    return [f"{left} = {right}" for left, right in distinct.values()]


def random_search(rng: Random, tables: list[SearchedTable]) -> str:
    """A keyword query over these tables."""
    columns = sorted({name for table in tables for name in table.texts})
    terms = [_term(rng, columns) for _ in range(rng.choice([1, 2, 2, 2, 3, 3, 4]))]
    streams = [table.name for table in tables if table.is_stream]
    over = ""
    if rng.random() < 0.3:
        chosen = {rng.choice(streams), *(table.name for table in tables if rng.random() < 0.7)}
        over = f" OVER ({', '.join(sorted(chosen))})"
        inside = {name for table in tables if table.name in chosen for name in table.texts}
        terms = [term for term in terms if ":" not in term or term.split(":")[0] in inside] or ["amber"]
    most = rng.choice(["", " MAX 1 TUPLES", " MAX 2 TUPLES", " MAX 3 TUPLES", " MAX 5 TUPLES"])
    return f"SEARCH '{' '.join(terms)}'{over}{most}"


def _term(rng: Random, columns: list[str]) -> str:
    word = _spelled(rng, rng.choice(WORDS))
    kind = rng.random()
    if kind < 0.7 or not columns:
        return word
    if kind < 0.78:
        return f'"{word} {rng.choice(WORDS)}"'
    if kind < 0.85:
        return f"{word[:2]}*"
    return f"{word}|{rng.choice(WORDS)}" if kind < 0.93 else f"{rng.choice(columns)}:{word}"


def _spelled(rng: Random, word: str) -> str:
    return rng.choice([str.upper, str.lower, _decomposed])(word)


def _decomposed(word: str) -> str:
    """Accents as characters of their own."""
    return normalize("NFD", word)


def _lines(rng: Random, table: SearchedTable, count: int) -> list[str]:
    if not table.is_stream:
        return [json.dumps(_row(rng, table) | _validity(rng, table)) for _ in range(count // 2)]
    clock, lines, rows = rng.randint(0, 3), [], []
    for _ in range(count):
        clock += rng.choice([0, 0, 1, 1, 2, 4])
        time = clock - rng.randint(0, table.lateness) - (rng.random() < 0.03) * (table.lateness + 2)
        negative = table.retractable and bool(rows) and rng.random() < 0.25
        row = rng.choice(rows) if rows and (negative or rng.random() < 0.1) else _row(rng, table)
        rows.append(row)
        sign = {"@op": "-"} if negative else {}
        shown = {name: value for name, value in row.items() if value is not None}
        lines.append(json.dumps(sign | shown | {"ts": moment(time, table.calendar)}))
    return lines


def _validity(rng: Random, table: SearchedTable) -> dict[str, Any]:
    if not table.valid:
        return {}
    begin = rng.randint(0, 12)
    ends = {"begin": begin, "end": begin + rng.randint(1, 20)}
    return {name: moment(at, table.calendar) for name, at in ends.items() if rng.random() < 0.8}


def _row(rng: Random, table: SearchedTable) -> dict[str, Any]:
    keys = {name: _key(rng, type_) for name, type_ in table.keys.items()}
    return keys | {name: _text(rng) for name in table.texts}


def _key(rng: Random, type_: str) -> Any:
    if rng.random() < 0.08:
        return None
    number = rng.randint(1, 3)
    return str(number) if type_ == "STRING" else float(number) if type_ == "DOUBLE" else number


def _text(rng: Random) -> str | None:
    if rng.random() < 0.1:
        return None
    words = [_spelled(rng, word) for word in rng.sample(WORDS, rng.choice([0, 0, 1, 1, 1, 2, 2]))]
    return "".join(word + rng.choice(SIGNS) for word in words)
