r"""What Java puts in the place of a match: `$1` and `${name}` are groups, a backslash quotes a character."""

from __future__ import annotations

import re
from collections.abc import Mapping

from seine.algebra.java_patterns import PatternFault

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
