"""What is inferred holds for every row that satisfies the conditions; the chains of the paper are found."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import pairwise

import numpy as np

from seine.algebra.expressions import Column, Expression
from seine.algebra.functions import literal, resolve_call
from seine.algebra.types import BIGINT, DATE, DOUBLE, INT, STRING, Type
from seine.evaluate.evaluate import truth
from seine.optimizer.canonical.atoms import NEVER, PredicateSet, clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.infer import infer
from tests.support.canonical_conditions import (
    COLUMNS,
    MONEY,
    holds,
    random_condition,
    random_literal,
    random_rows,
)
from tests.support.canonical_solver import counterexample
from tests.support.seeds import seeds

ROWS = 400


def op(name: str, *args: Expression | int | str | float | Decimal) -> Expression:
    return resolve_call(name, [arg if isinstance(arg, Expression) else literal(arg) for arg in args])


def conditions(*parts: Expression) -> PredicateSet:
    return conjoin(canonicalise(part).clauses for part in parts)


def inferred(*parts: Expression) -> list[str]:
    return [str(clause_expression(clause)) for clause in infer(conditions(*parts))]


def chain(type_: Type, count: int) -> list[Column]:
    return [Column(index, type_) for index in range(count)]


def test_the_amounts_of_the_paper() -> None:
    r1, r2, r3 = chain(MONEY, 3)
    half = op("mul", r1, Decimal("0.5"))
    consequences = inferred(op("gt", r1, 1_000_000), op("gt", r2, half), op("eq", r3, r2))
    assert consequences == ["ge(#1, 500000.01)", "ge(#2, 500000.01)"]


def test_the_amounts_of_the_paper_as_doubles() -> None:
    r1, r2, r3 = chain(DOUBLE, 3)
    half = op("mul", r1, Decimal("0.5"))
    consequences = inferred(op("gt", r1, 1_000_000), op("gt", r2, half), op("eq", r3, r2))
    assert consequences == ["gt(#1, 500000.0)", "gt(#2, 500000.0)"]


def test_a_longer_chain() -> None:
    a = chain(BIGINT, 7)
    links = [op("gt", one, op("add", op("mul", before, 2), 1)) for before, one in pairwise(a)]
    assert inferred(op("ge", a[0], 1), *links)[-1] == "ge(#6, 190)"


def test_dates_within_a_window() -> None:
    d, e, f = chain(DATE, 3)
    window = [
        op("le", e, op("add", d, 20)),
        op("ge", e, d),
        op("le", op("datediff", f, e), 5),
        op("eq", f, f),
    ]
    consequences = inferred(op("between", d, "2024-01-01", "2024-01-10"), *window)
    assert consequences == ["ge(#1, 2024-01-01)", "le(#1, 2024-01-30)", "le(#2, 2024-02-04)"]


def test_constants_patterns_and_lists_pass_through_equalities() -> None:
    s, t, u = chain(STRING, 3)
    said = [op("like", u, "ab%"), op("in", t, "abc", "abd"), op("ge", s, "abd")]
    assert inferred(op("eq", s, t), op("eq", u, t), *said) == [
        "in(#0, 'abc', 'abd')",
        "ge(#1, 'abd')",
        "in(#2, 'abc', 'abd')",
        "ge(#2, 'abd')",
    ]


def test_equal_numbers_of_two_types() -> None:
    a, b = Column(0, INT), Column(1, BIGINT)
    assert inferred(op("eq", a, b), op("eq", b, 7)) == ["eq(#0, 7)"]
    assert infer(conditions(op("eq", a, b), op("gt", b, 2**40))) == ((NEVER,),)


def test_contradictions_are_found() -> None:
    a, b = chain(INT, 2)
    assert infer(conditions(op("gt", a, b), op("lt", a, 3), op("gt", b, 5))) == ((NEVER,),)
    s, t = chain(STRING, 2)
    assert infer(conditions(op("lt", s, t), op("eq", t, "a"), op("gt", s, "b"))) == ((NEVER,),)


def test_conditions_that_chase_each_other_end() -> None:
    a, b = chain(BIGINT, 2)
    assert len(infer(conditions(op("lt", a, b), op("lt", b, a), op("ge", a, 0)))) <= 2


def test_what_turns_the_order_of_doubles_round_minds_nan() -> None:
    x, y = chain(DOUBLE, 2)
    turned = op("le", y, op("mul", x, -1))
    assert inferred(op("ge", x, 5), turned) == []  # x may be NaN, and so may -x
    assert inferred(op("between", x, 5, 6), turned) == ["le(#1, -5.0)"]


@seeds(12)
def test_rows_that_satisfy_the_conditions_satisfy_what_is_inferred(seed: int) -> None:
    """The conditions are chosen so that one row at least satisfies them all."""
    rng = random.Random(seed)
    columns = random_rows(rng, ROWS)
    count = 0
    for _ in range(25):
        witness = rng.randrange(ROWS)
        row = [column.slice(witness, 1) for column in columns]
        candidates = [linking(rng) if rng.random() < 0.8 else random_condition(rng, 1) for _ in range(30)]
        chosen = [candidate for candidate in candidates if truth(candidate, row, 1)[0]][:8]
        form = conditions(*chosen)
        further = infer(form)
        count += len(further)
        wanted = holds(form, columns, ROWS)
        assert wanted[witness]
        assert not np.any(wanted & ~holds(further, columns, ROWS)), [str(c) for c in chosen]
    assert count


def linking(rng: random.Random) -> Expression:
    """A comparison of a column with a constant, or with another column that is moved or scaled."""
    left = rng.choice(COLUMNS[:15])
    name = rng.choice(["eq", "lt", "le", "gt", "ge"])
    same = [column for column in COLUMNS if column.type == left.type and column != left]
    if not same or rng.random() < 0.4:
        return resolve_call(name, [left, random_literal(rng, left.type)])
    right: Expression = rng.choice(same)
    if left.type.is_numeric and rng.random() < 0.6:
        change = rng.choice([literal(2), literal(-1), literal(Decimal("0.5")), literal(3)])
        right = resolve_call(rng.choice(["mul", "add", "sub"]), [right, change])
    elif left.type == DATE and rng.random() < 0.6:
        right = resolve_call(rng.choice(["add", "sub"]), [right, literal(rng.randint(0, 20))])
    return resolve_call(name, [left, right])


@seeds(5)
def test_a_solver_finds_no_counterexample(seed: int) -> None:
    rng = random.Random(seed)
    columns = chain(INT, 4)
    matches = 0
    for _ in range(12):
        form = conditions(*(linear(rng, columns) for _ in range(6)))
        further = infer(form)
        matches += len(further)
        assert counterexample(form, further) is None, (form, further)
    assert matches


def linear(rng: random.Random, columns: list[Column]) -> Expression:
    name = rng.choice(["eq", "lt", "le", "gt", "ge", "ge"])
    left, right = rng.sample(columns, 2)
    if rng.random() < 0.4:
        return op(name, left, rng.randint(-20, 20))
    return op(
        name,
        op("mul", left, rng.choice([1, 1, 2, -3])),
        op("add", op("mul", right, rng.randint(1, 3)), rng.randint(-9, 9)),
    )
