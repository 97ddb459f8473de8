"""Patterns of TO_CHAR and TO_NUMBER: [MI | S] [$] digits with separators [. digits] [PR | MI | S].

0 and 9 stand for digits, G and , for the separator of thousands, D and . for the point, S for a sign, MI for
a minus, PR for angle brackets around negative numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

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
