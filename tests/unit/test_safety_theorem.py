"""The verdict against its meaning: can a new result with an old tuple still come, after every promise?

For a random query a history is made up in which a tuple of each stream has been part of a result. Then
every promise about the values of the history is given, and all watermarks are far beyond it. If the
verdict calls a stream purgeable, no tuple that may still come makes a result with the old tuple of that
stream. If not, one is found, with values that nobody has seen: the construction of the proof of Theorem 1.
Nothing here knows of graphs: results are searched for by trying tuples.

Cites: SAFETY 4.1 (Thm 1), SAFETY 4.2 (Thm 3)
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from seine.safety.judging import judge
from tests.unit.front_end import parse

FRESH = 99
FAR = 10_000  # where the watermarks are
SHIFTS = (0, 30, 60, 90)  # of tuples that may still come: as far apart as conditions ask
Row = tuple[int, int, int, int]  # a, b, c and ts


@dataclass(frozen=True)
class Table:
    """A stream or a relation of the test; schemes by column."""

    name: str
    schemes: tuple[tuple[int, ...], ...] = ()
    window: int | None = None
    is_relation: bool = False

    def declared(self) -> str:
        if self.is_relation:
            return f"CREATE RELATION {self.name} (a BIGINT, b BIGINT, c BIGINT, ts BIGINT) FROM 'x';"
        window = "" if self.window is None else f" WINDOW {self.window}"
        schemes = [f" PUNCTUATED ON ({', '.join('abc'[c] for c in scheme)})" for scheme in self.schemes]
        columns = "(a BIGINT, b BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts"
        return f"CREATE STREAM {self.name} {columns}{window}{''.join(schemes)} FROM 'x';"


@dataclass(frozen=True)
class Case:
    """Items of FROM, equalities ((item, column), (item, column)), and times: one.ts <= other.ts + most."""

    tables: tuple[Table, ...]
    equal: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    times: tuple[tuple[int, int, int], ...]

    def script(self) -> str:
        tables = {table.name: table.declared() for table in self.tables}
        items = ", ".join(f"{table.name} AS x{i}" for i, table in enumerate(self.tables))
        words = [f"x{i}.{'abc'[c]} = x{j}.{'abc'[d]}" for (i, c), (j, d) in self.equal]
        words += [f"x{i}.ts <= x{j}.ts + {most}" for i, j, most in self.times]
        where = f" WHERE {' AND '.join(words)}" if words else ""
        return "\n".join([*tables.values(), f"CREATE QUERY q AS SELECT x0.a AS a FROM {items}{where};"])

    def holds(self, rows: list[Row | None]) -> bool:
        """Whether the rows that are there satisfy every condition on them, and live together."""
        for (i, c), (j, d) in self.equal:
            one, other = rows[i], rows[j]
            if one is not None and other is not None and one[c] != other[d]:
                return False
        for i, j, most in self.times:
            one, other = rows[i], rows[j]
            if one is not None and other is not None and one[3] > other[3] + most:
                return False
        lives = [
            (row[3], FAR * 9 if table.window is None else row[3] + table.window)
            for table, row in zip(self.tables, rows, strict=True)
            if row is not None and not table.is_relation
        ]
        return not lives or max(start for start, _ in lives) < min(end for _, end in lives)


def random_case(rng: random.Random) -> Case:
    tables = [_table(rng, f"s{i}") for i in range(3)] + [Table("f", is_relation=True)]
    count = rng.choice([2, 2, 3, 3, 3, 4])
    items = [rng.choice(tables[:3])] + [rng.choices(tables, [3, 3, 3, 1])[0] for _ in range(count - 1)]
    equal, times = [], []
    for i in range(1, count):
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            equal.append(((rng.randrange(i), rng.randrange(3)), (i, rng.randrange(3))))
    streams = [i for i, item in enumerate(items) if not item.is_relation]
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        if len(streams) > 1:
            i, j = rng.sample(streams, 2)
            times.append((i, j, rng.choice([0, 20, -5])))
    if sum(not item.is_relation for item in items) < 2:
        return random_case(rng)
    return Case(tuple(items), tuple(equal), tuple(times))


def _table(rng: random.Random, name: str) -> Table:
    sizes = [rng.choice([1, 1, 2]) for _ in range(rng.choice([0, 1, 1, 2]))]
    schemes = {tuple(sorted(rng.sample(range(3), size))) for size in sizes}
    return Table(name, tuple(sorted(schemes)), rng.choice([None, None, None, 50]))


def random_result(rng: random.Random, case: Case) -> list[Row] | None:
    """A combination that satisfies the case, if tries find one."""
    for _ in range(60):
        values = {(i, c): (i, c) for i in range(len(case.tables)) for c in range(3)}
        for one, other in case.equal:
            old, new = values[one], values[other]
            values = {key: new if value == old else value for key, value in values.items()}
        drawn = {value: rng.randrange(3) for value in values.values()}
        rows: list[Row] = []
        for i in range(len(case.tables)):
            a, b, c = (drawn[values[i, column]] for column in range(3))
            rows.append((a, b, c, rng.randrange(0, 40)))
        if case.holds([*rows]):
            return rows
    return None


def new_result(case: Case, history: list[list[Row]], item: int) -> list[Row] | None:
    """A result with the first tuple of an item's history and at least one tuple that may still come."""
    for rows in _combinations(case, history, [None] * len(case.tables), item, 0):
        if any(row[3] >= FAR for row, table in zip(rows, case.tables, strict=True) if not table.is_relation):
            return rows
    return None


def _combinations(
    case: Case, history: list[list[Row]], rows: list[Row | None], item: int, place: int
) -> Iterator[list[Row]]:
    if place == len(rows):
        yield [row for row in rows if row is not None]
        return
    own = history[place][:1] if place == item else [*history[place], *_coming(case, history, place)]
    for row in own:
        rows[place] = row
        if case.holds(rows):
            yield from _combinations(case, history, rows, item, place + 1)
        rows[place] = None


def _coming(case: Case, history: list[list[Row]], place: int) -> list[Row]:
    """The tuples that may still come: in time, and with a value of each scheme that nobody has seen."""
    table = case.tables[place]
    if table.is_relation:
        return []
    seen = sorted({value for rows in history for row in rows for value in row[:3]})
    drawn = product([*seen, FRESH], repeat=3)
    allowed = [row for row in drawn if all(any(row[c] == FRESH for c in s) for s in table.schemes)]
    return [(*row, FAR + shift) for row in allowed for shift in SHIFTS[: 1 + len(case.times)]]


def test_the_verdict_is_what_can_still_come():
    rng = random.Random(4)
    told = [0, 0]
    shapes = set()
    while sum(told) < 600:
        case = random_case(rng)
        rows = random_result(rng, case)
        if rows is None:
            continue
        shapes.add((len(case.times) > 0, any(table.is_relation for table in case.tables)))
        freed = judge(parse(case.script()).declarations.queries["q"].plan)
        history = [[row, *_strangers(rng, case, i)] for i, row in enumerate(rows)]
        for i, table in enumerate(case.tables):
            if not table.is_relation:
                still = new_result(case, history, i)
                assert freed[f"x{i}"] == (still is None), (case.script(), i, history, still)
                told[freed[f"x{i}"]] += 1
    assert min(told) > 150 and len(shapes) == 4


def _strangers(rng: random.Random, case: Case, place: int) -> list[Row]:
    count = rng.choice([0, 0, 1])
    return [(rng.randrange(3), rng.randrange(3), rng.randrange(3), rng.randrange(40)) for _ in range(count)]
