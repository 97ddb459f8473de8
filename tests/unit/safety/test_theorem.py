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
from itertools import product

from seine.safety.states.check_plan import judge
from tests.generators.punctuated import Case, Row, random_case, random_result
from tests.support.front_end import parse

FRESH = 99
FAR = 10_000  # where the watermarks are
SHIFTS = (0, 30, 60, 90)  # of tuples that may still come: as far apart as conditions ask


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
    rows_there = history[place][:1] if place == item else [*history[place], *_coming(case, history, place)]
    for row in rows_there:
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
    counts = [0, 0]
    shapes = set()
    while sum(counts) < 600:
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
                counts[freed[f"x{i}"]] += 1
    assert min(counts) > 150 and len(shapes) == 4


def _strangers(rng: random.Random, case: Case, place: int) -> list[Row]:
    count = rng.choice([0, 0, 1])
    return [(rng.randrange(3), rng.randrange(3), rng.randrange(3), rng.randrange(40)) for _ in range(count)]
