"""Parts of dates as bounds: random conditions keep their rows, and parts go where a larger unit is fixed."""

from __future__ import annotations

import datetime as dt
from random import Random

import pyarrow as pa
import pytest

from seine.algebra.expressions import Column, Expression, Literal
from seine.algebra.functions import literal, resolve_call
from seine.algebra.types import DATE, TIMESTAMP
from seine.optimizer.canonical.atoms import NEVER, Clause, clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.fewest import with_calendar_parts
from tests.support.canonical_conditions import holds
from tests.support.seeds import seed_range

D, T = Column(0, DATE), Column(1, TIMESTAMP)
ROWS = 400


def call(name: str, *args: Expression | int | dt.date) -> Expression:
    return resolve_call(name, [a if isinstance(a, Expression) else _literal(a) for a in args])


def _literal(value: int | dt.date) -> Expression:
    return literal(value) if isinstance(value, int) else Literal(value, DATE)


def part(name: str, op: str, number: int, of: Expression = D) -> Expression:
    return call(op, call(name, of), number)


def told_clauses(*conditions: Expression) -> set[Clause]:
    return {*with_calendar_parts(conjoin(canonicalise(condition).clauses for condition in conditions), ())}


@pytest.mark.parametrize(
    ("parts", "first", "last"),
    [
        ((part("year", "eq", 2024), part("month", "eq", 2)), (2024, 2, 1), (2024, 2, 29)),
        ((part("year", "eq", 1960), part("quarter", "ge", 4)), (1960, 10, 1), (1960, 12, 31)),
        ((part("year", "eq", 2024), part("dayofyear", "le", 32)), (2024, 1, 1), (2024, 2, 1)),
        ((part("year", "eq", 1), part("month", "eq", 1), part("day", "gt", 30)), (1, 1, 31), (1, 1, 31)),
        ((part("year", "eq", 9999), part("month", "eq", 12)), (9999, 12, 1), (9999, 12, 31)),
    ],
)
def test_parts_within_their_unit_are_bounds(
    parts: tuple[Expression, ...], first: tuple[int, int, int], last: tuple[int, int, int]
) -> None:
    bounds = call("between", D, dt.date(*first), dt.date(*last))
    assert told_clauses(*parts) == told_clauses(bounds)


def test_what_is_not_within_one_unit_stays() -> None:
    for few in ((part("month", "eq", 5),), (part("year", "ge", 2024), part("month", "eq", 5))):
        assert any("month" in str(clause_expression(clause)) for clause in told_clauses(*few))
    assert (NEVER,) in told_clauses(part("year", "eq", 2024), part("month", "eq", 13))


def test_the_same_rows_satisfy_the_conditions() -> None:
    changed = satisfied = 0
    for seed in seed_range(60):
        rng = Random(seed)
        columns = [pa.array(_days(rng), DATE.arrow()), pa.array(_moments(rng), TIMESTAMP.arrow())]
        of = rng.choice([D, T])
        conditions = [part("year", rng.choice(["eq", "eq", "le"]), 2024, of)]
        for name, most in rng.sample([("month", 12), ("quarter", 4), ("day", 31), ("dayofyear", 366)], 2):
            conditions.append(_random_part(rng, name, most, of))
        if of is T:
            conditions += [_random_part(rng, name, most, of) for name, most in (("hour", 23), ("minute", 59))]
        given = conjoin(canonicalise(one).clauses for one in conditions)
        known, given = given[: seed % 2], given[seed % 2 :]
        now = with_calendar_parts(given, known)
        expected = holds((*given, *known), columns, ROWS)
        assert (holds((*now, *known), columns, ROWS) == expected).all(), seed
        changed += now != given
        satisfied += int(expected.sum())
    assert changed > 25 and satisfied > 500


def _random_part(rng: Random, name: str, most: int, of: Expression) -> Expression:
    ops = ["eq", "ne", "ge", "le", "in"]
    op, numbers = rng.choice(ops), [rng.choice([0, 1, 2, 3, rng.randint(1, most), most]) for _ in range(3)]
    if op == "in":
        return call("in", call(name, of), *numbers)
    return part(name, op, numbers[0], of)


def _days(rng: Random) -> list[dt.date | None]:
    days = [dt.date(2024, 1, 1) + dt.timedelta(rng.randint(-40, 420)) for _ in range(ROWS - 10)]
    return [*days, *[None] * 5, *[dt.date(2024, 2, 29)] * 5]


def _moments(rng: Random) -> list[dt.datetime | None]:
    times = [dt.time(rng.choice([0, 1, 3, 23]), rng.choice([0, 2, 59]), 59, 999_999) for _ in range(ROWS)]
    days = [dt.date(2024, rng.choice([1, 1, 2, 12]), rng.choice([1, 2, 3, 29])) for _ in range(ROWS)]
    moments = [dt.datetime.combine(*both, dt.UTC) for both in zip(days, times, strict=True)]
    return [None if rng.random() < 0.05 else moment for moment in moments]
