"""What is said to follow does follow: against random rows and against a solver."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Column, Expression
from seine.algebra.functions import literal, resolve_call
from seine.algebra.types import DATE, DOUBLE, INT, STRING
from seine.optimizer.canonical import implies as implication
from seine.optimizer.canonical.atoms import PredicateSet
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.implies import clause_implies, implies
from tests.support.canonical_conditions import COLUMNS, MONEY, holds, random_condition, random_rows
from tests.support.canonical_solver import counterexample
from tests.support.seeds import seeds

ROWS = 400
X, Y = Column(0, INT), Column(1, INT)


def condition(name: str, *args: Expression | int | str | float) -> PredicateSet:
    """The clauses of a comparison; plain values are constants."""
    typed = [arg if isinstance(arg, Expression) else literal(arg) for arg in args]
    return canonicalise(resolve_call(name, typed)).clauses


@seeds(12)
def test_no_row_contradicts_a_claim(seed: int) -> None:
    rng = random.Random(seed)
    columns = random_rows(rng, ROWS)
    few = rng.sample(COLUMNS, 3)
    forms = [canonicalise(near(rng, few)).clauses for _ in range(30)]
    forms += [canonicalise(random_condition(rng, 1)).clauses for _ in range(20)]
    true = [holds(form, columns, ROWS) for form in forms]
    claims = 0
    for a, rows_a in zip(forms, true, strict=True):
        for b, rows_b in zip(forms, true, strict=True):
            if a is not b and implies(a, b):
                claims += 1
                assert not np.any(rows_a & ~rows_b), (a, b)
    assert claims


def near(rng: random.Random, columns: list[Column]) -> Expression:
    """A condition that is likely to have to do with another one."""
    while True:
        condition = random_condition(rng, rng.choice([0, 0, 1]))
        if any(str(column) in str(condition) for column in columns):
            return condition


def interval_atom(rng: random.Random, x: Column, most: int) -> PredicateSet:
    name = rng.choice(["lt", "le", "gt", "ge", "eq", "ne", "is_not_null", "is_null"])
    return condition(name, x) if name.startswith("is") else condition(name, x, rng.randint(0, most))


def random_clauses(rng: random.Random, most: int) -> PredicateSet:
    sets = []
    for _ in range(rng.randint(1, 3)):
        atoms = [interval_atom(rng, X, most) for _ in range(rng.randint(1, 3))]
        merged = tuple(atom for one in atoms for clause in one for atom in clause)
        sets.append((merged,))
    return conjoin(sets)


@seeds(4)
def test_conditions_on_one_term_are_decided_by_single_clauses(seed: int) -> None:
    """On one term the claim is made just when it is true, if each side's clauses have one atom."""
    rng = random.Random(seed)
    agreed = {True: 0, False: 0}
    for _ in range(100):
        stronger = conjoin(interval_atom(rng, X, 5) for _ in range(rng.randint(1, 3)))
        weaker = random_clauses(rng, 5)
        claimed = implies(stronger, weaker)
        assert claimed == (counterexample(stronger, weaker) is None)
        agreed[claimed] += 1
    assert agreed[True] > 10 and agreed[False] > 10


@seeds(4)
def test_a_solver_finds_no_counterexample(seed: int) -> None:
    """Linear conditions over several columns; what the solver finds is a counterexample as a row, too."""
    rng = random.Random(seed)
    sets = [conjoin(linear_condition(rng) for _ in range(rng.randint(1, 3))) for _ in range(10)]
    sets += [conjoin([one, linear_condition(rng)]) for one in sets[:5]]
    claims = 0
    for a, b in permutations(sets, 2):
        counter = counterexample(a, b)
        claims += implies(a, b)
        assert not (implies(a, b) and counter), (a, b, counter)
        if counter is not None:
            row = [pa.array([counter.get(column.index)], pa.int32()) for column in (X, Y)]
            assert holds(a, row, 1)[0] and not holds(b, row, 1)[0]
    assert claims


def linear_condition(rng: random.Random) -> PredicateSet:
    op = rng.choice(["lt", "le", "gt", "ge", "eq", "ne"])
    if rng.random() < 0.4:
        return condition(op, rng.choice([X, Y]), rng.randint(-3, 3))
    if rng.random() < 0.4:
        return condition(op, X, Y)
    left = resolve_call("mul", [literal(rng.randint(1, 3)), X])
    right = resolve_call("add", [Y, literal(rng.randint(-3, 3))])
    return condition(op, left, right)


S, T = Column(0, STRING), Column(1, STRING)
F = Column(0, DOUBLE)
M, N = Column(0, MONEY), Column(1, MONEY)
D, E = Column(0, DATE), Column(1, DATE)

CLAIMS: list[tuple[PredicateSet, PredicateSet, bool]] = [
    (condition("like", S, "abc%"), condition("like", S, "ab%"), True),
    (condition("like", S, "ab%"), condition("like", S, "abc%"), False),
    (condition("eq", S, "abcd"), condition("like", S, "ab%"), True),
    (condition("eq", S, "ab"), condition("in", S, "ab", "c"), True),
    (condition("in", S, "ab", "c"), condition("in", S, "ab", "c", "d"), True),
    (condition("in", S, "ab", "c", "d"), condition("in", S, "ab", "c"), False),
    (condition("gt", F, 1.5), condition("ge", F, 1.5), True),
    (condition("ge", F, 1.5), condition("gt", F, 1.5), False),
    (condition("gt", F, 1.5), condition("ne", F, 1.5), True),
    (condition("gt", M, 5), condition("ge", M, 5), True),
    (condition("eq", X, Y), condition("le", X, Y), True),
    (condition("le", X, Y), condition("eq", X, Y), False),
    (condition("eq", M, N), condition("ge", M, N), True),
    (condition("gt", M, N), condition("ne", M, N), True),
    (
        condition("le", E, resolve_call("add", [D, literal(10)])),
        condition("le", resolve_call("datediff", [E, D]), 20),
        True,
    ),
    (
        condition("le", resolve_call("datediff", [E, D]), 20),
        condition("le", E, resolve_call("add", [D, literal(10)])),
        False,
    ),
    (condition("between", X, 3, 4), condition("in", X, 3, 4, 9), True),
    (condition("between", X, 3, 5), condition("in", X, 3, 4, 9), False),
    (condition("lt", X, 2) + condition("gt", X, 3), condition("eq", Y, 1), True),
    (condition("is_null", X), condition("is_not_null", X), False),
    (condition("eq", X, Y), condition("is_not_null", Y), True),
]


@pytest.mark.parametrize(("stronger", "weaker", "follows"), CLAIMS)
def test_claims(stronger: PredicateSet, weaker: PredicateSet, follows: bool) -> None:
    assert implies(stronger, weaker) is follows
    if len(stronger) == len(weaker) == 1:
        assert clause_implies(stronger[0], weaker[0]) is follows


@seeds(8)
def test_what_is_seen_at_once_is_so(seed: int) -> None:
    rng = random.Random(seed)
    few = rng.sample(COLUMNS, 3)
    forms = [canonicalise(near(rng, few)).clauses for _ in range(40)]
    forms += [condition("is_not_null", X), condition("is_null", Y), condition("eq", X, Y)]
    clauses = [clause for form in forms for clause in form]
    at_once = 0
    for one, other in permutations(clauses, 2):
        if not implication._may_imply(one, other):
            at_once += 1
            assert not implication._clause_implies(one, other), (one, other)
    assert at_once > 50
