"""Values put in for fixed columns: random conditions keep their rows, and sums lose what is fixed."""

from __future__ import annotations

import random

import pytest

from seine.algebra.expressions import Expression
from seine.algebra.functions import literal, resolve_call
from seine.optimizer.canonical.atoms import NEVER, Clause
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.fewest import with_fixed_values
from tests.support.canonical_conditions import COLUMNS, holds, random_condition, random_rows
from tests.support.seeds import seed_range

ROWS = 300
X, Y = COLUMNS[2], COLUMNS[3]


def call(name: str, *args: Expression | int) -> Expression:
    return resolve_call(name, [literal(a) if isinstance(a, int) else a for a in args])


def told_clauses(*conditions: Expression) -> set[Clause]:
    clauses = conjoin(canonicalise(condition).clauses for condition in conditions)
    return {*with_fixed_values(clauses, ())}


@pytest.mark.parametrize(
    ("sum_", "plain"),
    [
        (call("eq", Y, call("add", X, 1)), call("eq", Y, 2)),
        (call("eq", call("sub", Y, X), 1), call("eq", Y, 2)),
        (call("gt", call("sub", X, Y), -4), call("lt", Y, 5)),
        (call("ge", call("add", Y, Y), call("add", X, 6)), call("ge", Y, 4)),
    ],
)
def test_a_sum_with_a_fixed_column_is_a_condition_on_the_other(sum_: Expression, plain: Expression) -> None:
    assert told_clauses(call("eq", X, 1), sum_) == told_clauses(call("eq", X, 1), plain)
    assert told_clauses(sum_) != told_clauses(plain)


def test_a_sum_that_no_value_satisfies_holds_for_no_row() -> None:
    twice = call("eq", call("add", Y, Y), call("add", X, 2))
    assert (NEVER,) in told_clauses(call("eq", X, 1), twice)


def test_the_same_rows_satisfy_the_conditions() -> None:
    changed = satisfied = 0
    for seed in seed_range(150):
        chance = random.Random(seed)
        columns = random_rows(chance, ROWS)
        row = chance.randrange(ROWS)
        whole = chance.sample(COLUMNS[:4], 3)
        fixed = [
            call("eq", c, v)
            for c in whole[: 1 + seed % 2]
            if (v := columns[c.index][row].as_py()) is not None
        ]
        bound = chance.randint(-30, 30)
        sums = [
            call(chance.choice(["eq", "le", "gt", "ne", "ne"]), call("sub", a, b), bound)
            for a, b in ((whole[0], whole[2]), (whole[2], whole[1]))
        ]
        more = [random_condition(chance, 1)] if seed % 3 == 0 else []
        forms = [canonicalise(one) for one in (*fixed, *sums, *more)]
        given, known = conjoin(form.clauses for form in forms[1:]), forms[0].clauses
        now = with_fixed_values(given, known)
        expected = holds((*given, *known), columns, ROWS)
        assert (holds((*now, *known), columns, ROWS) == expected).all(), seed
        changed += now != given
        satisfied += int(expected.sum())
    assert changed > 50 and satisfied > 100
