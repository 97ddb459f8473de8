r"""Regular expressions of Java, which Spark takes, as regular expressions of RE2, which run in linear time.

Most are the same text. Two are rewritten: to Java `.` stops at any line terminator, and `\s` has the
vertical tab. What RE2 would read as something else without saying so (classes inside of classes, `&&`)
is refused, and so is what it has not: look-around, back-references, possessive quantifiers. So no pattern
of a user can keep a worker busy for ever.

Differs: what extracts and replaces takes `$` as the end of the text alone; to Java it may also stand before a
line terminator that ends the text. Tests (RLIKE) have it so.
"""

from __future__ import annotations

import re

_TERMINATORS = r"\n\r\x{85}\x{2028}\x{2029}"
_SPACE = r"\t\n\x0B\f\r "
_TOKENS = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?|\]|&&|\(\?[a-zA-Z-]*[:)]|\(\?P?<(?![=!])[^>]*>|\((?!\?)|.", re.DOTALL
)
_OUTSIDE = {".": f"[^{_TERMINATORS}]", r"\s": f"[{_SPACE}]", r"\S": f"[^{_SPACE}]"}


_END = rf"(?:(?:\r\n|[{_TERMINATORS}])?\z)"
_GROUP = re.compile(r"\((?!\?)|\(\?P?<(?![=!])[^>]*>")


class PatternFault(ValueError):
    """Why a pattern of Java has no equal in RE2."""


def re2_pattern(pattern: str, consuming: bool = False) -> str:
    r"""The pattern of RE2 that matches where Java's does; raises PatternFault where there is none.

    With `consuming`, for tests that need no end of a match, `$` takes in a line terminator at the end.
    A pattern that sets the flags s or m keeps its dots and dollars: they mean the same in both.

    >>> re2_pattern(r"a\sb"), re2_pattern("[ab]{2}")
    ('a[\\t\\n\\x0B\\f\\r ]b', '[ab]{2}')
    >>> re2_pattern("[a-z&&[^b]]")
    Traceback (most recent call last):
    seine.algebra.java_patterns.PatternFault: a class of characters inside of another
    """
    pieces = _rewritten(pattern, {**_OUTSIDE, "$": _END} if consuming else _OUTSIDE)
    return "".join(pieces)


def with_named_groups(pattern: str) -> tuple[str, int]:
    """The pattern of RE2 whose groups have the names g1, g2, ... and the whole g0; the number of groups.

    >>> with_named_groups("(a)(?:b)(c)")
    ('(?P<g0>(?P<g1>a)(?:b)(?P<g2>c))', 2)
    """
    groups = 0
    pieces = []
    for piece in _rewritten(pattern, _OUTSIDE):
        opens = _GROUP.fullmatch(piece) is not None
        groups += opens
        pieces.append(f"(?P<g{groups}>" if opens else piece)
    return f"(?P<g0>{''.join(pieces)})", groups


def _rewritten(pattern: str, outside: dict[str, str]) -> list[str]:
    """The pieces of the pattern of RE2; `outside` has those that are other outside of classes."""
    pieces: list[str] = []
    in_class = flagged = False
    for token in _TOKENS.findall(pattern):
        if in_class:
            pieces.append(_in_class(token))
            in_class = token != "]"
            continue
        flagged = flagged or (token.startswith("(?") and bool({"s", "m"} & {*token.split("-")[0]}))
        in_class = token.startswith("[")
        pieces.append(token if flagged and token in ".$" else outside.get(token, token))
    return pieces


def _in_class(token: str) -> str:
    if token.startswith("[") or token == "&&":
        raise PatternFault("a class of characters inside of another")
    if token == r"\s":
        return _SPACE
    if token == r"\S":
        raise PatternFault(r"\S inside of a class of characters")
    return token
