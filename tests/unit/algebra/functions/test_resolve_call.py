"""Types of expressions, implicit casts and refusals."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra import aggregates
from seine.algebra.expressions import Call, Column, Expression, Literal, from_json, to_json, walk
from seine.algebra.functions import (
    TypeMismatch,
    common_type,
    function_names,
    is_aggregate,
    literal,
    resolve_aggregate,
    resolve_call,
    resolve_cast,
)
from seine.algebra.functions.resolve_call import ALIASES
from seine.algebra.functions.signatures import SIGNATURES
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, NULL, STRING, TIMESTAMP, Type
from seine.errors import SeineError
from seine.evaluate.evaluate import KERNELS, evaluate
from seine.evaluate.kernels.spending import TooMuchWork, planning

SHORT = {"b": "BOOLEAN", "i": "INT", "l": "BIGINT", "d": "DOUBLE", "s": "STRING", "t": "TIMESTAMP"}


def column(text: str, index: int = 0) -> Expression:
    """A column of a type, or a constant if the text is not a type's name."""
    name = SHORT.get(text, text)
    if name.startswith("DECIMAL") or name in {k.value for k in Type.parse("NULL").kind.__class__}:
        return Literal(None, NULL) if name == "NULL" else Column(index, Type.parse(name))
    return literal(int(text) if text.lstrip("-").isdigit() else Decimal(text))


def columns(*texts: str) -> list[Expression]:
    return [column(text, i) for i, text in enumerate(texts)]


TYPES = [
    ("add", "i i", "INT"),
    ("add", "i l", "BIGINT"),
    ("add", "l d", "DOUBLE"),
    ("add", "DECIMAL(10,2) DECIMAL(5,3)", "DECIMAL(12,3)"),
    ("add", "DECIMAL(10,2) i", "DECIMAL(13,2)"),
    ("add", "DECIMAL(10,2) 1", "DECIMAL(11,2)"),
    ("add", "DECIMAL(38,10) DECIMAL(38,10)", "DECIMAL(38,9)"),
    ("add", "DECIMAL(10,2) d", "DOUBLE"),
    ("sub", "l DECIMAL(5,1)", "DECIMAL(22,1)"),
    ("mul", "DECIMAL(10,2) DECIMAL(5,3)", "DECIMAL(16,5)"),
    ("mul", "DECIMAL(38,10) DECIMAL(38,10)", "DECIMAL(38,6)"),
    ("div", "i i", "DOUBLE"),
    ("div", "DECIMAL(10,2) DECIMAL(5,3)", "DECIMAL(19,8)"),
    ("div", "DECIMAL(38,10) DECIMAL(38,10)", "DECIMAL(38,6)"),
    ("div", "DECIMAL(10,2) 3", "DECIMAL(14,6)"),
    ("mod", "i l", "BIGINT"),
    ("mod", "DECIMAL(10,2) DECIMAL(5,3)", "DECIMAL(5,3)"),
    ("int_div", "i i", "BIGINT"),
    ("add", "s i", "BIGINT"),
    ("add", "s d", "DOUBLE"),
    ("add", "s s", "DOUBLE"),
    ("add", "i NULL", "INT"),
    ("add", "NULL NULL", "DOUBLE"),
    ("add", "DATE i", "DATE"),
    ("add", "i DATE", "DATE"),
    ("sub", "DATE DATE", "DAY_TIME"),
    ("sub", "t DATE", "DAY_TIME"),
    ("sub", "t s", None),
    ("sub", "DATE i", "DATE"),
    ("add", "t DAY_TIME", "TIMESTAMP"),
    ("add", "DATE YEAR_MONTH", "DATE"),
    ("mul", "DAY_TIME i", "DAY_TIME"),
    ("add", "DATE DATE", None),
    ("add", "i b", None),
    ("mul", "t i", None),
    ("sub", "i DATE", None),
    ("eq", "i d", "BOOLEAN"),
    ("eq", "s DATE", "BOOLEAN"),
    ("eq", "b s", "BOOLEAN"),
    ("eq", "b d", None),
    ("eq", "b i", None),
    ("lt", "DATE i", None),
    ("lt", "DAY_TIME YEAR_MONTH", None),
    ("lt", "t s", "BOOLEAN"),
    ("and", "b b", "BOOLEAN"),
    ("and", "b NULL", "BOOLEAN"),
    ("and", "b s", None),
    ("not", "i", None),
    ("case", "b i d", "DOUBLE"),
    ("case", "b i b DECIMAL(5,2)", "DECIMAL(12,2)"),
    ("case", "i i i", None),
    ("case", "b b i", None),
    ("coalesce", "i l", "BIGINT"),
    ("coalesce", "DATE t", "TIMESTAMP"),
    ("nvl", "NULL s", "STRING"),
    ("nullif", "i l", "INT"),
    ("if", "b s NULL", "STRING"),
    ("in", "i l d", "BOOLEAN"),
    ("in", "b i", None),
    ("greatest", "i DECIMAL(3,1)", "DECIMAL(11,1)"),
    ("neg", "s", "DOUBLE"),
    ("neg", "b", None),
    ("abs", "DECIMAL(5,2)", "DECIMAL(5,2)"),
    ("ceil", "d", "BIGINT"),
    ("ceil", "DECIMAL(5,2)", "DECIMAL(4,0)"),
    ("round", "DECIMAL(5,2) 1", "DECIMAL(5,1)"),
    ("round", "DECIMAL(5,2) -4", "DECIMAL(5,0)"),
    ("round", "d i", None),
    ("length", "i", "INT"),
    ("upper", "d", "STRING"),
    ("concat", "s i b", "STRING"),
    ("substring", "s l", "STRING"),
    ("year", "t", "INT"),
    ("year", "i", None),
    ("upper", "s s", None),
    ("rlike", "s s", "BOOLEAN"),
    ("sqrt", "b", None),
    ("current_date", "", None),
    ("rand", "", None),
    ("no_such_function", "i", None),
]


@pytest.mark.parametrize(("name", "args", "expected"), TYPES)
def test_type_of_call(name: str, args: str, expected: str | None) -> None:
    given = columns(*args.split())
    if expected is None:
        with pytest.raises(TypeMismatch) as refusal:
            resolve_call(name, given)
        assert refusal.value.where is None
        assert len(refusal.value.message) > 10
        return
    call = resolve_call(name, given)
    assert str(call.type) == expected
    assert from_json(to_json(call)) == call


def test_implicit_casts_are_written_out() -> None:
    assert str(resolve_call("eq", columns("s", "DATE"))) == "eq(cast(#0), #1)"
    assert str(resolve_call("lt", columns("i", "l"))) == "lt(cast(#0), #1)"
    assert str(resolve_call("coalesce", columns("l", "i"))) == "coalesce(#0, cast(#1))"


def test_constants_are_cast_at_once() -> None:
    assert resolve_call("gt", [column("l"), literal(7)]) == Call(
        "gt", (Column(0, BIGINT), Literal(7, BIGINT)), BOOLEAN
    )
    assert resolve_call("gt", [column("d"), literal(Decimal("1.5"))]).args[1] == Literal(1.5, DOUBLE)  # type: ignore[attr-defined]
    price = Type.parse("DECIMAL(10,2)")
    assert resolve_call("gt", [Column(0, price), literal(100)]).args == (  # type: ignore[attr-defined]
        Column(0, price),
        Literal(Decimal("100.00"), price),
    )
    day = resolve_call("ge", [column("DATE"), literal("2024-05-01")]).args[1]  # type: ignore[attr-defined]
    assert day == Literal(dt.date(2024, 5, 1), DATE)


def test_sugar_is_written_out() -> None:
    assert str(resolve_call("ifnull", columns("l", "l"))) == "coalesce(#0, #1)"
    assert str(resolve_call("if", columns("b", "l", "l"))) == "case(#0, #1, #2)"
    assert str(resolve_call("nullif", columns("l", "l"))) == "case(eq(#0, #1), NULL, #0)"
    assert str(resolve_call("between", columns("l", "l", "l"))) == "and(ge(#0, #1), le(#0, #2))"
    inner = resolve_call("concat", columns("s", "s"))
    assert str(resolve_call("concat", [inner, Column(2, STRING)])) == "concat(#0, #1, #2)"


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("YYYY-MM-DD HH24:MI:SS", "yyyy-MM-dd HH:mm:ss"),
        ("HH12:MI AM", "hh:mm a"),
        ("yyyy-MM-dd HH:mm", "yyyy-MM-dd HH:mm"),
    ],
)
def test_patterns_of_times_as_postgres_has_them(pattern: str, meant: str) -> None:
    time = Column(0, TIMESTAMP)
    assert resolve_call("to_char", [time, literal(pattern)]) == resolve_call(
        "date_format", [time, literal(meant)]
    )


def test_negative_constants() -> None:
    assert resolve_call("neg", [literal(5)]) == literal(-5)
    assert resolve_call("neg", [literal(2**63)]) == literal(-(2**63))
    assert resolve_call("neg", [literal(2**31)]) == literal(-(2**31))


def test_common_type() -> None:
    assert common_type([INT, NULL, BIGINT]) == BIGINT
    assert common_type([DATE, TIMESTAMP]) == TIMESTAMP
    assert common_type([NULL, NULL]) == NULL
    assert str(common_type([Type.parse("DECIMAL(38,0)"), Type.parse("DECIMAL(10,5)")])) == "DECIMAL(38,0)"
    with pytest.raises(TypeMismatch):
        common_type([BOOLEAN, INT])


CASTS = [
    ("s", "DATE", True),
    ("DATE", "INT", False),
    ("i", "DATE", False),
    ("i", "TIMESTAMP", True),
    ("t", "BIGINT", True),
    ("b", "INT", True),
    ("b", "TIMESTAMP", False),
    ("XML", "STRING", True),
    ("s", "XML", False),
    ("NULL", "DATE", True),
]


@pytest.mark.parametrize(("source", "target", "allowed"), CASTS)
def test_cast(source: str, target: str, allowed: bool) -> None:
    if allowed:
        assert resolve_cast(column(source), Type.parse(target)).type == Type.parse(target)
    else:
        with pytest.raises(TypeMismatch, match="cannot cast"):
            resolve_cast(column(source), Type.parse(target))


def test_unknown_function_names_its_neighbours() -> None:
    with pytest.raises(TypeMismatch) as refusal:
        resolve_call("substrng", columns("s"))
    assert "substring" in (refusal.value.hint or "")


def test_patterns_are_checked_before_anything_runs() -> None:
    with pytest.raises(TypeMismatch, match="regular expression"):
        resolve_call("rlike", [column("s"), literal("(")])
    with pytest.raises(TypeMismatch, match="regular expression"):
        resolve_call("rlike", [column("s"), literal("(?=a)")])
    with pytest.raises(TypeMismatch, match="cannot have 'Q'"):
        resolve_call("to_date", [column("s"), literal("yyyy-Q")])
    with pytest.raises(TypeMismatch, match="ESCAPE"):
        resolve_call("like", [column("s"), literal("a"), literal("!!")])
    with pytest.raises(TypeMismatch, match="unit"):
        resolve_call("date_trunc", [literal("fortnight"), column("t")])


AGGREGATES = [
    ("count", "", "count_all", "BIGINT"),
    ("count", "1", "count_all", "BIGINT"),
    ("count", "s", "count", "BIGINT"),
    ("count", "s i", "count", "BIGINT"),
    ("count_if", "b", "count", "BIGINT"),
    ("count_if", "i", None, None),
    ("sum", "i", "sum", "BIGINT"),
    ("sum", "l", "sum", "BIGINT"),
    ("sum", "d", "sum", "DOUBLE"),
    ("sum", "s", "sum", "DOUBLE"),
    ("sum", "DECIMAL(10,2)", "sum", "DECIMAL(20,2)"),
    ("sum", "DECIMAL(35,2)", "sum", "DECIMAL(38,2)"),
    ("sum", "b", None, None),
    ("sum", "DATE", None, None),
    ("avg", "l", "avg", "DOUBLE"),
    ("mean", "DECIMAL(10,2)", "avg", "DECIMAL(14,6)"),
    ("avg", "DECIMAL(38,36)", "avg", "DECIMAL(38,38)"),
    ("min", "s", "min", "STRING"),
    ("max", "DATE", "max", "DATE"),
    ("max", "XML", None, None),
    ("std", "i", "stddev", "DOUBLE"),
    ("var_samp", "d", "variance", "DOUBLE"),
    ("every", "b", "min", "BOOLEAN"),
    ("bool_or", "b", "max", "BOOLEAN"),
    ("bool_or", "i", None, None),
    ("any_value", "i", None, None),
    ("sum", "i i", None, None),
    ("median", "i", "percentile", "DOUBLE"),
    ("median", "i i", None, None),
    ("geometric_mean", "d", None, None),
]


@pytest.mark.parametrize(("name", "args", "function", "expected"), AGGREGATES)
def test_type_of_aggregate(name: str, args: str, function: str | None, expected: str | None) -> None:
    if function is None:
        with pytest.raises(TypeMismatch):
            resolve_aggregate(name, columns(*args.split()), False)
        return
    call = resolve_aggregate(name.upper(), columns(*args.split()), False)
    assert (call.function, str(call.type), call.distinct) == (function, expected, False)


def test_distinct_aggregates() -> None:
    assert resolve_aggregate("count", columns("i"), True).distinct
    assert resolve_aggregate("sum", columns("i"), True).distinct
    assert not resolve_aggregate("max", columns("i"), True).distinct
    with pytest.raises(TypeMismatch):
        resolve_aggregate("count", [], True)


class Slope(aggregates.UserAggregate):
    """Least-squares slope."""

    name = "Slope"
    arguments = (DOUBLE, DOUBLE)
    parts = {  # noqa: RUF012
        "n": ("count", None),
        "x": ("sum", None),
        "y": ("sum", lambda x, y: y),
        "xy": ("sum", lambda x, y: x * y),
        "xx": ("sum", lambda x, y: x * x),
    }

    def finish(self, **parts: np.ndarray) -> np.ndarray:
        n, x, y, xy, xx = (parts[name] for name in ("n", "x", "y", "xy", "xx"))
        return (n * xy - x * y) / (n * xx - x * x)


def test_registered_aggregate() -> None:
    assert not is_aggregate("slope")
    aggregates.register(Slope)
    try:
        assert is_aggregate("SLOPE")
        assert "slope" in aggregates.registered_names()
        call = resolve_aggregate("Slope", columns("i", "d"), False)
        assert (call.function, call.type) == ("slope", DOUBLE)
        assert str(call.args[0]) == "cast(#0)"
        with pytest.raises(TypeMismatch, match="2 arguments"):
            resolve_aggregate("slope", columns("i"), False)
        with pytest.raises(TypeMismatch, match="argument 1"):
            resolve_aggregate("slope", columns("b", "d"), False)
    finally:
        aggregates.unregister("slope")
    assert aggregates.lookup("slope") is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "two words"}, "identifier"),
        ({"parts": {}}, "no parts"),
        ({"parts": {"n": ("median", None)}}, "none of sum"),
        ({"parts": {"n": "count"}}, "kind, function"),
        ({"parts": {"n": ("sum", 3)}}, "not callable"),
        ({"arguments": ()}, "at least one argument"),
        ({"result": "DOUBLE"}, "must be types"),
        ({"finish": aggregates.UserAggregate.finish}, "finish"),
    ],
)
def test_malformed_aggregates_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SeineError, match=reason):
        aggregates.register(type("Broken", (Slope,), changes))


# Every function, on every kind of value


def test_every_function_can_be_evaluated() -> None:
    assert set(SIGNATURES) <= set(KERNELS)
    assert set(SIGNATURES) < set(function_names())
    assert set(ALIASES.values()) <= set(function_names())


VALUES: dict[str, list[Any]] = {
    "b": [True, False, None],
    "i": [0, 1, -1, 7, 2**31 - 1, -(2**31), None],
    "l": [0, 1, -1, 10**15, 2**63 - 1, -(2**63), None],
    "d": [0.0, -0.0, 1.5, -2.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf"), None],
    "DECIMAL(38,18)": [Decimal("1.5"), Decimal("-99999999999999999999.9"), Decimal("0"), None],
    "DECIMAL(5,0)": [Decimal("99999"), Decimal("-99999"), Decimal("0"), None],
    "s": ["", "a", "12", "1e400", "2024-02-30", "2024-02-29 10:00:00", "é\n%😀", "(", "\x00", "true", None],
    "DATE": [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 2, 29), None],
    "t": [
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        dt.datetime(1969, 12, 31, 5),
        None,
    ],
    "DAY_TIME": [0, 2**63 - 1, -(2**63), 1, None],
    "YEAR_MONTH": [0, 2**31 - 1, -(2**31), 1, None],
    "ARRAY<STRING>": [["a", None, "é", "a"], ["", "b"], [], [None], None],
}
MIXTURES = [[*VALUES], ["b"], ["b", "i"], ["s", "i"], ["ARRAY<STRING>"], ["ARRAY<STRING>", "s", "i"]]
# their constants are words or patterns, which no random constant is
CONSTANT_ONLY = {
    *("e", "pi", "date_trunc", "trunc", "extract", "date_part", "datepart", "date_format", "typeof"),
    *("timestampadd", "timestampdiff", "to_char", "to_varchar", "to_number", "try_to_number"),
}


@pytest.mark.parametrize("name", function_names())
def test_no_value_makes_a_function_raise(name: str) -> None:
    """Over extreme values each gives an array of its type, the same in two cuts, or is too much work."""
    rng = random.Random(name)
    resolved = 0
    for attempt in range(1_500):
        if attempt >= 150 and resolved:
            break
        kinds = rng.choices(rng.choice(MIXTURES), k=rng.choice([0, 1, 2, 3, 4, 6]))
        args: list[Expression] = []
        data = []
        for i, kind in enumerate(kinds):
            type_ = column(kind, i).type
            pool = VALUES[kind]
            data.append(pa.array([rng.choice(pool) for _ in range(9)], type_.arrow()))
            constant = rng.choice(pool)
            is_constant = rng.random() < 0.3 and not isinstance(constant, list)
            args.append(Literal(constant, type_) if is_constant else Column(i, type_))
        try:
            call = resolve_call(name, args)
        except TypeMismatch:
            continue
        resolved += any(isinstance(e, Call) for e in walk(call))
        try:
            with planning().counting():
                whole = evaluate(call, data, 9)
        except TooMuchWork:
            continue
        assert whole.type == call.type.arrow()
        whole.validate(full=True)
        parts = [evaluate(call, [d.slice(at, n) for d in data], n) for at, n in ((0, 4), (4, 5))]
        assert str(pa.concat_arrays(parts).to_pylist()) == str(whole.to_pylist())
    assert resolved or name in CONSTANT_ONLY
