"""The patterns by which dates are read and written: fields of letters, as Spark has them, and text.

`yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX` has fields, text in quotes, and in brackets what may be missing when it is
read.

Date patterns as PostgreSQL, RisingWave and Materialize write them, as Spark's.

    'YYYY-MM-DD HH24:MI:SS'     'yyyy-MM-dd HH:mm:ss'

Spark has no YYYY, DD, HH24 or MI, so where one of these stands no pattern of Spark's can be meant.
"""

from __future__ import annotations

import re

from seine.algebra.expressions import Expression, Literal
from seine.algebra.functions.casting import TypeMismatch
from seine.algebra.types import STRING

_ZONES = ("X", "XX", "XXX", "Z", "ZZ", "ZZZ", "ZZZZZ", "x", "xx", "xxx")
_FRACTIONS = tuple("S" * length for length in range(1, 10))
_COMMON = (
    *("yyyy", "MM", "dd", "HH", "mm", "ss", "y", "yy", "M", "MMM", "MMMM", "d", "D", "DDD"),
    *("a", "H", "h", "hh", "m", "s", *_FRACTIONS, *_ZONES),
)
PARSED_FIELDS = _COMMON
PRINTED_FIELDS = (
    *_COMMON,
    *("yyy", "yyyyy", "L", "LL", "LLL", "LLLL", "DD", "F", "E", "EE", "EEE", "EEEE"),
    *("Q", "QQ", "QQQ", "QQQQ", "q", "qq", "qqq", "qqqq"),
    *("G", "GG", "GGG", "GGGG", "K", "KK", "k", "kk", "z", "zz", "zzz", "zzzz", "ZZZZ", "VV", "O", "OOOO"),
)
_RESERVED = "#{}"
_HINT = "fields: yyyy MM dd HH mm ss SSS, MMM d H h a E D, zones XXX and Z; text in single quotes"
_NAMES = (
    ("MO", "MON", "MONDAY"),
    ("TU", "TUE", "TUESDAY"),
    ("WE", "WED", "WEDNESDAY"),
    ("TH", "THU", "THURSDAY"),
    ("FR", "FRI", "FRIDAY"),
    ("SA", "SAT", "SATURDAY"),
    ("SU", "SUN", "SUNDAY"),
)
WEEKDAY_NUMBERS = {name: number for number, names in enumerate(_NAMES, 1) for name in names}


def pattern_tokens(pattern: str) -> list[tuple[bool, str]] | None:
    """Tokenise a date pattern into (is a field, text) pairs; None if a quote is not closed.

    >>> pattern_tokens("yyyy-MM'T'")
    [(True, 'yyyy'), (False, '-'), (True, 'MM'), (False, 'T')]
    """
    tokens: list[tuple[bool, str]] = []
    at = 0
    while at < len(pattern):
        start, letter = at, pattern[at]
        if letter == "'":
            at = pattern.find("'", at + 1) + 1
            if at == 0:
                return None
            tokens.append((False, pattern[start + 1 : at - 1] or "'"))
            continue
        while at < len(pattern) and pattern[at] == letter and letter not in "[]":
            at += 1
        at = max(at, start + 1)
        is_field = letter.isascii() and letter.isalpha()
        tokens.append((is_field or letter in "[]", pattern[start:at]))
    return tokens


def checked_pattern(arg: Expression, name: str, fields: tuple[str, ...]) -> Literal:
    """A constant date pattern made of known fields."""
    if not isinstance(arg, Literal) or not isinstance(arg.value, str):
        raise TypeMismatch(f"the pattern of {name} must be a constant string", hint=_HINT)
    tokens = pattern_tokens(arg.value)
    if tokens is None:
        raise TypeMismatch(f"the pattern '{arg.value}' of {name} has an open quote", hint=_HINT)
    brackets = [text for is_field, text in tokens if is_field and text in "[]"]
    if brackets != ["[", "]"] * (len(brackets) // 2):
        raise TypeMismatch(f"the pattern '{arg.value}' of {name} has a bracket without another", hint=_HINT)
    unknown = [text for is_field, text in tokens if is_field and text not in (*fields, "[", "]")]
    unknown += [text for is_field, text in tokens if not is_field and text[:1] in _RESERVED and text]
    if unknown:
        meant = as_spark_pattern(arg.value)
        hint = _HINT if meant is None else f"write '{meant}'"
        raise TypeMismatch(f"the pattern of {name} cannot have '{unknown[0]}'", hint=hint)
    return Literal(arg.value, STRING)


_FIELDS = {
    "YYYY": "yyyy",
    "YY": "yy",
    "MM": "MM",
    "DD": "dd",
    "HH24": "HH",
    "HH12": "hh",
    "HH": "hh",
    "MI": "mm",
    "SS": "ss",
    "MS": "SSS",
    "US": "SSSSSS",
    "AM": "a",
    "PM": "a",
}
_OF_POSTGRES = re.compile("YYYY|DD|HH24|HH12|MI")
_PARTS = re.compile("|".join([*_FIELDS, "[^A-Za-z']"]))


def is_of_postgres(pattern: str) -> bool:
    """Whether a pattern has a field that Spark's patterns do not have.

    >>> is_of_postgres("HH24:MI"), is_of_postgres("HH:mm")
    (True, False)
    """
    return _OF_POSTGRES.search(pattern) is not None


def as_spark_pattern(pattern: str) -> str | None:
    """A pattern of PostgreSQL's as Spark's; None if it has anything else than fields and separators.

    >>> as_spark_pattern("YYYY-MM-DD"), as_spark_pattern("HH24:MI"), as_spark_pattern("HH:mm")
    ('yyyy-MM-dd', 'HH:mm', None)
    """
    parts = _PARTS.findall(pattern)
    return "".join(_FIELDS.get(part, part) for part in parts) if "".join(parts) == pattern else None
