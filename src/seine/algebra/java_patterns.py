r"""Regular expressions of Java, which Spark takes, as regular expressions of RE2, which run in linear time.

Most are the same text. Rewritten are the escapes and classes (below), the dot, which to Java
stops at any line terminator, and letters beyond ASCII under `(?i)`, whose case Java heeds without `u`. What
RE2 would read as something else without saying so (classes inside of classes, `&&`, `(?U)`, a brace that
repeats nothing) is refused, and so is what it has not: look-around, back-references, possessive
quantifiers. So no pattern of a user can keep a worker busy for ever.

Differs: what extracts and replaces takes `$` as the end of the text alone; to Java it may also stand before a
line terminator that ends the text. Tests (RLIKE) have it so. Classes beyond ASCII ignore case under `(?i)`.

Escapes and named classes of characters of Java's regular expressions, as RE2 writes them.

An escape has two forms: outside of brackets, and inside of a class `[...]`.

Differs: `\p{IsAlphabetic}`, `\p{javaLowerCase}`, blocks (`\p{InGreek}`) and clusters (`\X`) have no equal in
RE2.

What Java puts in the place of a match: `$1` and `${name}` are groups, a backslash quotes a character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

_HORIZONTAL = r" \t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}"
_VERTICAL = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}"
_SPACE = r"\t\n\x0B\f\r "
_NO_SPACE = r"\x00-\x08\x0E-\x1F!-\x{10FFFF}"
# what stands inside of brackets, and whether the escape is all that is not in it
_SETS = {
    r"\s": (_SPACE, False),
    r"\S": (_SPACE, True),
    r"\h": (_HORIZONTAL, False),
    r"\H": (_HORIZONTAL, True),
    r"\v": (_VERTICAL, False),
    r"\V": (_VERTICAL, True),
}
_POSIX = {
    *("lower", "upper", "ascii", "alpha", "digit", "alnum", "punct"),
    *("graph", "print", "blank", "cntrl", "xdigit", "space"),
}
_NAMED = {"L1": r"\x00-\x{FF}"}
_PROPERTIES = {"digit": "Nd", "punctuation": "P", "control": "Cc", "letter": "L", "titlecase": "Lt"}
_PROPERTY = re.compile(r"\\([pP])(?:\{([^}]*)\}|([A-Z]))")
_CODE = re.compile(
    r"\\u([0-9A-Fa-f]{4})(?:\\u([0-9A-Fa-f]{4}))?|\\0([0-3]?[0-7]{1,2})|\\c(.)|\\(e)", re.DOTALL
)

ESCAPE = r"\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}" + (
    r"|\\0[0-3][0-7]{2}|\\0[0-7]{1,2}|\\c.|\\[pP]\{[^}]*\}|\\[pP][A-Z]|\\x\{[0-9A-Fa-f]+\}|\\."
)


"""A regular expression of one escape."""


def outside_brackets(escape: str) -> str:
    r"""An escape that stands for itself.

    >>> outside_brackets(r"\p{Alpha}"), outside_brackets(r"\u0041"), outside_brackets(r"\d")
    ('[[:alpha:]]', '\\x{41}', '\\d')
    """
    if escape == r"\R":
        return rf"(?:\r\n|[{_VERTICAL}])"
    if escape in _SETS:
        inner, negated = _SETS[escape]
        return f"[{'^' if negated else ''}{inner}]"
    inner = _property(escape) or _code(escape) or escape
    return f"[{inner}]" if inner.startswith("[:") or "-" in inner else inner


def inside_brackets(escape: str) -> str | None:
    r"""An escape that is a member of a class; None if RE2 has no such member.

    >>> inside_brackets(r"\h") == inside_brackets(r"\H"), inside_brackets(r"\P{Upper}")
    (False, '[:^upper:]')
    """
    if escape in _SETS:
        inner, negated = _SETS[escape]
        return _NO_SPACE if escape == r"\S" else None if negated else inner
    return _property(escape) or _code(escape) or escape


def _property(escape: str) -> str | None:
    r"""The class that `\p{...}` names, of POSIX, a script or a category."""
    match = _PROPERTY.fullmatch(escape)
    if match is None:
        return None
    name = match[2] or match[3]
    negated = match[1] == "P"
    if name.lower() in _POSIX and name.lower() != name:
        return f"[:{'^' if negated else ''}{name.lower()}:]"
    if name in _NAMED and not negated:
        return _NAMED[name]
    if name.startswith("^"):
        return r"\p{}"  # Java has no such class, and RE2 refuses this one
    return rf"\{'P' if negated else 'p'}{{{_category_or_script(name)}}}"


def _category_or_script(name: str) -> str:
    """The name of a category or a script in RE2: `IsLatin`, `script=Latin` and `sc=latin` are `Latin`."""
    key, equals, value = name.partition("=")
    if equals and key.lower() in ("script", "sc"):
        return value.capitalize()
    if equals and key.lower() in ("general_category", "gc"):
        return value
    if name.startswith("Is"):
        plain = name.removeprefix("Is")
        return _PROPERTIES.get(plain.lower(), plain if len(plain) <= 2 else plain.capitalize())
    return name


def _code(escape: str) -> str | None:
    r"""The character that `\u0041`, two halves of one, `\0101`, `\cA` or `\e` is."""
    match = _CODE.fullmatch(escape)
    if match is None:
        return None
    if match[5]:
        return r"\x1B"
    if match[4]:
        return rf"\x{{{ord(match[4]) ^ 64:X}}}"
    if match[3]:
        return rf"\x{{{int(match[3], 8):X}}}"
    code = int(match[1], 16)
    if match[2]:
        code = 0x10000 + ((code - 0xD800) << 10) + (int(match[2], 16) - 0xDC00)
    return rf"\x{{{code:X}}}"


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


_PIECES = re.compile(r"\$\d+|\$\{\w*\}|\\.|.", re.DOTALL)
_MOST_GROUPS = 9  # RE2 has \1 to \9


def rewritten(replacement: str, groups: int, names: Mapping[str, int]) -> tuple[str, str]:
    r"""The replacement as RE2 writes it, and the text that it is of a match without groups.

    Of `$12` Java takes as many digits as there are groups for, so with one group it is `$1` and a 2.

    >>> rewritten(r"<$1\$>", 1, {}), rewritten("$12${x}", 2, {"x": 2})
    (('<\\1$>', '<$>'), ('\\12\\2', '2'))
    >>> rewritten("$3", 2, {})
    Traceback (most recent call last):
    seine.algebra.java_patterns.PatternFault: no group 3
    """
    with_groups, without = "", ""
    for piece in _PIECES.findall(replacement):
        if piece[0] == "$":
            group, rest = _reference(piece, groups, names)
            with_groups += rf"\{group}{rest}"
            without += rest
        else:
            literal = _literal(piece)
            with_groups += literal
            without += literal
    return with_groups, without


def _literal(piece: str) -> str:
    if piece == "\\":
        raise PatternFault("a backslash that quotes nothing")
    return r"\\" if piece == r"\\" else piece[-1]


def _reference(piece: str, groups: int, names: Mapping[str, int]) -> tuple[int, str]:
    """The group that a reference names, and the digits behind it that are text."""
    if piece.startswith("${"):
        group = names.get(piece[2:-1], -1)
        return _known(group, piece, groups), ""
    if len(piece) == 1:
        raise PatternFault("a $ that names no group")
    digits = piece[1:]
    group, used = int(digits[0]), 1
    while used < len(digits) and int(digits[: used + 1]) <= groups:
        used += 1
        group = int(digits[:used])
    return _known(group, piece, groups), digits[used:]


def _known(group: int, piece: str, groups: int) -> int:
    if not 0 <= group <= min(groups, _MOST_GROUPS):
        raise PatternFault(f"no group {piece[1:]}")
    return group


class LikeLetter(NamedTuple):
    """One character of a pattern: itself if `literal`, else a wildcard."""

    literal: bool
    text: str


def scan_like(pattern: str, escape: str = "\\") -> list[LikeLetter] | None:
    r"""The letters of a pattern; None if it escapes an ordinary character, or if `escape` is no single one.

    >>> [letter.text for letter in scan_like("a%\\%") if letter.literal]
    ['a', '%']
    >>> scan_like("a\\b") is None
    True
    """
    if len(escape) != 1:
        return None
    letters: list[LikeLetter] = []
    characters = iter(pattern)
    for character in characters:
        if character != escape:
            letters.append(LikeLetter(character not in "%_", character))
            continue
        escaped = next(characters, None)
        if escaped not in ("%", "_", escape):
            return None
        letters.append(LikeLetter(True, escaped))
    return letters
