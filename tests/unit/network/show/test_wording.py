"""Conditions in words mean what the conditions mean, and read as people write them."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Expression, Literal, rewrite, split_shape
from seine.algebra.linear import with_weights
from seine.algebra.plan import Project, Select
from seine.algebra.plan_text import column_name
from seine.evaluate.evaluate import truth
from seine.frontends.script.parser import parse_script
from seine.graph.parameter_table import ParameterTable
from seine.network.show.wording import Words, plain_words
from seine.optimizer.canonical.atoms import clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise

NAMES = ["a", "b", "m", "n", "x", "t", "u", "s"]
STREAM = """\
CREATE STREAM f (a BIGINT, b INT, m DECIMAL(15, 2), n DECIMAL(15, 2), x DOUBLE, t TIMESTAMP, u TIMESTAMP,
  s STRING) TIMESTAMP BY t WINDOW INTERVAL '5' DAY FROM 'f.jsonl';
"""


def predicate(condition: str) -> Expression:
    script = f"{STREAM}CREATE QUERY q AS SELECT a FROM f WHERE {condition};"
    plan = parse_script(script, file="script.sql", folder="/data").declarations.queries["q"].plan
    assert isinstance(plan, Project) and isinstance(plan.input, Select)
    return plan.input.predicate


def canonical(condition: str) -> list[Expression]:
    return [clause_expression(clause) for clause in canonicalise(predicate(condition)).clauses]


def words(condition: str) -> str:
    return " AND ".join(plain_words(part, NAMES) for part in canonical(condition))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("n > 0.5 * m", "n > 0.5 * m"),
        ("0.843 * m < n", "n > 0.843 * m"),
        ("m - 843 * n / 1000 < 0", "m < 0.843 * n"),
        ("m > 1000000", "m > 1000000"),
        ("m <= 9999.99", "m < 10000"),
        ("m >= 9000", "m >= 9000"),
        ("m * 2 > 7", "m > 3.5"),
        ("b >= a + 20", "b - a >= 20"),
        ("a - b <= -20", "b - a >= 20"),
        ("a < b", "b > a"),
        ("a + b > 1000000", "a + b > 1000000"),
        ("x > 5", "x > 5"),
        ("u <= t + INTERVAL '10' DAY", "u - t <= INTERVAL 10 DAY"),
        ("u > t", "u > t"),
        ("s LIKE 'it''s%'", "s LIKE 'it''s%'"),
        ("s IN ('y', 'x')", "s IN ('x', 'y')"),
    ],
)
def test_reads_as_people_write(written: str, read: str) -> None:
    assert words(written) == read


def _rows(random_: random.Random, count: int) -> list[pa.Array]:
    def repeated(values: list[object], type_: pa.DataType) -> pa.Array:
        return pa.array([random_.choice(values) for _ in range(count)], type_)

    numbers: list[object] = [None, *range(-6, 7), 999_999, 1_000_000, 1_000_001]
    cents = pa.array([random_.randint(-900, 900) for _ in range(count)], pa.int64())
    money = [cents.cast(pa.decimal128(19, 0)).to_pylist()[i].scaleb(-2) for i in range(count)]
    moments: list[object] = [None, *(day * 43_200_000_000 + more for day in range(6) for more in (0, 1))]
    return [
        repeated(numbers, pa.int64()),
        repeated(numbers, pa.int32()),
        pa.array(money, pa.decimal128(15, 2)),
        pa.array(money[::-1], pa.decimal128(15, 2)),
        repeated([None, 0.5, 3.0, -2.25], pa.float64()),
        repeated(moments, pa.int64()).cast(pa.timestamp("us", "UTC")),
        repeated(moments, pa.int64()).cast(pa.timestamp("us", "UTC")),
        repeated(["x", "y", None], pa.string()),
    ]


def _condition(random_: random.Random) -> str:
    op = random_.choice(["<", "<=", ">", ">=", "=", "<>"])
    number = random_.choice(["0", "1", "-1", "5", "2.5", "0.01", "-3.01", "1000000", "999999"])
    factor = random_.choice(["2", "0.5", "0.8", "3", "-1", "-0.25", "7"])
    return random_.choice(
        [
            f"m {op} {number}",
            f"a {op} {number}",
            f"n {op} {factor} * m",
            f"n {op} {factor} * m + {number}",
            f"a {op} b + {random_.randint(-6, 6)}",
            f"{factor} * a + 3 * b {op} {number}",
            f"u {op} t + INTERVAL '{random_.randint(0, 2)}' DAY",
            f"t - u {op} INTERVAL '{random_.randint(-1, 2)}' HOUR",
            f"x {op} {number}",
        ]
    )


def test_words_mean_what_they_are_of() -> None:
    random_ = random.Random(5)
    rows = _rows(random_, 300)
    seen = 0
    for _ in range(300):
        for part in canonical(_condition(random_)):
            text = plain_words(part, NAMES)
            expected, computed = truth(part, rows, 300), truth(predicate(text), rows, 300)
            assert np.array_equal(expected, computed), f"{part} is not {text}"
            seen += bool(expected.any() and not expected.all())
    assert seen > 100


def _table(conditions: list[str]) -> tuple[Expression, ParameterTable]:
    """Conditions of one shape, as a table."""
    split = [split_shape(rewrite(canonical(condition)[0], with_weights)) for condition in conditions]
    assert len({shape for shape, _ in split}) == 1
    table = ParameterTable([literal.type for literal in split[0][1]])
    for number, (_, constants) in enumerate(split):
        assert all(isinstance(constant, Literal) for constant in constants)
        table.claim(constants, f"q{number}")
    return split[0][0], table


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        (["m > 5"], "m > 5"),
        (["m > 5", "m > 70"], "m > ?, where ? is 5 or 70"),
        ([f"m > {i}000" for i in range(1, 38)], "m > ?, where ? is from 1000 to 37000"),
        (["b >= a + 10", "b >= a + 20"], "b - a >= ?, where ? is 10 or 20"),
        (["s = 'x'", "s = 'y'", "s = 'z'", "s = 'v'"], "s = ?, where ? is 'x', 'y', 'z' and 1 more"),
        (
            ["u <= t + INTERVAL '10' DAY", "u <= t + INTERVAL '36' HOUR"],
            "u - t <= ?, where ? is INTERVAL 36 HOUR or INTERVAL 10 DAY",
        ),
        (["n > 0.5 * m", "n > 0.8 * m"], "n > ? * m, where ? is 0.5 or 0.8"),
        (["n > 0.5 * m"], "n > 0.5 * m"),
        (["n < 0.8 * m", "n < 0.843 * m", "n < 3 * m"], "n < ? * m, where ? is 0.8, 0.843 or 3"),
        (
            ["n > 0.5 * m + 1", "n > 0.8 * m + 4"],
            "n > ?1 * m + ?2, where ?1 is 0.5 or 0.8, ?2 is 1 or 4",
        ),
        (
            ["7 * a + 3 * b > 5", "3 * a + 7 * b > 5"],
            "?1 * a + ?2 * b >= 6, where ?1 is 3 or 7, ?2 is 3 or 7",
        ),
        (["a IN (1, 2)", "a IN (1, 3)"], "a IN (1, ?), where ? is 2 or 3"),
        (["a IN (1, 2)", "a IN (4, 3)"], "a IN (?1, ?2), where ?1 is 1 or 3, ?2 is 2 or 4"),
    ],
)
def test_rows_of_a_table(conditions: list[str], text: str) -> None:
    shape, table = _table(conditions)
    assert str(Words(table).condition(shape, NAMES)) == text
    for number, condition in zip(table, conditions, strict=True):
        assert str(Words(table, [number]).condition(shape, NAMES)) == words(condition)


def test_names_are_quoted_once() -> None:
    names = [*NAMES[:-1], column_name("due date")]
    part = canonical("s = 'x'")[0]
    assert plain_words(part, [*NAMES[:-1], "due date"]) == "\"due date\" = 'x'" != plain_words(part, names)
