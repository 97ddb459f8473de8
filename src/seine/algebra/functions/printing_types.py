"""Type resolution of functions that print or hash values of any type: FORMAT_STRING, HASH, TYPEOF.

Patterns of TO_CHAR and TO_NUMBER: [MI | S] [$] digits with separators [. digits] [PR | MI | S].

0 and 9 stand for digits, G and , for the separator of thousands, D and . for the point, S for a sign, MI for
a minus, PR for angle brackets around negative numbers.

The directives of a format of FORMAT_STRING, read and checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.casting import TypeMismatch, decimal, implied_cast
from seine.algebra.functions.date_fields import as_spark_pattern, is_of_postgres
from seine.algebra.functions.operator_types import resolve_case, resolve_comparison
from seine.algebra.functions.polymorphic import DECIMAL_OF, number, resolve_date_format
from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, TEXTS, Kind, Type

Resolver = Callable[[Sequence[Expression]], Expression]
_TYPE_NAMES = {
    Kind.NULL: "void",
    Kind.XML: "string",
    Kind.JSON: "array<string>",
    Kind.DAY_TIME: "interval day to second",
    Kind.YEAR_MONTH: "interval year to month",
}


def _resolve_format_number(args: Sequence[Expression]) -> Expression:
    """FORMAT_NUMBER(number, digits)."""
    if args[1].type == STRING:
        raise TypeMismatch("format_number takes a number of digits", hint="e.g. format_number(x, 2)")
    digits = implied_cast(args[1], INT, "the digits of format_number")
    return Call("format_number", (number(args[0], "format_number"), digits), STRING)


def _resolve_format_string(args: Sequence[Expression]) -> Expression:
    """FORMAT_STRING('format', ...) with a constant format, whose directives fit their arguments."""
    form = args[0]
    if not isinstance(form, Literal) or not isinstance(form.value, str):
        hint = "e.g. format_string('%05d %s', id, name)"
        raise TypeMismatch("the format of format_string must be a constant string", hint=hint)
    values = list(args[1:])
    for part in format_directives(form.value, len(values)):
        if isinstance(part, Directive):
            values[part.argument - 1] = _printable(values[part.argument - 1], part.conversion)
    return Call("format_string", (form, *values), STRING)


def _printable(arg: Expression, conversion: str) -> Expression:
    if conversion in "dxXo":
        if arg.type.is_integer or arg.type == NULL:
            return implied_cast(arg, INT if arg.type == NULL else arg.type, f"%{conversion}")
        raise TypeMismatch(
            f"%{conversion} takes a whole number, not {arg.type}", hint="CAST(... AS BIGINT), or %s"
        )
    if conversion in "feE":
        if arg.type in (DOUBLE, NULL):
            return implied_cast(arg, DOUBLE, f"%{conversion}")
        raise TypeMismatch(f"%{conversion} takes a DOUBLE, not {arg.type}", hint="CAST(... AS DOUBLE)")
    if arg.type.is_temporal:
        raise TypeMismatch(
            f"%s prints no {arg.type}", hint="CAST(... AS STRING), or date_format(ts, 'yyyy-MM-dd')"
        )
    return implied_cast(arg, STRING, "%s")


def _hash(name: str, result: Type) -> tuple[int, int | None, Resolver]:
    def resolve(args: Sequence[Expression]) -> Expression:
        if any(arg.type == TEXTS for arg in args):
            raise TypeMismatch(f"{name} takes no array", hint=f"{name}(array_join(array, ','))")
        return Call(name, tuple(args), result)

    return 1, None, resolve


def _resolve_typeof(args: Sequence[Expression]) -> Expression:
    """TYPEOF(x): the name of its type in Spark."""
    type_ = args[0].type
    return Literal(_TYPE_NAMES.get(type_.kind, str(type_).lower()), STRING)


def _resolve_decode(args: Sequence[Expression]) -> Expression:
    """DECODE(x, a, va, b, vb, ... [, otherwise]) is CASE WHEN x <=> a THEN va ... END."""
    pairs = list(args[1:])
    otherwise = [pairs.pop()] if len(pairs) % 2 else []
    branches: list[Expression] = []
    for search, result in zip(pairs[::2], pairs[1::2], strict=True):
        branches += [resolve_comparison("eq_null_safe", args[0], search), result]
    return resolve_case([*branches, *otherwise])


def _valid_text(args: Sequence[Expression]) -> Expression:
    """Texts are valid UTF-8 here: what is not is no text when it is read."""
    return implied_cast(args[0], STRING, "the argument")


def _resolve_is_valid(args: Sequence[Expression]) -> Expression:
    """IS_VALID_UTF8: true of every text."""
    text = _valid_text(args)
    return resolve_case([Call("is_not_null", (text,), BOOLEAN), Literal(True, BOOLEAN)])


def _resolve_to_char(args: Sequence[Expression]) -> Expression:
    """TO_CHAR of a number by a pattern; of a time it is DATE_FORMAT, also by PostgreSQL's patterns."""
    if args[0].type.is_temporal:
        return resolve_date_format([args[0], _date_pattern(args[1])])
    pattern = _checked_pattern(args[1], "to_char")
    arg = number(args[0], "to_char")
    return Call(
        "to_char", (implied_cast(arg, DECIMAL_OF.get(arg.type, arg.type), "to_char"), pattern), STRING
    )


def _date_pattern(arg: Expression) -> Expression:
    """A pattern of dates, Spark's or PostgreSQL's."""
    match arg:
        case Literal(str(pattern)) if is_of_postgres(pattern) and (meant := as_spark_pattern(pattern)):
            return Literal(meant, STRING)
    return arg


def _resolve_to_number(args: Sequence[Expression]) -> Expression:
    """TO_NUMBER of a text by a pattern, whose digits are those of the result."""
    pattern = _checked_pattern(args[1], "to_number")
    digits = number_pattern(pattern.value)
    assert digits is not None
    text = implied_cast(args[0], STRING, "argument 1 of to_number")
    return Call("to_number", (text, pattern), decimal(digits.precision, len(digits.part)))


def _checked_pattern(arg: Expression, name: str) -> Literal:
    hint = f"e.g. {name}(x, 'S9,999.00'): 0 9 . , D G $ S MI PR"
    if not isinstance(arg, Literal) or not isinstance(arg.value, str):
        raise TypeMismatch(f"the pattern of {name} must be a constant string", hint=hint)
    if number_pattern(arg.value.upper()) is None:
        raise TypeMismatch(f"'{arg.value}' is no pattern of a number", hint=hint)
    return Literal(arg.value.upper(), STRING)


RESOLVERS: dict[str, tuple[int, int | None, Resolver]] = {
    "format_number": (2, 2, _resolve_format_number),
    "format_string": (1, None, _resolve_format_string),
    "hash": _hash("hash", INT),
    "xxhash64": _hash("xxhash64", BIGINT),
    "to_char": (2, 2, _resolve_to_char),
    "to_number": (2, 2, _resolve_to_number),
    "typeof": (1, 1, _resolve_typeof),
    "decode": (3, None, _resolve_decode),
    "validate_utf8": (1, 1, _valid_text),
    "is_valid_utf8": (1, 1, _resolve_is_valid),
}


_PATTERN = re.compile(
    r"(?P<first>MI|S)?(?P<dollar>\$)?(?P<whole>(?:[09]+(?:[G,][09]+)*)?)(?P<point>[.D])?(?P<part>[09]*)(?P<last>PR|MI|S)?"
)
_MOST_DIGITS = 38


@dataclass(frozen=True)
class NumberPattern:
    """A pattern: the sign before or behind, digits between separators, digits behind the point."""

    first: str
    dollar: bool
    groups: tuple[str, ...]
    point: bool
    part: str
    last: str

    @property
    def whole_digits(self) -> int:
        """The digits before the point."""
        return sum(map(len, self.groups))

    @property
    def precision(self) -> int:
        """All digits."""
        return self.whole_digits + len(self.part)


@lru_cache(maxsize=1024)
def number_pattern(text: str) -> NumberPattern | None:
    """The pattern of a text; None if it is none.

    >>> number_pattern("$9,990.00MI").groups, number_pattern("9,,9")
    (('9', '990'), None)
    """
    match = _PATTERN.fullmatch(text)
    if match is None or (match["first"] and match["last"]):
        return None
    groups = tuple(re.split("[G,]", match["whole"])) if match["whole"] else ()
    pattern = NumberPattern(
        match["first"] or "",
        bool(match["dollar"]),
        groups,
        bool(match["point"]),
        match["part"],
        match["last"] or "",
    )
    has_place = pattern.point or not pattern.part
    return pattern if has_place and 1 <= pattern.precision <= _MOST_DIGITS else None


_DIRECTIVE = re.compile(r"%(?:(\d+)\$)?([-+ 0,(#]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_CONVERSIONS = "dxXosSfeE"
MOST_WIDTH = 10_000  # characters of one directive
_HINT = "%d %x %o of whole numbers, %f %e of others, %s of all, with Java's flags, width and precision"


@dataclass(frozen=True)
class Directive:
    """One directive: the number of its argument, from 1 on, and how that is printed."""

    argument: int
    flags: str
    width: int
    precision: int | None
    conversion: str


def format_directives(text: str, arguments: int) -> list[str | Directive]:
    """The texts and directives of a format; refuses what is none, or has no argument.

    >>> format_directives("a%5d%%", 1)
    ['a', Directive(argument=1, flags='', width=5, precision=None, conversion='d'), '%']
    """
    parts: list[str | Directive] = []
    at = following = 0
    for match in _DIRECTIVE.finditer(text):
        parts.append(_literal(text[at : match.start()]))
        at = match.end()
        number, flags, width, precision, conversion = match.groups()
        if conversion in "%n":
            parts.append("%" if conversion == "%" else "\n")
            continue
        following += number is None
        place = int(number or following)
        parts.append(_directive(match[0], place, flags, width, precision, conversion, arguments))
    parts.append(_literal(text[at:]))
    return [part for part in parts if part != ""] or [""]


def _directive(
    text: str,
    place: int,
    flags: str,
    width: str | None,
    precision: str | None,
    conversion: str,
    arguments: int,
) -> Directive:
    if conversion not in _CONVERSIONS:
        raise TypeMismatch(f"'{text}' is no directive of format_string", hint=_HINT)
    if not 1 <= place <= arguments:
        raise TypeMismatch(f"'{text}' has no argument", hint=f"format_string was given {arguments}")
    if max(int(width or 0), int(precision or 0)) > MOST_WIDTH:
        raise TypeMismatch(f"'{text}' is wider than {MOST_WIDTH} characters")
    if ("-" in flags or "0" in flags) and width is None:
        raise TypeMismatch(f"'{text}' needs a width", hint=_HINT)
    return Directive(place, flags, int(width or 0), None if precision is None else int(precision), conversion)


def _literal(text: str) -> str:
    if "%" in text:
        raise TypeMismatch(f"'{text}' is no directive of format_string", hint=_HINT)
    return text
