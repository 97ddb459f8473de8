"""Random joins of punctuated streams, relations and windows, small enough to be tried out by brute force."""

from __future__ import annotations

import random
from dataclasses import dataclass

FOREVER = 90_000  # beyond every instant that is tried
Row = tuple[int, int, int, int]  # a, b, c and ts


@dataclass(frozen=True)
class Table:
    """A stream or a relation of the test; schemes by column."""

    name: str
    schemes: tuple[tuple[int, ...], ...] = ()
    window: int | None = None
    is_relation: bool = False

    def declared(self) -> str:
        """With a column that tells tuples apart, which nothing is asked of."""
        columns, source = "(a BIGINT, b BIGINT, c BIGINT, ts BIGINT, id BIGINT)", f"FROM '{self.name}.jsonl';"
        if self.is_relation:
            return f"CREATE RELATION {self.name} {columns} {source}"
        window = "" if self.window is None else f" WINDOW {self.window}"
        schemes = [f" PUNCTUATED ON ({', '.join('abc'[c] for c in scheme)})" for scheme in self.schemes]
        return f"CREATE STREAM {self.name} {columns} TIMESTAMP BY ts{window}{''.join(schemes)} {source}"


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
        ids = ", ".join(f"x{i}.id AS i{i}" for i in range(len(self.tables)))
        query = f"CREATE QUERY q WITH (unbounded = true) AS SELECT {ids} FROM {items}{where};"
        return "\n".join([*tables.values(), query])

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
            (row[3], FOREVER if table.window is None else row[3] + table.window)
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
