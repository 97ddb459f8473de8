"""Values of expressions: tables of examples, and random rows against plain Python."""

from __future__ import annotations

import datetime as dt
import math
import operator
import random
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, rewrite, split_shape
from seine.algebra.functions import literal, resolve_call, resolve_cast
from seine.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    Type,
)
from seine.evaluate.evaluate import KERNELS, evaluate, truth
from tests.support.expression_examples import EXAMPLES
from tests.support.expression_makers import INF, MAX64, MIN64, NAN, D, decimal


def value_of(expression: Expression) -> Any:
    return plain(evaluate(expression, [], 1)[0].as_py())


def plain(value: Any) -> Any:
    """Times without a zone, intervals as microseconds."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    return value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or a == b or math.isclose(a, b, rel_tol=1e-14)
    return type(a) is type(b) and a == b


def as_columns(expression: Expression) -> tuple[Expression, list[pa.Array]]:
    """The same expression with its constants in columns, each a slice of a longer array with other values."""
    shape, constants = split_shape(expression)
    columns = []
    for constant in constants:
        pair = pa.array([None, constant.value, None, constant.value], constant.type.arrow())
        columns.append(pair.slice(1, 3))
    return rewrite(shape, lambda e: Column(e.index, e.type) if isinstance(e, Parameter) else e), columns


IDS = [f"{i}-{expression}"[:60] for i, (expression, _) in enumerate(EXAMPLES)]


@pytest.mark.parametrize(("expression", "expected"), EXAMPLES, ids=IDS)
def test_example(expression: Expression, expected: Any) -> None:
    result = value_of(expression)
    assert same(result, expected), f"{expression} is {result!r}, not {expected!r}"


@pytest.mark.parametrize(("expression", "expected"), EXAMPLES, ids=IDS)
def test_example_with_one_column_beside_constants(expression: Expression, expected: Any) -> None:
    shape, constants = split_shape(expression)
    for at, constant in enumerate(constants):
        mixed = rewrite(shape, partial(_one_column, at=at, constants=constants))
        column = pa.array([constant.value, None], constant.type.arrow())
        assert same(plain(evaluate(mixed, [column], 2)[0].as_py()), expected)
        assert len(evaluate(mixed, [column[:0]], 0)) == 0


def _one_column(e: Expression, at: int, constants: Sequence[Literal]) -> Expression:
    if not isinstance(e, Parameter):
        return e
    return Column(0, e.type) if e.index == at else constants[e.index]


@pytest.mark.parametrize(("expression", "expected"), EXAMPLES, ids=IDS)
def test_example_over_columns(expression: Expression, expected: Any) -> None:
    shape, columns = as_columns(expression)
    result = evaluate(shape, columns, 3)
    assert len(result) == 3
    assert result.type == (pa.null() if expression.type == NULL else expression.type.arrow())
    assert same(plain(result[0].as_py()), expected)
    assert same(plain(result[2].as_py()), expected)


@pytest.mark.parametrize(("expression", "expected"), EXAMPLES, ids=IDS)
def test_example_with_parameters(expression: Expression, expected: Any) -> None:
    shape, constants = split_shape(expression)
    parameters = [pa.scalar(c.value, c.type.arrow()) for c in constants]
    assert same(plain(evaluate(shape, [], 2, parameters)[1].as_py()), expected)


@pytest.mark.parametrize(("expression", "expected"), EXAMPLES, ids=IDS)
def test_no_rows(expression: Expression, expected: Any) -> None:
    shape, columns = as_columns(expression)
    assert len(evaluate(shape, [column.slice(0, 0) for column in columns], 0)) == 0


# Random rows against Python


def random_int(rng: random.Random, bits: int) -> int | None:
    if rng.random() < 0.1:
        return None
    size = rng.choice([3, 8, bits // 2, bits - 1, bits])
    value = rng.randrange(-(2 ** (size - 1)), 2 ** (size - 1))
    return rng.choice([value, value, 0, -1, 1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1])


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


WHOLE: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "int_div": truncated,
    "mod": lambda a, b: a - b * truncated(a, b),
}


def reference(function: Callable[..., Any], low: int, high: int) -> Callable[..., Any]:
    def row(*values: Any) -> Any:
        if any(value is None for value in values):
            return None
        try:
            result = function(*values)
        except ZeroDivisionError:
            return None
        return result if low <= result <= high else None

    return row


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_against_python(name: str, bits: int) -> None:
    rng = random.Random(f"{name}{bits}")
    type_ = INT if bits == 32 else BIGINT
    call = resolve_call(name, [Column(0, type_), Column(1, type_)])
    limit = 63 if call.type == BIGINT else 31
    row = reference(WHOLE[name], -(2**limit), 2**limit - 1)
    left, right = ([random_int(rng, bits) for _ in range(3000)] for _ in range(2))
    expected = [row(a, b) for a, b in zip(left, right, strict=True)]
    columns = [pa.array(side, type_.arrow()) for side in (left, right)]
    assert evaluate(call, columns, 3000).to_pylist() == expected
    assert sum(value is not None for value in expected) > 1000
    halves = [evaluate(call, [c.slice(at, 1500) for c in columns], 1500).to_pylist() for at in (0, 1500)]
    assert halves[0] + halves[1] == expected


EXACT = Context(prec=200)


def quantized(value: Decimal, type_: Type) -> Decimal | None:
    result = Context(prec=200, rounding=ROUND_HALF_UP).quantize(value, D(1).scaleb(-type_.scale))
    return result if EXACT.abs(result) < D(10) ** (type_.precision - type_.scale) else None


DECIMALS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "add": EXACT.add,
    "sub": EXACT.subtract,
    "mul": EXACT.multiply,
    "div": EXACT.divide,
    "mod": EXACT.remainder,
}


def random_decimal(rng: random.Random, type_: Type) -> Decimal | None:
    if rng.random() < 0.1:
        return None
    digits = rng.randint(1, type_.precision)
    value = rng.randrange(-(10**digits) + 1, 10**digits)
    return D(value if rng.random() < 0.9 else rng.choice([0, 1, -1, 10**type_.precision - 1])).scaleb(
        -type_.scale, EXACT
    )


@pytest.mark.parametrize("name", DECIMALS)
def test_decimals_against_python(name: str) -> None:
    rng = random.Random(name)
    answers = 0
    for _ in range(60):
        types = []
        for _side in range(2):
            precision = rng.choice([3, 9, 18, 19, 30, 38])
            types.append(decimal(precision, rng.randint(0, precision)))
        call = resolve_call(name, [Column(i, t) for i, t in enumerate(types)])
        sides = [[random_decimal(rng, t) for _ in range(40)] for t in types]
        expected = [
            None
            if a is None or b is None or (b == 0 and name in ("div", "mod"))
            else quantized(DECIMALS[name](a, b), call.type)
            for a, b in zip(*sides, strict=True)
        ]
        columns = [pa.array(side, t.arrow()) for side, t in zip(sides, types, strict=True)]
        assert evaluate(call, columns, 40).to_pylist() == expected, f"{types}"
        answers += sum(value is not None for value in expected)
    assert answers > 500


def spark_less(a: float, b: float) -> bool:
    return a < b or (b != b and a == a)


DOUBLES: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b or (a != a and b != b),
    "lt": spark_less,
    "gt": lambda a, b: spark_less(b, a),
    "le": lambda a, b: not spark_less(b, a),
    "ge": lambda a, b: not spark_less(a, b),
}


@pytest.mark.parametrize("name", DOUBLES)
def test_doubles_compare_as_in_spark(name: str) -> None:
    rng = random.Random(name)
    pool = [None, NAN, INF, -INF, 0.0, -0.0, 1.5, -1.5]
    left, right = ([rng.choice(pool) for _ in range(500)] for _ in range(2))
    columns = [pa.array(side, pa.float64()) for side in (left, right)]
    call = resolve_call(name, [Column(0, DOUBLE), Column(1, DOUBLE)])
    expected = [
        None if a is None or b is None else DOUBLES[name](a, b) for a, b in zip(left, right, strict=True)
    ]
    assert evaluate(call, columns, 500).to_pylist() == expected
    assert truth(call, columns, 500).tolist() == [bool(value) for value in expected]


def kleene(name: str, values: list[bool | None]) -> bool | None:
    decisive = name == "or"
    if decisive in values:
        return decisive
    return None if None in values else not decisive


@pytest.mark.parametrize("name", ["and", "or"])
def test_logic_is_three_valued(name: str) -> None:
    rng = random.Random(name)
    sides = [[rng.choice([True, False, None]) for _ in range(200)] for _ in range(3)]
    call = resolve_call(name, [Column(i, BOOLEAN) for i in range(3)])
    columns = [pa.array(side, pa.bool_()) for side in sides]
    expected = [kleene(name, list(row)) for row in zip(*sides, strict=True)]
    assert evaluate(call, columns, 200).to_pylist() == expected


def test_rounding_follows_the_printed_digits() -> None:
    rng = random.Random(5)
    data = [
        rng.choice(
            [rng.uniform(-1e3, 1e3), rng.randrange(-9999, 9999) / 1000 + 0.0005, rng.uniform(-1, 1) * 1e17]
        )
        for _ in range(2000)
    ]
    for digits in (0, 1, 2, 3, -2, 20):
        call = resolve_call("round", [Column(0, DOUBLE), literal(digits)])
        context = Context(prec=400, rounding=ROUND_HALF_UP)
        expected = [float(context.quantize(D(repr(x)), D(1).scaleb(-digits))) for x in data]
        assert evaluate(call, [pa.array(data)], len(data)).to_pylist() == expected
        target = decimal(38, max(0, digits))
        cast_call = resolve_cast(Column(0, DOUBLE), target)
        exact = [quantized(D(repr(x)), target) for x in data]
        assert evaluate(cast_call, [pa.array(data)], len(data)).to_pylist() == exact


def test_calendar_against_python() -> None:
    rng = random.Random(6)
    first, last = dt.date(1, 1, 1).toordinal(), dt.date(9999, 12, 31).toordinal()
    days = [dt.date.fromordinal(rng.randint(first, last)) for _ in range(1000)]
    columns = [pa.array(days, pa.date32())]
    fields: dict[str, Callable[[dt.date], int]] = {
        "year": lambda d: d.year,
        "month": lambda d: d.month,
        "day": lambda d: d.day,
        "weekday": lambda d: d.weekday(),
        "dayofweek": lambda d: (d.weekday() + 1) % 7 + 1,
        "dayofyear": lambda d: d.timetuple().tm_yday,
        "weekofyear": lambda d: d.isocalendar().week,
        "quarter": lambda d: (d.month + 2) // 3,
    }
    for name, field in fields.items():
        assert evaluate(resolve_call(name, [Column(0, DATE)]), columns, 1000).to_pylist() == [
            field(d) for d in days
        ]
    there_and_back = resolve_cast(resolve_cast(Column(0, DATE), STRING), DATE)
    assert evaluate(there_and_back, columns, 1000).to_pylist() == days


def like(text: str, pattern: str) -> bool:
    """LIKE by recursion, with a backslash as the escape."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return like(text, pattern[1:]) or (bool(text) and like(text[1:], pattern))
    if pattern[0] == "\\":
        pattern = pattern[1:]
        return text[:1] == pattern[0] and like(text[1:], pattern[1:])
    return bool(text) and (pattern[0] == "_" or text[0] == pattern[0]) and like(text[1:], pattern[1:])


def test_like_against_recursion() -> None:
    rng = random.Random(7)
    texts = ["".join(rng.choices("ab%_\né.", k=rng.randint(0, 5))) for _ in range(300)]
    patterns = [
        "".join(rng.choices(["a", "b", "%", "_", "\\%", "\\_", "é", ".", "\n"], k=rng.randint(0, 4)))
        for _ in range(300)
    ]
    call = resolve_call("like", [Column(0, STRING), Column(1, STRING)])
    columns = [pa.array(texts), pa.array(patterns)]
    expected = [like(t, p) for t, p in zip(texts, patterns, strict=True)]
    assert evaluate(call, columns, 300).to_pylist() == expected
    assert 20 < sum(expected) < 280
    for pattern in patterns[:100]:
        fixed = resolve_call("like", [Column(0, STRING), literal(pattern)])
        assert evaluate(fixed, columns[:1], 300).to_pylist() == [like(t, pattern) for t in texts]


def test_hostile_patterns_stay_linear() -> None:
    text = pa.array(["a" * 50_000])
    call = resolve_call("rlike", [Column(0, STRING), literal("(a*)*(a*)*b$")])
    assert evaluate(call, [text], 1).to_pylist() == [False]
    many = resolve_call("like", [Column(0, STRING), literal("%a" * 200 + "%b")])
    assert evaluate(many, [text], 1).to_pylist() == [False]


def test_a_pattern_that_is_none_is_null() -> None:
    call = resolve_call("rlike", [Column(0, STRING), Column(1, STRING)])
    columns = [pa.array(["a", "a"]), pa.array(["(", "a"])]
    assert evaluate(call, columns, 2).to_pylist() == [None, True]


def test_substring_against_python() -> None:
    rng = random.Random(8)
    texts = ["".join(rng.choices("aé😀b", k=rng.randint(0, 6))) for _ in range(400)]
    starts, lengths = ([rng.randint(-8, 8) for _ in range(400)] for _ in range(2))

    def row(text: str, position: int, length: int) -> str:
        start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
        return text[max(0, start) : max(0, start + length)] if length > 0 else ""

    call = resolve_call("substring", [Column(0, STRING), Column(1, INT), Column(2, INT)])
    columns = [pa.array(texts), pa.array(starts, pa.int32()), pa.array(lengths, pa.int32())]
    expected = [row(*each) for each in zip(texts, starts, lengths, strict=True)]
    assert evaluate(call, columns, 400).to_pylist() == expected
    assert any(expected)


def test_numbers_survive_text() -> None:
    rng = np.random.default_rng(9)
    doubles = rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    doubles = doubles[np.isfinite(doubles)]
    call = resolve_cast(resolve_cast(Column(0, DOUBLE), STRING), DOUBLE)
    assert evaluate(call, [pa.array(doubles)], len(doubles)).to_pylist() == doubles.tolist()
    whole = rng.integers(MIN64, MAX64, 3000)
    call = resolve_cast(resolve_cast(Column(0, BIGINT), STRING), BIGINT)
    assert evaluate(call, [pa.array(whole)], len(whole)).to_pylist() == whole.tolist()


def test_failing_rows_do_not_touch_their_neighbours() -> None:
    call = resolve_call("div", [Column(0, INT), Column(1, INT)])
    columns = [pa.array([1, 2, 3], pa.int32()), pa.array([1, 0, 2], pa.int32())]
    assert evaluate(call, columns, 3).to_pylist() == [1.0, None, 1.5]


def test_unused_columns_may_be_missing() -> None:
    call = resolve_call("gt", [Column(1, INT), literal(1)])
    assert truth(call, [None, pa.array([1, 2, None], pa.int32())], 3).tolist() == [False, True, False]


def test_a_constant_predicate_speaks_for_every_row() -> None:
    assert truth(literal(True), [], 2).tolist() == [True, True]
    assert truth(Literal(None, NULL), [], 2).tolist() == [False, False]
    assert truth(Call("is_null", (Column(0, INT),), BOOLEAN), [pa.nulls(2, pa.int32())], 2).tolist() == [
        True,
        True,
    ]


def test_constants_beside_columns_of_any_length() -> None:
    texts, whole = Column(0, STRING), Column(0, INT)
    letters = resolve_call("array", [literal("a"), literal("b")])
    cases = [
        (resolve_call("array_contains", [letters, texts]), pa.array(["a", "c"]), [True, False]),
        (resolve_call("in", [literal(2), literal(1), whole]), pa.array([2, 3], pa.int32()), [True, False]),
        (
            resolve_call("levenshtein", [literal("abc"), literal("abd"), whole]),
            pa.array([1, 0], pa.int32()),
            [1, -1],
        ),
    ]
    for expression, column, expected in cases:
        assert evaluate(expression, [column], 2).to_pylist() == expected
        assert evaluate(expression, [column.slice(0, 0)], 0).to_pylist() == []


@pytest.mark.parametrize("levels", [1, 5, 12])
def test_a_call_that_occurs_again_is_computed_once(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where equal parts are objects of their own; the value is that of a plain recursion."""
    calls: list[str] = []

    def counted(call: Call, args: Sequence[Any], kernel: Any = KERNELS["add"]) -> Any:
        calls.append(call.name)
        return kernel(call, args)

    def doubled(level: int) -> Expression:
        if level == 0:
            return Column(0, BIGINT)
        return Call("add", (doubled(level - 1), doubled(level - 1)), BIGINT)

    monkeypatch.setitem(KERNELS, "add", counted)
    expression = doubled(levels)
    for values in ([1, None, 3], [5, 6, 7]):  # each evaluation has values of its own
        calls.clear()
        result = evaluate(expression, [pa.array(values, pa.int64())], 3)
        assert result.to_pylist() == [None if v is None else v * 2**levels for v in values]
        assert len(calls) == levels


def test_repeated_calls_of_parameters_have_the_values_of_each_evaluation() -> None:
    sum_ = Call("add", (Column(0, BIGINT), Parameter(0, BIGINT)), BIGINT)
    either = Call(
        "case", (Call("gt", (sum_, literal(5)), BOOLEAN), sum_, Call("neg", (sum_,), BIGINT)), BIGINT
    )
    column = pa.array([1, 4, None], pa.int64())
    for given in (pa.scalar(2, pa.int64()), pa.array([9, -9, 1], pa.int64())):
        added = [given.as_py()] * 3 if isinstance(given, pa.Scalar) else given.to_pylist()
        sums = [None if v is None else v + a for v, a in zip(column.to_pylist(), added, strict=True)]
        expected = [None if v is None else v if v > 5 else -v for v in sums]
        assert evaluate(either, [column], 3, [given]).to_pylist() == expected
