"""Canonical forms mean what the text means, and texts that mean the same have one form."""

from __future__ import annotations

import random
import time

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression, conjuncts, split_shape
from seine.algebra.functions import literal, resolve_call
from seine.algebra.plan import Project, Select
from seine.algebra.types import BIGINT, BOOLEAN, INT, STRING
from seine.evaluate.evaluate import truth
from seine.optimizer.canonical.atoms import NEVER, clause_expression
from seine.optimizer.canonical.canonicalise import Canonical, canonicalise, conjoin
from seine.optimizer.canonical.implies import implies
from tests.support.canonical_conditions import holds, random_condition, random_rows
from tests.support.front_end import parse
from tests.support.seeds import seeds

ROWS = 400
STREAM = """\
CREATE STREAM r (d DATE, amount DECIMAL(15,2), n BIGINT, i INT, c STRING, tm TIMESTAMP, x DOUBLE, k BOOLEAN,
  fee DECIMAL(7,4), ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 'r.jsonl';
"""


def condition(sql: str) -> Expression:
    """The condition of a query over r1 (columns 0 to 9) and r2 (10 to 19)."""
    script = parse(f"{STREAM}CREATE QUERY q AS SELECT r1.i FROM r r1, r r2 WHERE {sql};")
    plan = script.declarations.queries["q"].plan
    assert isinstance(plan, Project) and isinstance(plan.input, Select)
    return plan.input.predicate


def texts(sql: str) -> list[str]:
    """The canonical clauses as text, sorted."""
    forms = [canonicalise(part).clauses for part in conjuncts(condition(sql))]
    return sorted(str(clause_expression(clause)) for clause in conjoin(forms))


SPELLINGS: dict[tuple[str, ...], list[str]] = {
    # operands and constants
    ("r1.i < r2.i", "r2.i > r1.i", "r1.i + 1 <= r2.i", "NOT r1.i >= r2.i", "r1.i - r2.i < 0"): [
        "le(linear[1,-1](#3, #13), -1)"
    ],
    (
        "r1.n = r2.n",
        "r2.n = r1.n",
        "r1.n - r2.n = 0",
        "NOT (r1.n <> r2.n)",
        "r1.n + 3 = r2.n + 3",
        "r1.n <= r2.n AND r1.n >= r2.n",
    ): ["eq(#2, #12)"],
    ("r1.i > 2 + 3", "5 < r1.i", "r1.i >= 6", "NOT r1.i <= 5", "r1.i > 5.5", "r1.i > 5e0"): ["ge(#3, 6)"],
    ("2 * r1.i >= 7", "r1.i * 2 > 6", "r1.i > 3", "-r1.i < -3", "r1.i + r1.i > 7"): ["ge(#3, 4)"],
    ("r1.n = r2.i", "r2.i = r1.n"): ["eq(#2, cast(#13))"],
    ("r1.amount <> r2.amount", "r1.amount < r2.amount OR r1.amount > r2.amount"): ["ne(#1, #11)"],
    # dates
    (
        "r2.d <= r1.d + 20",
        "r1.d >= r2.d - 20",
        "r2.d - 20 <= r1.d",
        "datediff(r2.d, r1.d) <= 20",
        "r2.d <= date_add(r1.d, 20)",
        "date_sub(r2.d, 20) <= r1.d",
        "r2.d <= r1.d + INTERVAL '20' DAY",
        "r2.d - r1.d <= INTERVAL '20' DAY",
        "r2.d - r1.d < INTERVAL '21' DAY",
        "unix_date(r2.d) - unix_date(r1.d) < 21",
    ): ["ge(linear[1,-1](#0, #10), -20)"],
    ("r1.d > '2024-01-01'", "r1.d >= DATE '2024-01-02'", "r1.d - 1 >= DATE '2024-01-01'"): [
        "ge(#0, 2024-01-02)"
    ],
    ("r2.tm <= r1.tm + INTERVAL '1' HOUR", "r2.tm - r1.tm <= INTERVAL '60' MINUTE"): [
        "ge(linear[1,-1](#5, #15), -3600000000)"
    ],
    ("date(r1.tm) = DATE '2024-01-01'", "CAST(r1.tm AS DATE) BETWEEN '2024-01-01' AND '2024-01-01'"): [
        "ge(#5, 2024-01-01 00:00:00+00:00)",
        "le(#5, 2024-01-01 23:59:59.999999+00:00)",
    ],
    # decimals
    ("r1.amount > 1000000", "1000000.00 < r1.amount", "r1.amount >= 1000000.01", "r1.amount * 2 > 2000000"): [
        "ge(#1, 1000000.01)"
    ],
    ("r2.amount > 0.5 * r1.amount", "r1.amount * 0.5 < r2.amount", "2 * r2.amount > r1.amount"): [
        "le(linear[1,-2](#1, #11), -0.01)"
    ],
    ("r1.amount = r1.fee + 1", "r1.amount - r1.fee = 1.0", "r1.fee - r1.amount = -1"): [
        "eq(linear[1,-1](#1, #8), 1.0000)"
    ],
    ("r1.fee = r1.amount",): ["eq(cast(#1), cast(#8))"],
    # doubles are turned, never moved
    ("r2.x > r1.x * 0.5", "0.5 * r1.x < r2.x", "NOT r2.x <= r1.x * 0.5", "r2.x > r1.x / 2"): [
        "gt(#16, mul(#6, 0.5))"
    ],
    ("r1.x < r2.x", "r2.x > r1.x"): ["lt(#6, #16)"],
    # logic
    ("NOT (r1.i > 5 OR r1.c IS NULL)", "r1.c IS NOT NULL AND r1.i <= 5", "r1.i < 6 AND NOT r1.c IS NULL"): [
        "is_not_null(#4)",
        "le(#3, 5)",
    ],
    ("r1.i BETWEEN 3 AND 5", "r1.i >= 3 AND r1.i <= 5", "NOT (r1.i < 3 OR r1.i > 5)"): [
        "ge(#3, 3)",
        "le(#3, 5)",
    ],
    ("r1.i IN (3, 2, 3)", "r1.i = 2 OR r1.i = 3", "r1.i IN (2, 3, NULL)"): ["in(#3, 2, 3)"],
    ("r1.i NOT IN (2)", "r1.i <> 2", "r1.i < 2 OR r1.i > 2", "NOT r1.i = 2"): ["ne(#3, 2)"],
    ("r1.i NOT IN (2, NULL)", "r1.i > 5 AND r1.i < 4", "FALSE", "r1.i = 2.5", "r1.i > 3000000000"): ["False"],
    ("r1.i = r1.i", "r1.i IS NOT NULL", "r1.i < 3000000000", "r1.i <= 5 OR r1.i > 3"): ["is_not_null(#3)"],
    ("r1.i > 5 OR TRUE", "1 = 1", "r1.i IS NULL OR r1.i IS NOT NULL"): [],
    ("r1.i > 5 AND r1.i > 3", "r1.i > 5 AND (r1.i > 3 OR r1.n = 7)", "r1.i > 5 OR r1.i > 7"): ["ge(#3, 6)"],
    (
        "(r1.i = 1 AND r1.n = 2) OR (r1.i = 1 AND r1.n = 3)",
        "r1.i = 1 AND r1.n IN (2, 3)",
    ): ["eq(#3, 1)", "in(#2, 2, 3)"],
    ("r1.k", "r1.k = TRUE", "r1.k IS TRUE", "NOT NOT r1.k", "r1.k <> FALSE"): ["eq(#7, True)"],
    ("NOT r1.k", "r1.k = FALSE", "r1.k IS FALSE"): ["eq(#7, False)"],
    ("abs(r1.i - 3) <= 2", "r1.i BETWEEN 1 AND 5"): ["ge(#3, 1)", "le(#3, 5)"],
    ("abs(datediff(r1.d, r2.d)) < 6", "r1.d - r2.d BETWEEN INTERVAL '-5' DAY AND INTERVAL '5' DAY"): [
        "ge(linear[1,-1](#0, #10), -5)",
        "le(linear[1,-1](#0, #10), 5)",
    ],
    ("coalesce(r1.x, 0) < 7", "r1.x < 7 OR r1.x IS NULL", "r1.x < 7 OR (r1.x IS NULL AND 0 < 7)"): [
        "or(is_null(#6), lt(#6, 7.0))"
    ],
    ("coalesce(r1.i, 9) <= 7", "r1.i < 8", "coalesce(r1.i <= 7, FALSE)"): ["le(#3, 7)"],
    (
        "CASE WHEN r1.x > 4 THEN r1.i = 1 ELSE r1.n = 2 END",
        "(r1.x > 4 AND r1.i = 1) OR (coalesce(r1.x <= 4, TRUE) AND r1.n = 2)",
    ): ["or(eq(#2, 2), eq(#3, 1))", "or(eq(#2, 2), gt(#6, 4.0))", "or(eq(#3, 1), is_null(#6), le(#6, 4.0))"],
    # texts
    ("r1.c LIKE 'abc'", "r1.c = 'abc'", "'abc' = r1.c", "r1.c IN ('abc')"): ["eq(#4, 'abc')"],
    ("r1.c LIKE 'ab%%'", "startswith(r1.c, 'ab')", "r1.c LIKE 'ab%' ESCAPE '!'", "NOT r1.c NOT LIKE 'ab%'"): [
        "like(#4, 'ab%')"
    ],
    ("r1.c LIKE '%'", "r1.c IS NOT NULL", "r1.c >= ''"): ["is_not_null(#4)"],
}


@pytest.mark.parametrize(("spellings", "form"), SPELLINGS.items(), ids=lambda value: str(value[:1]))
def test_spellings_that_mean_the_same_have_one_form(spellings: tuple[str, ...], form: list[str]) -> None:
    assert {spelling: texts(spelling) for spelling in spellings} == dict.fromkeys(spellings, form)


def test_constants_alone_tell_apart_what_has_one_shape() -> None:
    pairs = [
        ("r2.d <= r1.d + 20", "r1.d >= r2.d - 10"),
        ("r1.amount > 1000000", "7.5 <= r1.amount"),
        ("r1.i IN (1, 2)", "r1.i = 11 OR r1.i = 5"),
        ("r1.c LIKE 'a%'", "startswith(r1.c, 'bc')"),
        ("r1.i > 5 OR r1.n < 7", "r1.n < 100 OR r1.i > 1"),
    ]
    for one, other in pairs:
        (a,), (b,) = (canonicalise(condition(sql)).clauses for sql in (one, other))
        assert split_shape(clause_expression(a))[0] == split_shape(clause_expression(b))[0]


def test_comparisons_with_constants_have_one_type_on_both_sides() -> None:
    rng = random.Random(7)
    compared = 0
    for _ in range(300):
        for clause in canonicalise(random_condition(rng, 1)).clauses:
            constants = [(atom.constant, atom.term) for atom in clause if atom.constant is not None]
            assert [constant.type for constant, _ in constants] == [term.type for _, term in constants]
            compared += len(constants)
    assert compared > 100


def test_guards_say_where_the_text_overflows() -> None:
    form = canonicalise(condition("r2.n >= r1.n - 20"))
    assert [str(clause_expression(guard)) for guard in form.guards] == [f"ge(#2, {-(2**63) + 20})"]
    assert not form.exact and not form.clauses[0][0].exact
    assert canonicalise(condition("datediff(r2.d, r1.d) <= 20")).exact


def test_differences_beyond_64_bits_compare_as_they_are() -> None:
    a, b = Column(0, BIGINT), Column(1, BIGINT)
    form = canonicalise(resolve_call("ge", [a, resolve_call("sub", [b, literal(20)])]))
    least, most = -(2**63), 2**63 - 1
    rows = [
        pa.array([most, least, most, least + 5], pa.int64()),
        pa.array([least, most, most, least + 25], pa.int64()),
    ]
    assert holds(form.clauses, rows, 4).tolist() == [True, False, True, True]


def test_a_disjunction_that_would_grow_stays_as_it_is() -> None:
    def pair(at: int) -> Expression:
        return resolve_call("and", [over(at), over(at + 1)])

    def over(at: int) -> Expression:
        return resolve_call("gt", [Column(at, INT), literal(0)])

    (clause,) = canonicalise(resolve_call("or", [pair(at) for at in range(0, 40, 2)])).clauses
    assert len(clause) == 1 and clause[0].op == "holds"
    assert len(canonicalise(resolve_call("or", [pair(at) for at in range(0, 6, 2)])).clauses) == 8


def test_a_condition_that_is_never_true_has_one_clause() -> None:
    never = Call("and", (resolve_call("gt", [Column(0, INT), literal(5)]), literal(False)), BOOLEAN)
    assert canonicalise(never) == Canonical(((NEVER,),), True)


@seeds(30)
def test_canonical_forms_hold_where_the_text_is_true(seed: int) -> None:
    rng = random.Random(seed)
    columns = random_rows(rng, ROWS)
    for _ in range(100):
        text = random_condition(rng, rng.choice([0, 0, 1, 2]))
        form = canonicalise(text)
        wanted = truth(text, columns, ROWS)
        enough = holds(form.clauses, columns, ROWS)
        assert not np.any(wanted & ~enough), str(text)
        exactly = enough & holds(form.guards, columns, ROWS)
        assert np.array_equal(exactly, wanted), str(text)
        assert form.exact == (form.guards == ())


def test_long_lists_take_no_longer_than_they_are() -> None:
    a = Column(0, BIGINT)
    start = time.process_time()
    small, large = (
        canonicalise(resolve_call("in", [a, *(literal(7 * i) for i in range(count))]))
        for count in (1000, 2000)
    )
    assert implies(small.clauses, large.clauses) and not implies(large.clauses, small.clauses)
    none = canonicalise(
        resolve_call("not", [resolve_call("in", [a, *(literal(7 * i) for i in range(2000))])])
    )
    assert len(none.clauses) == 2000
    patterns = [resolve_call("like", [Column(1, STRING), literal(f"%{i}%")]) for i in range(1500)]
    assert len(canonicalise(resolve_call("or", patterns)).clauses[0]) == 1500
    assert time.process_time() - start < 10


def test_what_never_computes_is_never_true() -> None:
    zero = resolve_call("mul", [Column(0, INT), literal(0)])
    beyond = resolve_call("add", [resolve_call("add", [zero, literal(2**31 - 1)]), literal(1)])
    form = canonicalise(resolve_call("gt", [beyond, literal(0)]))
    assert not holds(form.clauses + form.guards, [pa.array([1], pa.int32())], 1)[0]
