"""Aggregates of every kind over random rows, and what they must be, computed the slow way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from random import Random
from typing import Any

from seine.algebra.expressions import Column
from seine.algebra.functions import resolve_cast
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, STRING, Type
from seine.graph.node import Port
from seine.operators.group.aggregate import AggregateNode
from tests.support.changelog_law import (
    Results,
    Row,
    World,
    canonical,
    random_rows,
)

DECIMAL = Type.parse("DECIMAL(20,2)")
TYPES = (STRING, DOUBLE, BIGINT, DOUBLE, DECIMAL, STRING, BOOLEAN)


N, X, D, S, B = (Column(i, TYPES[i]) for i in range(2, 7))
N_AS_DOUBLE = resolve_cast(N, DOUBLE)


def call(function: str, arg: Column | None, type_: Type, distinct: bool = False) -> AggregateCall:
    return AggregateCall(function, () if arg is None else (arg,), type_, distinct)


CALLS = (
    call("count_all", None, BIGINT),
    call("count", X, BIGINT),
    call("sum", N, BIGINT),
    call("sum", X, DOUBLE),
    call("sum", D, Type.parse("DECIMAL(21,2)")),
    call("avg", N, DOUBLE),
    call("avg", X, DOUBLE),
    call("avg", D, Type.parse("DECIMAL(24,6)")),
    call("min", S, STRING),
    call("max", S, STRING),
    call("min", X, DOUBLE),
    call("max", X, DOUBLE),
    call("min", D, DECIMAL),
    call("max", B, BOOLEAN),
    call("count", S, BIGINT, distinct=True),
    call("sum", X, DOUBLE, distinct=True),
    call("avg", N, DOUBLE, distinct=True),
    call("stddev", X, DOUBLE),
    call("stddev_pop", X, DOUBLE),
    call("variance", X, DOUBLE, distinct=True),
    call("var_pop", X, DOUBLE),
    replace(call("percentile", X, DOUBLE), fraction=0.5),
    replace(call("percentile", X, DOUBLE), fraction=0.9),
    replace(call("approx_percentile", X, DOUBLE), fraction=0.3),
    call("mode", S, STRING),
    call("mode", N, BIGINT),
    call("approx_count_distinct", S, BIGINT),
    AggregateCall("covar_pop", (X, N_AS_DOUBLE), DOUBLE),
    AggregateCall("covar_samp", (N_AS_DOUBLE, X), DOUBLE),
    replace(call("percentile_disc", X, DOUBLE), fraction=0.3),
    call("bit_and", N, BIGINT),
    call("bit_or", N, BIGINT),
    call("bit_xor", N, BIGINT),
)


def node(keys: tuple[Column, ...], calls: tuple[AggregateCall, ...] = CALLS) -> AggregateNode:
    types = tuple(key.type for key in keys) + tuple(c.type for c in calls)
    return AggregateNode(
        9,
        (Port(0, TYPES, ("a",), 1, keys),),
        types,
        tuple(range(len(types))),
        ("a",),
        ("a",),
        1,
        1,
        "",
        calls,
    )


def random_value(random: Random, wild: bool) -> tuple[Any, ...]:
    big = random.choice([1e300, -1e300, 1.0, 0.1, 5e-324, -0.0, 1e-9, 123456789.123])
    odd = random.choice([math.inf, -math.inf, math.nan])
    double = odd if wild and random.random() < 0.1 else big if wild else random.randrange(-8, 8) / 4
    integer = random.choice([2**63 - 1, -(2**63), 7, -1]) if wild else random.randrange(-5, 5)
    decimal = Decimal(random.choice([10**20 - 1, -(10**20) + 1, 12345, -5, 0])) / 100
    values = (double, integer, decimal, random.choice(["a", "b", "é", "", "ab"]), random.random() < 0.5)
    nulls = [None if random.random() < 0.2 else value for value in values]
    key = random.choice(["x", "y", None]), random.choice([0.0, -0.0, math.nan])
    return (*key, nulls[1], nulls[0], *nulls[2:])


def world(random: Random, keys: tuple[Column, ...], wild: bool, hashes: int | None) -> World:
    rows = random_rows(random, 50, lambda: random_value(random, wild))
    arrow = [type_.arrow() for type_ in TYPES]
    return World(arrow, rows, lambda batch: [batch[f"c{key.index}"] for key in keys], hashes)


def nearest(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.copysign(math.inf, value)


def total(values: list[float]) -> float:
    if any(map(math.isnan, values)) or {math.inf, -math.inf} <= set(values):
        return math.nan
    infinite = [value for value in values if math.isinf(value)]
    return infinite[0] if infinite else nearest(sum(map(Fraction, values), Fraction(0)))


def spread(values: list[float], sample: bool, root: bool) -> float | None:
    n = len(values)
    if n <= sample:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    exact = [Fraction(value) for value in values]
    return quotient(n * sum(x * x for x in exact) - sum(exact) ** 2, n * (n - sample), root)


def covariance(pairs: list[tuple[float, float]], sample: bool) -> float | None:
    n = len(pairs)
    if n <= sample:
        return None
    if not all(math.isfinite(value) for pair in pairs for value in pair):
        return math.nan
    exact = [(Fraction(x), Fraction(y)) for x, y in pairs]
    sums = sum(x for x, _ in exact) * sum(y for _, y in exact)
    numerator = n * sum(x * y for x, y in exact) - sums
    size = quotient(abs(numerator), n * (n - sample), root=False)
    return size if numerator >= 0 else -size


def quotient(numerator: Fraction, divisor: int, root: bool) -> float:
    """A numerator that is rounded to a double, over a divisor; perhaps the square root of that."""
    scale = 0  # away from the edges of the range of doubles, by an even power of two
    while numerator and numerator > 2**1000:
        numerator, scale = numerator / 2**1000, scale + 1000
    while numerator and numerator < Fraction(1, 2**900):
        numerator, scale = numerator * 2**1000, scale - 1000
    variance = nearest(numerator) / divisor
    try:
        return math.ldexp(math.sqrt(variance), scale // 2) if root else math.ldexp(variance, scale)
    except OverflowError:
        return math.inf


def decimal_within(value: Fraction, type_: Type) -> Decimal | None:
    with localcontext(prec=60):
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        rounded = exact.quantize(Decimal(1).scaleb(-type_.scale), rounding=ROUND_HALF_UP)
        return rounded if abs(rounded) < Decimal(10) ** (type_.precision - type_.scale) else None


def order(value: Any) -> Any:
    if isinstance(value, float):
        return math.isnan(value), value
    return value.encode() if isinstance(value, str) else value


def aggregate(one: AggregateCall, rows: list[Row]) -> Any:
    """One aggregate of rows, the slow and exact way."""
    if one.function == "count_all":
        return len(rows)
    if one.function.startswith("covar"):
        known = [(row.values[N.index], row.values[X.index]) for row in rows]
        pairs = [(float(n), x) for n, x in known if n is not None and x is not None]
        return covariance(pairs, one.function == "covar_samp")
    values = [row.values[one.args[0].index] for row in rows]
    values = [value for value in values if value is not None]
    if one.distinct:
        values = list({canonical(value): value for value in values}.values())
    if one.function == "count":
        return len(values)
    if one.function == "approx_count_distinct":
        return len(set(values))  # of so few it is exact
    if not values:
        return None
    if one.function in ("min", "max"):
        return {"min": min, "max": max}[one.function](values, key=order)
    if one.function in ("sum", "avg"):
        return summed(one, values)
    if one.function.startswith("bit_"):
        return reduce({"bit_and": and_, "bit_or": or_, "bit_xor": xor}[one.function], values)
    if one.function in ("percentile", "approx_percentile", "percentile_disc"):
        return quantile(one, sorted(values, key=order))
    if one.function == "mode":
        often = Counter(map(canonical, values))
        return min(values, key=lambda value: (-often[canonical(value)], order(value)))
    return spread(values, one.function in ("stddev", "variance"), one.function.startswith("stddev"))


def quantile(one: AggregateCall, values: list[float]) -> float:
    """Interpolated as Spark does, or the least that enough others do not exceed, to 8 significant bits."""
    assert one.fraction is not None
    value = values[max(math.ceil(one.fraction * len(values)) - 1, 0)]
    if one.function == "percentile_disc":
        return value
    if one.function == "approx_percentile":
        if not math.isfinite(value) or not value:
            return value
        fraction, power = math.frexp(abs(value))
        return math.copysign(math.ldexp(math.floor(fraction * 256 + 0.5), power - 8), value)
    position = one.fraction * (len(values) - 1)
    lower, higher = values[math.floor(position)], values[math.ceil(position)]
    if position == int(position) or canonical(lower) == canonical(higher):
        return lower
    return (math.ceil(position) - position) * lower + (position - math.floor(position)) * higher


def summed(one: AggregateCall, values: list[Any]) -> Any:
    divisor = len(values) if one.function == "avg" else 1
    if one.args[0].type == DOUBLE:
        return total(values) / divisor
    exact = sum(map(Fraction, values), Fraction(0))
    if one.type == DOUBLE:
        return nearest(exact) / divisor
    if one.type == BIGINT:
        return int(exact) if -(2**63) <= exact < 2**63 else None
    return decimal_within(exact / divisor, one.type)


def reference(keys: tuple[Column, ...], calls: tuple[AggregateCall, ...]) -> Callable[[list[Row]], Results]:
    def results(rows: list[Row]) -> Results:
        groups: dict[Any, list[Row]] = {} if keys else {(): []}
        for row in rows:
            group = tuple(canonical(row.values[key.index]) for key in keys)
            groups.setdefault(group, []).append(row)
        return {g: (*g, *(canonical(aggregate(c, members)) for c in calls)) for g, members in groups.items()}

    return results
