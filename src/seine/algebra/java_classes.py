r"""Escapes and named classes of characters of Java's regular expressions, as RE2 writes them.

An escape has two forms: outside of brackets, and inside of a class `[...]`.

Differs: `\p{IsAlphabetic}`, `\p{javaLowerCase}`, blocks (`\p{InGreek}`) and clusters (`\X`) have no equal in
RE2.
"""

from __future__ import annotations

import re

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
