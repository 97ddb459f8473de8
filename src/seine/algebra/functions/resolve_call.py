"""Function resolution: from a name and argument expressions to a typed call (`resolve_call`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from seine.algebra import user_functions
from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions import operator_types, polymorphic, printing_types, time_types
from seine.algebra.functions.casting import TypeMismatch, implied_cast, literal, resolve_cast
from seine.algebra.functions.function_hints import unknown_function
from seine.algebra.functions.operator_types import resolve_arithmetic, resolve_negation
from seine.algebra.functions.signatures import SIGNATURES, check_arity
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Kind, Type

Resolver = Callable[[Sequence[Expression]], Expression]

ALIASES = {
    "ucase": "upper",
    "lcase": "lower",
    "btrim": "trim",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "substr": "substring",
    "mid": "substring",
    "char": "chr",
    "position": "locate",
    "charindex": "locate",
    "sha": "sha1",
    "regexp": "rlike",
    "regexp_like": "rlike",
    "ceiling": "ceil",
    "signum": "sign",
    "pow": "power",
    "negative": "neg",
    "dayofmonth": "day",
    "week": "weekofyear",
    "dateadd": "date_add",
    "date_diff": "datediff",
    "datepart": "extract",
    "to_unix_timestamp": "unix_timestamp",
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "iff": "if",
    "isnull": "is_null",
    "isnotnull": "is_not_null",
    "try_add": "add",
    "try_subtract": "sub",
    "try_multiply": "mul",
    "try_divide": "div",
    "try_mod": "mod",
    "try_to_date": "to_date",
    "try_to_timestamp": "to_timestamp",
    "try_make_date": "make_date",
    "try_make_timestamp": "make_timestamp",
    "try_parse_url": "parse_url",
    "try_url_decode": "url_decode",
    "equal_null": "eq_null_safe",
    "cardinality": "size",
    "array_size": "size",
    "try_element_at": "element_at",
    "printf": "format_string",
    "to_varchar": "to_char",
    "try_to_number": "to_number",
    "make_valid_utf8": "validate_utf8",
    "try_validate_utf8": "validate_utf8",
    "make_timestamp_ltz": "make_timestamp",
    "make_timestamp_ntz": "make_timestamp",
    "try_make_timestamp_ntz": "make_timestamp",
    "try_make_timestamp_ltz": "make_timestamp",
    "to_timestamp_ltz": "to_timestamp",
    "xpath_number": "xpath_double",
    "getbit": "bit_get",
    "date_part": "extract",
}

_CAST_FUNCTIONS: dict[str, Type] = {
    "boolean": BOOLEAN,
    "int": INT,
    "bigint": BIGINT,
    "double": DOUBLE,
    "decimal": Type(Kind.DECIMAL, 10, 0),
    "string": STRING,
    "date": DATE,
    "timestamp": TIMESTAMP,
}


def resolve_call(name: str, args: Sequence[Expression]) -> Expression:
    """The typed call of an operator (canonical name) or a Spark function (lower case).

    Arguments get the implicit casts of Spark's ANSI mode, syntactic sugar is expanded (BETWEEN, NVL, ...),
    and an unknown or ill-typed call is refused.

    >>> from seine.algebra.expressions import Column
    >>> str(resolve_call("nvl", [Column(0, BIGINT), literal(0)]))
    'coalesce(#0, 0)'
    >>> resolve_call("uper", [literal("a")])
    Traceback (most recent call last):
    seine.algebra.functions.casting.TypeMismatch: there is no function 'uper'
      hint: did you mean upper, power?
    """
    canonical = ALIASES.get(name, name)
    if canonical in _RESOLVERS:
        least, most, resolver = _RESOLVERS[canonical]
        check_arity(name, args, least, most)
        return resolver(args)
    if canonical in SIGNATURES:
        return SIGNATURES[canonical].bind(canonical, args)
    user = user_functions.lookup(canonical)
    if user is not None:
        return _resolve_user(user, args)
    known = [*function_names(), *(one.name for one in user_functions.registered())]
    raise unknown_function(name, known)


def _resolve_user(user: user_functions.UserFunction, args: Sequence[Expression]) -> Call:
    """A call of a user's function, its arguments cast to the types that it declares."""
    check_arity(user.name, args, len(user.arguments), len(user.arguments))
    given = [
        implied_cast(arg, type_, f"argument {place} of {user.name}")
        for place, (arg, type_) in enumerate(zip(args, user.arguments, strict=True), 1)
    ]
    return Call(user_functions.PREFIX + user.name.lower(), tuple(given), user.result)


def function_names() -> list[str]:
    """All function names, aliases included, sorted."""
    return sorted({*ALIASES, *_RESOLVERS, *SIGNATURES})


def _resolve_if(args: Sequence[Expression]) -> Expression:
    return operator_types.resolve_case(args)


def _resolve_nvl2(args: Sequence[Expression]) -> Expression:
    return operator_types.resolve_case(
        [operator_types.resolve_null_test("is_not_null", args[0]), args[1], args[2]]
    )


def _resolve_ilike(args: Sequence[Expression]) -> Expression:
    lowered = [resolve_call("lower", [arg]) for arg in args[:2]]
    return operator_types.resolve_like("like", [*lowered, *args[2:]])


def _resolve_nanvl(args: Sequence[Expression]) -> Expression:
    left, right = (polymorphic.number(arg, "nanvl") for arg in args)
    value = resolve_cast(left, DOUBLE)
    return operator_types.resolve_case([resolve_call("isnan", [value]), resolve_cast(right, DOUBLE), value])


def _resolve_regex(name: str, args: Sequence[Expression]) -> Call:
    call = SIGNATURES[name].bind(name, args)
    operator_types.check_regex(call.args[1])
    return call


def _resolve_regexp_replace(args: Sequence[Expression]) -> Expression:
    """REGEXP_REPLACE(text, pattern, replacement [, position]): in what begins at a constant position."""
    call = _resolve_regex("regexp_replace", args[:3])
    if len(args) == 3:
        return call
    start = args[3]
    if not isinstance(start, Literal) or not isinstance(start.value, int) or start.value < 1:
        raise TypeMismatch("the position of regexp_replace is a constant from 1 on")
    text = call.args[0]
    before = resolve_call("substring", [text, literal(1), literal(start.value - 1)])
    rest = _resolve_regex("regexp_replace", [resolve_call("substring", [text, start]), *args[1:3]])
    is_long = resolve_call("ge", [resolve_call("length", [text]), start])
    changed = resolve_call("if", [is_long, resolve_call("concat", [before, rest]), text])
    return call if start.value == 1 else changed


def _resolve_regexp_instr(args: Sequence[Expression]) -> Expression:
    """REGEXP_INSTR(text, pattern [, group]): Spark reads a group, and gives the place of the match."""
    call = _resolve_regex("regexp_instr", args[:2])
    if len(args) == 2:
        return call
    group = implied_cast(args[2], INT, "argument 3 of regexp_instr")
    return resolve_call("if", [resolve_call("is_null", [group]), Literal(None, INT), call])


def _resolve_mask(args: Sequence[Expression]) -> Expression:
    """MASK(text [, upper, lower, digit, other]): each is one sign, or NULL."""
    for arg in args[1:]:
        if isinstance(arg, Literal) and isinstance(arg.value, str) and len(arg.value) != 1:
            raise TypeMismatch(
                f"mask takes single signs, not '{arg.value}'", hint="e.g. mask(text, 'X', 'x', '0')"
            )
    return SIGNATURES["mask"].bind("mask", args)


def _resolve_elt(args: Sequence[Expression]) -> Expression:
    """ELT(n, a, b, ...) is CASE n WHEN 1 THEN a WHEN 2 THEN b ... END."""
    branches: list[Expression] = []
    for position, arg in enumerate(args[1:], 1):
        is_here = operator_types.resolve_comparison("eq", args[0], literal(position))
        branches += [is_here, implied_cast(arg, STRING, f"argument {position + 1} of elt")]
    return operator_types.resolve_case(branches)


def _resolve_overlay(args: Sequence[Expression]) -> Expression:
    """OVERLAY(text, piece, position [, length]): the piece instead of so many characters."""
    text, piece = (implied_cast(arg, STRING, "an argument of overlay") for arg in args[:2])
    start = implied_cast(args[2], INT, "argument 3 of overlay")
    size = resolve_call("length", [piece])
    if len(args) == 4:
        given = implied_cast(args[3], INT, "argument 4 of overlay")
        size = resolve_call("if", [resolve_call("lt", [given, literal(0)]), size, given])
    before = resolve_call("substring", [text, literal(1), resolve_call("sub", [start, literal(1)])])
    return resolve_call(
        "concat", [before, piece, resolve_call("substring", [text, resolve_call("add", [start, size])])]
    )


def _resolve_split_item(args: Sequence[Expression]) -> Expression:
    """ELEMENT_AT(SPLIT(text, pattern), n): the n-th part, from the end if n is negative."""
    text, pattern = (implied_cast(arg, STRING, "an argument of split") for arg in args[:2])
    operator_types.check_separator(pattern)
    return Call("split_item", (text, pattern, implied_cast(args[2], INT, "the position in a split")), STRING)


def _resolve_locate(args: Sequence[Expression]) -> Expression:
    if len(args) == 2:
        return SIGNATURES["instr"].bind("instr", [args[1], args[0]])
    return SIGNATURES["locate"].bind("locate", args)


def _resolve_not(args: Sequence[Expression]) -> Expression:
    return operator_types.resolve_logic("not", args)


def _arithmetic(name: str) -> tuple[int, int | None, Resolver]:
    return 2, 2, lambda args: resolve_arithmetic(name, args[0], args[1])


def _comparison(name: str) -> tuple[int, int | None, Resolver]:
    return 2, 2, lambda args: operator_types.resolve_comparison(name, args[0], args[1])


def _bitwise(name: str) -> tuple[int, int | None, Resolver]:
    return 2, 2, lambda args: polymorphic.resolve_bitwise(name, args)


def _shift(name: str) -> tuple[int, int | None, Resolver]:
    return 2, 2, lambda args: polymorphic.resolve_shift(name, args)


def _null_test(name: str) -> tuple[int, int | None, Resolver]:
    return 1, 1, lambda args: operator_types.resolve_null_test(name, args[0])


def _cast_function(type_: Type) -> tuple[int, int | None, Resolver]:
    return 1, 1, lambda args: resolve_cast(args[0], type_)


def _xpath(name: str) -> tuple[int, int | None, Resolver]:
    return 2, 2, lambda args: polymorphic.resolve_xpath(name, args)


_RESOLVERS: dict[str, tuple[int, int | None, Resolver]] = {
    **{name: _arithmetic(name) for name in ("add", "sub", "mul", "div", "mod", "pmod", "int_div")},
    **{name: _comparison(name) for name in operator_types.COMPARISONS},
    **{name: _null_test(name) for name in ("is_null", "is_not_null")},
    **{name: _cast_function(type_) for name, type_ in _CAST_FUNCTIONS.items()},
    "neg": (1, 1, lambda args: resolve_negation(args[0])),
    "positive": (1, 1, lambda args: polymorphic.number(args[0], "positive")),
    "and": (2, None, lambda args: operator_types.resolve_logic("and", args)),
    "or": (2, None, lambda args: operator_types.resolve_logic("or", args)),
    "not": (1, 1, _resolve_not),
    "between": (3, 3, lambda args: operator_types.resolve_between(args[0], args[1], args[2])),
    "in": (2, None, operator_types.resolve_in),
    "like": (2, 3, lambda args: operator_types.resolve_like("like", args)),
    "ilike": (2, 3, _resolve_ilike),
    "rlike": (2, 2, lambda args: operator_types.resolve_like("rlike", args)),
    "regexp_replace": (3, 4, _resolve_regexp_replace),
    "regexp_count": (2, 2, lambda args: _resolve_regex("regexp_count", args)),
    "regexp_extract": (2, 3, lambda args: _resolve_regex("regexp_extract", args)),
    "regexp_instr": (2, 3, _resolve_regexp_instr),
    "regexp_substr": (2, 2, lambda args: _resolve_regex("regexp_substr", args)),
    "case": (2, None, operator_types.resolve_case),
    "if": (3, 3, _resolve_if),
    "coalesce": (1, None, operator_types.resolve_coalesce),
    "nvl2": (3, 3, _resolve_nvl2),
    "nullif": (2, 2, lambda args: operator_types.resolve_nullif(args[0], args[1])),
    "nullifzero": (1, 1, lambda args: operator_types.resolve_nullif(args[0], literal(0))),
    "zeroifnull": (1, 1, lambda args: operator_types.resolve_coalesce([args[0], literal(0)])),
    "nanvl": (2, 2, _resolve_nanvl),
    "locate": (2, 3, _resolve_locate),
    "split_item": (3, 3, _resolve_split_item),
    "elt": (2, None, _resolve_elt),
    "mask": (1, 5, _resolve_mask),
    "overlay": (3, 4, _resolve_overlay),
    "hex": (1, 1, polymorphic.resolve_hex),
    **{name: _bitwise(name) for name in polymorphic.BITWISE},
    **{name: _shift(name) for name in polymorphic.SHIFTS},
    "bitwise_not": (1, 1, polymorphic.resolve_bit_not),
    "bit_count": (1, 1, lambda args: polymorphic.resolve_bits("bit_count", args)),
    "bit_get": (2, 2, lambda args: polymorphic.resolve_bits("bit_get", args)),
    "abs": (1, 1, polymorphic.resolve_abs),
    "ceil": (1, 2, lambda args: polymorphic.resolve_stepped("ceil", args)),
    "floor": (1, 2, lambda args: polymorphic.resolve_stepped("floor", args)),
    "round": (1, 2, lambda args: polymorphic.resolve_round("round", args)),
    "bround": (1, 2, lambda args: polymorphic.resolve_round("bround", args)),
    "greatest": (2, None, lambda args: polymorphic.resolve_extreme("greatest", args)),
    "least": (2, None, lambda args: polymorphic.resolve_extreme("least", args)),
    "log": (1, 2, polymorphic.resolve_logarithm),
    "e": (0, 0, lambda args: Literal(math.e, DOUBLE)),
    "pi": (0, 0, lambda args: Literal(math.pi, DOUBLE)),
    "date_trunc": (2, 2, polymorphic.resolve_date_trunc),
    "trunc": (2, 2, polymorphic.resolve_trunc),
    "extract": (2, 2, polymorphic.resolve_extract),
    "to_date": (1, 2, lambda args: polymorphic.resolve_parsed("to_date", args)),
    "to_timestamp": (1, 2, lambda args: polymorphic.resolve_parsed("to_timestamp", args)),
    "unix_timestamp": (0, 2, polymorphic.resolve_unix_timestamp),
    "date_format": (2, 2, polymorphic.resolve_date_format),
    "from_unixtime": (1, 2, polymorphic.resolve_from_unixtime),
    **{name: _xpath(name) for name in polymorphic.XPATH_FUNCTIONS},
    **polymorphic.RESOLVERS,
    **printing_types.RESOLVERS,
    **time_types.RESOLVERS,
}
