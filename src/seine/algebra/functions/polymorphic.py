"""Type resolution of functions whose result type depends on arguments, or that need a constant argument.

Among them are those of whole numbers and of arrays of texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.casting import (
    MAX_PRECISION,
    TypeMismatch,
    common_type,
    decimal,
    implied_cast,
    literal,
)
from seine.algebra.functions.date_fields import PARSED_FIELDS, PRINTED_FIELDS, checked_pattern
from seine.algebra.functions.function_hints import clock_refusal
from seine.algebra.functions.operator_types import (
    check_regex,
    check_separator,
    resolve_arithmetic,
    resolve_case,
    resolve_comparison,
    unify,
)
from seine.algebra.functions.signatures import SIGNATURES, check_arity
from seine.algebra.functions.xpath_syntax import shortened, xpath_fault
from seine.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DOUBLE,
    INT,
    JSON,
    NULL,
    STRING,
    TEXTS,
    TIMESTAMP,
    YEAR_MONTH,
    Kind,
    Type,
)

# The units of DATE_TRUNC and TRUNC, by the names Spark accepts.
TRUNCATION_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
    **dict.fromkeys(("day", "dd"), "day"),
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "millisecond": "millisecond",
    "microsecond": "microsecond",
}
XPATH_FUNCTIONS = {
    "xpath_string": STRING,
    "xpath_int": INT,
    "xpath_long": BIGINT,
    "xpath_double": DOUBLE,
    "xpath_boolean": BOOLEAN,
}
_DATE_UNITS = ("year", "quarter", "month", "week")
_FUNCTION_OF_FIELD = {
    **dict.fromkeys(("year", "y", "years", "yr", "yrs"), "year"),
    **dict.fromkeys(("quarter", "qtr"), "quarter"),
    **dict.fromkeys(("month", "mon", "mons", "months"), "month"),
    **dict.fromkeys(("week", "w", "weeks"), "weekofyear"),
    **dict.fromkeys(("day", "d", "days"), "day"),
    **dict.fromkeys(("dayofweek", "dow"), "dayofweek"),
    **dict.fromkeys(("dayofweek_iso", "dow_iso"), "dayofweek_iso"),
    "yearofweek": "yearofweek",
    **dict.fromkeys(("doy", "dayofyear"), "dayofyear"),
    **dict.fromkeys(("hour", "h", "hours", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "m", "min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("second", "s", "sec", "seconds", "secs"), "extract_second"),
}
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("shiftleft", "shiftright", "shiftrightunsigned")
DECIMAL_OF: dict[Type, Type] = {INT: decimal(10, 0), BIGINT: decimal(20, 0), DOUBLE: decimal(30, 15)}
Resolver = Callable[[Sequence[Expression]], Expression]


def number(arg: Expression, name: str) -> Expression:
    """The argument if it is numeric; a string or NULL cast to DOUBLE."""
    if arg.type in (STRING, NULL):
        return implied_cast(arg, DOUBLE, f"the argument of {name}")
    if not arg.type.is_numeric:
        raise TypeMismatch(f"the argument of {name} must be a number, not {arg.type}")
    return arg


def resolve_abs(args: Sequence[Expression]) -> Expression:
    """ABS of a number or an interval."""
    check_arity("abs", args, 1, 1)
    if args[0].type in (DAY_TIME, YEAR_MONTH):
        return Call("abs", (args[0],), args[0].type)
    arg = number(args[0], "abs")
    return Call("abs", (arg,), arg.type)


def resolve_whole(name: str, args: Sequence[Expression]) -> Expression:
    """CEIL and FLOOR: the result is BIGINT, or a DECIMAL of scale 0."""
    check_arity(name, args, 1, 1)
    arg = number(args[0], name)
    if arg.type.kind is not Kind.DECIMAL:
        return Call(name, (arg,), BIGINT)
    digits = arg.type.precision - arg.type.scale
    whole = (
        decimal(arg.type.precision, 0) if arg.type.scale == 0 else decimal(min(MAX_PRECISION, digits + 1), 0)
    )
    return Call(name, (arg,), whole)


def resolve_round(name: str, args: Sequence[Expression]) -> Expression:
    """ROUND and BROUND to a constant number of digits."""
    check_arity(name, args, 1, 2)
    digits = implied_cast(args[1], INT, f"the digits of {name}") if len(args) == 2 else Literal(0, INT)
    constant = constant_int(digits)
    if constant is None:
        raise TypeMismatch(f"the digits of {name} must be a whole constant", hint=f"e.g. {name}(x, 2)")
    arg = number(args[0], name)
    return Call(name, (arg, Literal(constant, INT)), rounded_type(arg.type, constant))


def rounded_type(type_: Type, digits: int) -> Type:
    """The type of a number rounded to digits: one integral digit more, since 9.9 rounds to 10."""
    if type_.kind is not Kind.DECIMAL:
        return type_
    integral = type_.precision - type_.scale + 1
    if digits < 0:
        return decimal(min(MAX_PRECISION, max(integral, 1 - digits)), 0)
    scale = min(type_.scale, digits)
    return decimal(min(MAX_PRECISION, integral + scale), scale)


def constant_int(expression: Expression) -> int | None:
    """The value of an integer literal, or None."""
    if isinstance(expression, Literal) and isinstance(expression.value, int):
        return int(expression.value)
    return None


def resolve_extreme(name: str, args: Sequence[Expression]) -> Expression:
    """GREATEST and LEAST, which skip NULLs, over arguments cast to one type."""
    check_arity(name, args, 2, None)
    cast, target = unify(args, name.upper())
    return Call(name, cast, target)


def resolve_logarithm(args: Sequence[Expression]) -> Expression:
    """LOG(x), the natural logarithm, and LOG(base, x)."""
    check_arity("log", args, 1, 2)
    if len(args) == 1:
        return SIGNATURES["ln"].bind("ln", args)
    return Call("log", tuple(implied_cast(arg, DOUBLE, "an argument of log") for arg in args), DOUBLE)


def resolve_date_trunc(args: Sequence[Expression]) -> Expression:
    """DATE_TRUNC('unit', timestamp)."""
    check_arity("date_trunc", args, 2, 2)
    unit = constant_word(args[0], TRUNCATION_UNITS, "the unit of date_trunc")
    return Call(
        "date_trunc",
        (Literal(unit, STRING), implied_cast(args[1], TIMESTAMP, "argument 2 of date_trunc")),
        TIMESTAMP,
    )


def resolve_trunc(args: Sequence[Expression]) -> Expression:
    """TRUNC(date, 'unit')."""
    check_arity("trunc", args, 2, 2)
    allowed = {word: unit for word, unit in TRUNCATION_UNITS.items() if unit in _DATE_UNITS}
    unit = constant_word(args[1], allowed, "the unit of trunc")
    return Call("trunc", (implied_cast(args[0], DATE, "argument 1 of trunc"), Literal(unit, STRING)), DATE)


def resolve_extract(args: Sequence[Expression]) -> Expression:
    """EXTRACT(field FROM x), called with the field's name first."""
    check_arity("extract", args, 2, 2)
    if isinstance(args[0], Literal) and str(args[0].value).lower() == "epoch":
        raise TypeMismatch("extract has no epoch", hint="write unix_seconds(ts), or unix_millis(ts)")
    function = constant_word(args[0], _FUNCTION_OF_FIELD, "the field of extract")
    if function == "extract_second":
        return Call(function, (implied_cast(args[1], TIMESTAMP, "argument 2 of extract"),), decimal(8, 6))
    if function in ("yearofweek", "dayofweek_iso"):
        return _of_iso_week(function, args[1])
    return SIGNATURES[function].bind(function, args[1:])


def _of_iso_week(field: str, date: Expression) -> Expression:
    """The day of a week that begins on Monday, from 1 on, or the year that has the Thursday of that week."""
    weekday = SIGNATURES["weekday"].bind("weekday", [date])
    if field == "dayofweek_iso":
        return resolve_arithmetic("add", weekday, literal(1))
    thursday = [date, resolve_arithmetic("sub", literal(3), weekday)]
    return SIGNATURES["year"].bind("year", [SIGNATURES["date_add"].bind("date_add", thursday)])


def constant_word(arg: Expression, meanings: dict[str, str], what: str) -> str:
    """What a constant string stands for, out of a fixed set, compared without case."""
    known = ", ".join(dict.fromkeys(meaning.removeprefix("extract_") for meaning in meanings.values()))
    if not isinstance(arg, Literal) or not isinstance(arg.value, str):
        raise TypeMismatch(f"{what} must be a constant string", hint=f"one of {known}")
    if arg.value.lower() not in meanings:
        raise TypeMismatch(f"{what} cannot be '{arg.value}'", hint=f"one of {known}")
    return meanings[arg.value.lower()]


def resolve_parsed(name: str, args: Sequence[Expression]) -> Expression:
    """TO_DATE and TO_TIMESTAMP: a cast, or with a pattern, which must be constant, a call."""
    check_arity(name, args, 1, 2)
    target = DATE if name == "to_date" else TIMESTAMP
    if len(args) == 1 or args[0].type.is_temporal:
        return implied_cast(args[0], target, f"the argument of {name}")
    pattern = checked_pattern(args[1], name, PARSED_FIELDS)
    return Call(name, (implied_cast(args[0], STRING, f"argument 1 of {name}"), pattern), target)


def resolve_unix_timestamp(args: Sequence[Expression]) -> Expression:
    """UNIX_TIMESTAMP: seconds since 1970 of a timestamp, or of a string by a pattern; truncated."""
    if not args:
        raise clock_refusal("unix_timestamp without an argument")
    if args[0].type == STRING:
        args = [resolve_parsed("to_timestamp", [*args, Literal("yyyy-MM-dd HH:mm:ss", STRING)][:2])]
    micros = SIGNATURES["unix_micros"].bind("unix_micros", args[:1])
    return Call("int_div", (micros, Literal(1_000_000, BIGINT)), BIGINT)


def resolve_date_format(args: Sequence[Expression]) -> Expression:
    """DATE_FORMAT(timestamp, pattern) with a constant pattern."""
    check_arity("date_format", args, 2, 2)
    pattern = checked_pattern(args[1], "date_format", PRINTED_FIELDS)
    return Call(
        "date_format", (implied_cast(args[0], TIMESTAMP, "argument 1 of date_format"), pattern), STRING
    )


def resolve_xpath(name: str, args: Sequence[Expression]) -> Expression:
    """XPATH_STRING and its like: a document and a constant XPath expression."""
    check_arity(name, args, 2, 2)
    document, path = args
    if not isinstance(path, Literal) or not isinstance(path.value, str) or not path.value.strip():
        hint = f"{name}(doc, 'item/title')"
        raise TypeMismatch(f"the path of {name} must be a constant string", hint=hint)
    fault = xpath_fault(path.value)
    if fault is not None:
        hint = f"XPath 1.0, e.g. {name}(doc, 'item[price > 10]/title'); names are local names"
        raise TypeMismatch(f"'{shortened(path.value)}' is not an XPath expression: {fault}", hint=hint)
    text = implied_cast(document, STRING, f"argument 1 of {name}")
    return Call(name, (text, Literal(path.value, STRING)), XPATH_FUNCTIONS[name])


def resolve_from_unixtime(args: Sequence[Expression]) -> Expression:
    """FROM_UNIXTIME(seconds [, pattern]): a DATE_FORMAT of the timestamp."""
    check_arity("from_unixtime", args, 1, 2)
    seconds = implied_cast(args[0], BIGINT, "argument 1 of from_unixtime")
    pattern = args[1] if len(args) == 2 else Literal("yyyy-MM-dd HH:mm:ss", STRING)
    return resolve_date_format([Call("timestamp_seconds", (seconds,), TIMESTAMP), pattern])


def _whole(arg: Expression, name: str) -> Expression:
    """The argument if it is a whole number; a string or NULL cast to BIGINT or INT."""
    if arg.type.is_integer:
        return arg
    if arg.type.kind in (Kind.STRING, Kind.NULL):
        return implied_cast(arg, BIGINT if arg.type == STRING else INT, f"an argument of {name}")
    raise TypeMismatch(f"an argument of {name} must be INT or BIGINT, not {arg.type}")


def resolve_bitwise(name: str, args: Sequence[Expression]) -> Expression:
    """a & b, a | b and a ^ b of whole numbers, in the wider of their types."""
    left, right = (_whole(arg, name) for arg in args)
    type_ = common_type([left.type, right.type]) or BIGINT
    return Call(name, tuple(implied_cast(arg, type_, name) for arg in (left, right)), type_)


def resolve_bit_not(args: Sequence[Expression]) -> Expression:
    """~a."""
    arg = _whole(args[0], "~")
    return Call("bitwise_not", (arg,), arg.type)


def resolve_shift(name: str, args: Sequence[Expression]) -> Expression:
    """SHIFTLEFT(number, bits) and its like: of the number's type."""
    arg = _whole(args[0], name)
    return Call(name, (arg, implied_cast(args[1], INT, f"argument 2 of {name}")), arg.type)


def resolve_bits(name: str, args: Sequence[Expression]) -> Expression:
    """BIT_COUNT(number) and BIT_GET(number, position): INT."""
    arg = _whole(args[0], name)
    others = tuple(implied_cast(other, INT, f"argument 2 of {name}") for other in args[1:])
    return Call(name, (arg, *others), INT)


def resolve_hex(args: Sequence[Expression]) -> Expression:
    """HEX of a number or of a text."""
    arg = args[0]
    return Call(
        "hex", (arg if arg.type == STRING else implied_cast(arg, BIGINT, "the argument of hex"),), STRING
    )


def resolve_stepped(name: str, args: Sequence[Expression]) -> Expression:
    """CEIL and FLOOR, also to a constant number of digits, which makes a DECIMAL as in Spark."""
    if len(args) == 1:
        return resolve_whole(name, args)
    digits = constant_int(implied_cast(args[1], INT, f"the digits of {name}"))
    if digits is None:
        raise TypeMismatch(f"the digits of {name} must be a whole constant", hint=f"e.g. {name}(x, 2)")
    arg = number(args[0], name)
    exact = implied_cast(arg, DECIMAL_OF.get(arg.type, arg.type), name)
    return Call(name, (exact, Literal(digits, INT)), rounded_type(exact.type, digits))


def _resolve_array(args: Sequence[Expression]) -> Expression:
    """ARRAY(a, b, ...) of texts."""
    other = next((arg for arg in args if arg.type not in (STRING, NULL)), None)
    if other is not None:
        hint = "x IN (a, b), greatest(a, b), least(a, b), or CAST(... AS STRING)"
        raise TypeMismatch(f"array holds texts, not {other.type}", hint=hint)
    return Call("array", tuple(implied_cast(arg, STRING, "an item of array") for arg in args), TEXTS)


def _resolve_size(args: Sequence[Expression]) -> Expression:
    """SIZE of an array, also of one that an aggregate has collected."""
    if args[0].type == JSON:
        return Call("json_array_length", (args[0],), INT)
    return Call("size", (implied_cast(args[0], TEXTS, "the argument of size"),), INT)


def _resolve_reverse(args: Sequence[Expression]) -> Expression:
    """REVERSE of a text or of an array."""
    if args[0].type == TEXTS:
        return Call("array_reverse", (args[0],), TEXTS)
    return SIGNATURES["reverse"].bind("reverse", args)


def _resolve_concat(args: Sequence[Expression]) -> Expression:
    """CONCAT of arrays, or of texts, where nested || become one concatenation."""
    if any(arg.type == TEXTS for arg in args):
        return Call(
            "array_concat", tuple(implied_cast(arg, TEXTS, "an argument of concat") for arg in args), TEXTS
        )
    flat: list[Expression] = []
    for arg in args:
        nested = isinstance(arg, Call) and arg.name == "concat"
        flat.extend(arg.args if nested and isinstance(arg, Call) else [arg])
    return SIGNATURES["concat"].bind("concat", flat)


def _resolve_concat_ws(args: Sequence[Expression]) -> Expression:
    """CONCAT_WS: an array adds its items, and nothing if it has none."""
    parts = [_joined_items(arg, args[0]) if arg.type == TEXTS else arg for arg in args]
    return SIGNATURES["concat_ws"].bind("concat_ws", parts)


def _joined_items(array: Expression, separator: Expression) -> Expression:
    items = Call("array_compact", (array,), TEXTS)
    joined = SIGNATURES["array_join"].bind("array_join", [items, separator])
    return resolve_case([resolve_comparison("gt", Call("size", (items,), INT), literal(0)), joined])


def _resolve_split(args: Sequence[Expression]) -> Expression:
    call = SIGNATURES["split"].bind("split", args)
    check_separator(call.args[1])
    return call


def _resolve_extract_all(args: Sequence[Expression]) -> Expression:
    call = SIGNATURES["regexp_extract_all"].bind("regexp_extract_all", args)
    check_regex(call.args[1])
    check_separator(call.args[1])
    return call


def _resolve_slice(args: Sequence[Expression]) -> Expression:
    """SLICE(array, start, length); start 0 and a negative length are refused where they are constants."""
    call = SIGNATURES["slice"].bind("slice", args)
    start, length = call.args[1:]
    if isinstance(start, Literal) and start.value == 0:
        raise TypeMismatch("slice counts from 1, or from the end by -1")
    if isinstance(length, Literal) and isinstance(length.value, int) and length.value < 0:
        raise TypeMismatch("slice takes no negative length")
    return call


RESOLVERS: dict[str, tuple[int, int | None, Resolver]] = {
    "array": (1, None, _resolve_array),
    "size": (1, 1, _resolve_size),
    "reverse": (1, 1, _resolve_reverse),
    "concat": (1, None, _resolve_concat),
    "concat_ws": (1, None, _resolve_concat_ws),
    "split": (2, 3, _resolve_split),
    "regexp_extract_all": (2, 3, _resolve_extract_all),
    "slice": (3, 3, _resolve_slice),
}
