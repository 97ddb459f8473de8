r"""Regular expressions of Java, which Spark takes, as regular expressions of RE2, which run in linear time.

Most are the same text. Rewritten are the escapes and classes of `java_classes.py`, the dot, which to Java
stops at any line terminator, and letters beyond ASCII under `(?i)`, whose case Java heeds without `u`. What
RE2 would read as something else without saying so (classes inside of classes, `&&`, `(?U)`, a brace that
repeats nothing) is refused, and so is what it has not: look-around, back-references, possessive
quantifiers. So no pattern of a user can keep a worker busy for ever.

Differs: what extracts and replaces takes `$` as the end of the text alone; to Java it may also stand before a
line terminator that ends the text. Tests (RLIKE) have it so. Classes beyond ASCII ignore case under `(?i)`.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.java_classes import ESCAPE, inside_brackets, outside_brackets

_TERMINATORS = r"\n\r\x{85}\x{2028}\x{2029}"
_TOKENS = re.compile(
    rf"\\Q.*?(?:\\E|\Z)|{ESCAPE}|\[\^?\]?|\]|&&|\(\?[a-zA-Z-]*[:)]|\(\?P?<(?![=!])[^>]*>|\((?!\?)"
    r"|\{\d+(?:,\d*)?\}|.",
    re.DOTALL,
)
_DOT = f"[^{_TERMINATORS}]"
_END = rf"(?:(?:\r\n|[{_TERMINATORS}])?\z)"
_GROUP = re.compile(r"\((?!\?)|\(\?P?<(?![=!])[^>]*>")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(-[a-zA-Z]*)?([:)])")
_ASSERTIONS = ("^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z")


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
    ends = {"$": _END, r"\Z": _END} if consuming else {}
    return "".join(_rewritten(pattern, {".": _DOT, **ends}))


def with_named_groups(pattern: str) -> tuple[str, int]:
    """The pattern of RE2 whose groups have the names g1, g2, ... and the whole g0; the number of groups.

    >>> with_named_groups("(a)(?:b)(c)")
    ('(?P<g0>(?P<g1>a)(?:b)(?P<g2>c))', 2)
    """
    groups = 0
    pieces = []
    for piece in _rewritten(pattern, {".": _DOT}):
        opens = _GROUP.fullmatch(piece) is not None
        groups += opens
        pieces.append(f"(?P<g{groups}>" if opens else piece)
    return f"(?P<g0>{''.join(pieces)})", groups


def group_names(pattern: str) -> dict[str, int]:
    """The numbers of the groups that have names.

    >>> group_names("(a)(?<year>[0-9]+)")
    {'year': 2}
    """
    groups = [piece for piece in _rewritten(pattern, {}) if _GROUP.fullmatch(piece)]
    return {piece.strip("(?P<>"): number for number, piece in enumerate(groups, 1) if piece.startswith("(?")}


def matches_empty(pattern: str) -> bool:
    """Whether a pattern matches the empty text."""
    return bool(pc.match_substring_regex(pa.array([""]), re2_pattern(pattern))[0].as_py())


def has_assertions(pattern: str) -> bool:
    """Whether a pattern asks where it is: at an end, or at the border of a word."""
    return any(piece in _ASSERTIONS for piece in _rewritten(pattern, {}))


def _rewritten(pattern: str, outside: dict[str, str]) -> list[str]:
    """The pieces of the pattern of RE2; `outside` has those that are other outside of classes."""
    pieces: list[str] = []
    in_class = flagged = caseless = False
    for token in _TOKENS.findall(pattern):
        if in_class:
            pieces.append(_in_class(token))
            in_class = token != "]"
            continue
        flags = _FLAGS.fullmatch(token)
        if flags is not None:
            flagged = flagged or bool({"s", "m"} & {*flags[1]})
            caseless = ("i" in flags[1] and "u" not in flags[1]) or (caseless and "i" not in (flags[2] or ""))
            pieces.append(_known_flags(flags))
            continue
        in_class = token.startswith("[")
        kept = (flagged and token in ".$") or in_class
        pieces.append(token if kept else _outside(token, outside, caseless))
    return pieces


def _known_flags(flags: re.Match[str]) -> str:
    """The flags without Java's u, which RE2 always heeds; U means another thing there."""
    if "U" in flags[0]:
        raise PatternFault("the flag U")
    on, off, end = flags[1].replace("u", ""), (flags[2] or "").replace("u", "").rstrip("-"), flags[3]
    if not on and not off and end == ")":
        return ""
    return f"(?{on}{off}{end}"


def _outside(token: str, outside: dict[str, str], caseless: bool) -> str:
    if token == "{":
        raise PatternFault("a brace that repeats nothing")
    if token in outside:
        return outside[token]
    if token.startswith("\\") and not token.startswith(r"\Q"):
        return outside_brackets(token)
    return f"(?-i:{token})" if caseless and not token.isascii() else token


def _in_class(token: str) -> str:
    if token.startswith("[") or token == "&&":
        raise PatternFault("a class of characters inside of another")
    member = inside_brackets(token) if token.startswith("\\") else token
    if member is None:
        raise PatternFault(rf"{token} inside of a class of characters")
    return member
