"""Resolution of aggregate calls, built-in and user-defined: argument casts and result types.

Which aggregates keep a bounded state a group, however many rows it has: distributive and algebraic ones.

COUNT, SUM, AVG and the variances keep a few numbers. MIN, MAX, BOOL_AND and BOOL_OR keep one value where no
row ever ends; where rows end they need all values, and so does whatever is over distinct values.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from decimal import Decimal

from seine.algebra import aggregates
from seine.algebra.expressions import Expression, Literal
from seine.algebra.functions.casting import MAX_PRECISION, TypeMismatch, decimal, implied_cast, literal
from seine.algebra.functions.operator_types import resolve_case
from seine.algebra.functions.polymorphic import number
from seine.algebra.functions.signatures import check_arity
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, NULL, STRING, Kind, Type
from seine.algebra.user_functions import calls_user_code

# a built-in name or alias -> the canonical name
BUILT_IN = {
    "count": "count",
    "count_all": "count_all",
    "count_if": "count_if",
    "sum": "sum",
    "try_sum": "sum",
    "avg": "avg",
    "mean": "avg",
    "try_avg": "avg",
    "min": "min",
    "max": "max",
    "stddev": "stddev",
    "stddev_samp": "stddev",
    "std": "stddev",
    "stddev_pop": "stddev_pop",
    "variance": "variance",
    "var_samp": "variance",
    "var_pop": "var_pop",
    "bool_and": "bool_and",
    "every": "bool_and",
    "bool_or": "bool_or",
    "any": "bool_or",
    "some": "bool_or",
    "median": "median",
    "percentile": "percentile",
    "approx_percentile": "approx_percentile",
    "percentile_approx": "approx_percentile",
    "mode": "mode",
    "approx_count_distinct": "approx_count_distinct",
    "percentile_cont": "percentile_cont",
    "percentile_disc": "percentile_disc",
    "covar_pop": "covar_pop",
    "covar_samp": "covar_samp",
    "skewness": "skewness",
    "kurtosis": "kurtosis",
    "bit_and": "bit_and",
    "bit_or": "bit_or",
    "bit_xor": "bit_xor",
}

# made of several others, by the front end
COMPOSED = (
    *("corr", "regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy"),
    *("regr_slope", "regr_intercept", "regr_r2"),
)

# by event time; the front end makes them of others, where it knows the rows that they are over
ORDERED = (
    *("any_value", "first", "first_value", "last", "last_value"),
    *("collect_list", "collect_set", "array_agg", "min_by", "max_by", "listagg", "string_agg"),
)
_SUMS = (
    "count_all",
    "count",
    "sum",
    "avg",
    "stddev",
    "stddev_pop",
    "variance",
    "var_pop",
    "covar_pop",
    "covar_samp",
)
_EXTREMES = ("min", "max")
_LASTING = (*_EXTREMES, "bit_and", "bit_or", "bit_xor")  # of one value, where no row ends
_SKETCHES = ("approx_percentile", "approx_count_distinct")  # of a bounded number of cells


def is_aggregate(name: str) -> bool:
    """Whether the name, compared without case, is an aggregate, built-in or registered."""
    known = (*BUILT_IN, *ORDERED, *COMPOSED)
    return name.lower() in known or aggregates.lookup(name) is not None


def resolve_aggregate(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """The typed call of an aggregate; COUNT(*) is `count` without arguments, or `count_all`.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import INT
    >>> str(resolve_aggregate("sum", [Column(0, INT)], False).type)
    'BIGINT'
    """
    wanted = name.lower()
    if wanted in BUILT_IN:
        return _BUILDERS[BUILT_IN[wanted]](BUILT_IN[wanted], args, distinct)
    registered = aggregates.lookup(wanted)
    if registered is None:
        raise _unknown(wanted)
    return _registered(registered, args, distinct)


def is_user_code(call: AggregateCall) -> bool:
    """Whether users' code takes part in an aggregate: it is theirs, or a function in its arguments is."""
    return aggregates.lookup(call.function) is not None or any(map(calls_user_code, call.args))


def _unknown(name: str) -> TypeMismatch:
    close = difflib.get_close_matches(name, [*BUILT_IN, *aggregates.registered_names()], n=3)
    hint = f"did you mean {', '.join(close)}?" if close else "register it: seine.algebra.aggregates.register"
    return TypeMismatch(f"there is no aggregate '{name}'", hint=hint)


def _registered(
    aggregate: aggregates.UserAggregate, args: Sequence[Expression], distinct: bool
) -> AggregateCall:
    name, wanted = aggregate.name.lower(), aggregate.arguments
    if isinstance(aggregate, aggregates.FoldedAggregate):
        _refuse_distinct(name, distinct)
    check_arity(name, args, len(wanted), len(wanted))
    pairs = enumerate(zip(args, wanted, strict=True), 1)
    cast = tuple(implied_cast(arg, type_, f"argument {i} of {name}") for i, (arg, type_) in pairs)
    return AggregateCall(name, cast, aggregate.result, distinct)


def _count(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    if name == "count_all" or not args:
        check_arity("count(*)", args, 0, 0)
        if distinct:
            raise TypeMismatch(
                "COUNT(DISTINCT *) is not there", hint="name the columns: COUNT(DISTINCT a, b)"
            )
        return AggregateCall("count_all", (), BIGINT)
    constant = all(isinstance(arg, Literal) and arg.value is not None for arg in args)
    if constant and not distinct:
        return AggregateCall("count_all", (), BIGINT)
    return AggregateCall("count", tuple(args), BIGINT, distinct)


def _count_if(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """COUNT_IF(c) is COUNT(CASE WHEN c THEN 1 END)."""
    check_arity(name, args, 1, 1)
    return AggregateCall("count", (resolve_case([args[0], literal(1)]),), BIGINT, distinct)


def _sum(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    check_arity(name, args, 1, 1)
    arg = number(args[0], name)
    return AggregateCall(name, (arg,), _sum_type(arg.type), distinct)


def _sum_type(type_: Type) -> Type:
    if type_.kind is Kind.DECIMAL:
        return decimal(min(MAX_PRECISION, type_.precision + 10), type_.scale)
    return BIGINT if type_.is_integer else DOUBLE


def _average(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    check_arity(name, args, 1, 1)
    arg = number(args[0], name)
    return AggregateCall(name, (arg,), _average_type(arg.type), distinct)


def _average_type(type_: Type) -> Type:
    if type_.kind is Kind.DECIMAL:
        return decimal(min(MAX_PRECISION, type_.precision + 4), min(MAX_PRECISION, type_.scale + 4))
    return DOUBLE


def _moment(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """Standard deviations and variances are computed on DOUBLE."""
    check_arity(name, args, 1, 1)
    arg = implied_cast(number(args[0], name), DOUBLE, f"the argument of {name}")
    return AggregateCall(name, (arg,), DOUBLE, distinct)


def _extreme(name: str, args: Sequence[Expression], _distinct: bool) -> AggregateCall:
    """MIN and MAX; DISTINCT changes nothing."""
    check_arity(name, args, 1, 1)
    arg = implied_cast(args[0], STRING, name) if args[0].type == NULL else args[0]
    if arg.type.kind is Kind.XML:
        raise TypeMismatch(f"{name} takes a type with an order, not XML", hint="CAST(... AS STRING)")
    return AggregateCall(name, (arg,), arg.type)


def _boolean(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """BOOL_AND is the MIN of conditions and BOOL_OR their MAX, false being less than true."""
    check_arity(name, args, 1, 1)
    if args[0].type not in (BOOLEAN, NULL):
        raise TypeMismatch(f"{name} takes a condition, not {args[0].type}")
    condition = implied_cast(args[0], BOOLEAN, name)
    return _extreme("min" if name == "bool_and" else "max", [condition], distinct)


def _median(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """MEDIAN(x) is PERCENTILE(x, 0.5)."""
    check_arity(name, args, 1, 1)
    return _percentile("percentile", [args[0], literal(0.5)], distinct)


def _percentile(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """Interpolated, on DOUBLE, as in Spark; how often each value counts cannot be given."""
    check_arity(name, args, 2, 2)
    _refuse_distinct(name, distinct)
    arg = implied_cast(number(args[0], name), DOUBLE, f"the argument of {name}")
    return AggregateCall(name, (arg,), DOUBLE, fraction=_fraction(name, args[1]))


def _approx_percentile(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """Discrete, within 0.4 % of the value; Spark's third argument, the accuracy, changes nothing."""
    check_arity(name, args, 2, 3)
    _refuse_distinct(name, distinct)
    arg = number(args[0], name)
    result = arg.type if arg.type.is_integer else DOUBLE
    wide = implied_cast(arg, DOUBLE, f"the argument of {name}")
    return AggregateCall(name, (wide,), result, fraction=_fraction(name, args[1]))


def _ordered_percentile(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """PERCENTILE_CONT and PERCENTILE_DISC, the first of which is PERCENTILE."""
    if len(args) != 2:
        hint = f"{name.upper()}(0.5) WITHIN GROUP (ORDER BY x)"
        raise TypeMismatch(f"{name} needs WITHIN GROUP", hint=hint)
    call = _percentile("percentile", args, distinct)
    return (
        call if name == "percentile_cont" else AggregateCall(name, call.args, DOUBLE, fraction=call.fraction)
    )


def _covariance(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """Of pairs, on DOUBLE."""
    check_arity(name, args, 2, 2)
    _refuse_distinct(name, distinct)
    pair = tuple(implied_cast(number(arg, name), DOUBLE, f"an argument of {name}") for arg in args)
    return AggregateCall(name, pair, DOUBLE)


def _bits(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """Of whole numbers; their type stays. DISTINCT changes BIT_XOR alone."""
    check_arity(name, args, 1, 1)
    if name == "bit_xor":
        _refuse_distinct(name, distinct)
    arg = implied_cast(args[0], BIGINT, name) if args[0].type in (NULL, STRING) else args[0]
    if not arg.type.is_integer:
        raise TypeMismatch(f"{name} takes INT or BIGINT, not {arg.type}")
    return AggregateCall(name, (arg,), arg.type)


def _shape(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """SKEWNESS and KURTOSIS."""
    _refuse_distinct(name, distinct)
    return _moment(name, args, distinct)


def _fraction(name: str, arg: Expression) -> float:
    value = arg.value if isinstance(arg, Literal) else None
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool) or not 0 <= value <= 1:
        raise TypeMismatch(f"{name} takes a constant between 0 and 1", hint=f"{name.upper()}(x, 0.9)")
    return float(value)


def _refuse_distinct(name: str, distinct: bool) -> None:
    if distinct:
        raise TypeMismatch(f"{name} of DISTINCT values is not there", hint="use a sub-query with DISTINCT")


def _mode(name: str, args: Sequence[Expression], distinct: bool) -> AggregateCall:
    """The most frequent value; of several, the least."""
    check_arity(name, args, 1, 1)
    _refuse_distinct(name, distinct)
    call = _extreme("min", args, False)
    return AggregateCall(name, call.args, call.type)


def _approx_count_distinct(name: str, args: Sequence[Expression], _distinct: bool) -> AggregateCall:
    """Spark's second argument, the wanted error, changes nothing."""
    check_arity(name, args, 1, 2)
    return AggregateCall(name, _extreme("min", args[:1], False).args, BIGINT)


_BUILDERS: dict[str, Callable[[str, Sequence[Expression], bool], AggregateCall]] = {
    "count": _count,
    "count_all": _count,
    "count_if": _count_if,
    "sum": _sum,
    "avg": _average,
    "min": _extreme,
    "max": _extreme,
    "stddev": _moment,
    "stddev_pop": _moment,
    "variance": _moment,
    "var_pop": _moment,
    "bool_and": _boolean,
    "bool_or": _boolean,
    "median": _median,
    "percentile": _percentile,
    "approx_percentile": _approx_percentile,
    "mode": _mode,
    "approx_count_distinct": _approx_count_distinct,
    "percentile_cont": _ordered_percentile,
    "percentile_disc": _ordered_percentile,
    "covar_pop": _covariance,
    "covar_samp": _covariance,
    "skewness": _shape,
    "kurtosis": _shape,
    "bit_and": _bits,
    "bit_or": _bits,
    "bit_xor": _bits,
}


def keeps_bounded_state(call: AggregateCall, lasting: bool) -> bool:
    """Whether a call keeps a bounded state for each group; `lasting`: no row that it is over ever ends.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BIGINT
    >>> largest = AggregateCall("max", (Column(0, BIGINT),), BIGINT)
    >>> keeps_bounded_state(largest, lasting=True), keeps_bounded_state(largest, lasting=False)
    (True, False)
    """
    if call.distinct:
        return False
    if call.function in _SKETCHES:
        return True
    registered = aggregates.lookup(call.function)
    if registered is None:
        return call.function in _SUMS or (lasting and call.function in _LASTING)
    if isinstance(registered, aggregates.FoldedAggregate):
        return lasting and registered.bounded
    return lasting or not any(kind in _EXTREMES for kind, _ in registered.parts.values())
