"""The directives of a format of FORMAT_STRING, read and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seine.algebra.functions.mismatch import TypeMismatch

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
