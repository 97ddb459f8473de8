"""Canonical LIKE patterns; a pattern without wildcards becomes an equality."""

from __future__ import annotations

from itertools import groupby

from seine.algebra.expressions import Expression, Literal
from seine.algebra.java_patterns import scan_like
from seine.algebra.types import STRING
from seine.optimizer.canonical.atoms import Atom
from seine.optimizer.canonical.compare_terms import FALSE, Formula, compare, defined

MAX_PATTERN_LENGTH = 1000  # characters; longer patterns stay as written
_FUNCTIONS = {"startswith": ("", "%"), "endswith": ("%", ""), "contains": ("%", "%")}


def like(subject: Expression, pattern: str, escape: str, positive: bool) -> Formula:
    """The formula of `subject LIKE pattern`, or of NOT LIKE."""
    pieces = _pieces(pattern, escape)
    if pieces is None:
        return FALSE
    if all(literal for literal, _ in pieces):
        text = Literal("".join(text for _, text in pieces), STRING)
        return compare("eq" if positive else "ne", subject, text)
    if [text for _, text in pieces] == ["%"]:
        return defined(subject) if positive else FALSE
    written = Literal("".join(quoted(text) if literal else text for literal, text in pieces), STRING)
    return [((Atom(subject, "like" if positive else "not_like", written),), False)]


def affix(name: str, subject: Expression, text: str, positive: bool) -> Formula | None:
    """The formula of STARTSWITH, ENDSWITH and CONTAINS, as patterns; None for other functions."""
    if name not in _FUNCTIONS or len(text) > MAX_PATTERN_LENGTH:
        return None
    before, after = _FUNCTIONS[name]
    return like(subject, f"{before}{quoted(text)}{after}", "\\", positive)


def prefix_of(pattern: str) -> str | None:
    r"""The prefix of a canonical pattern of the form `prefix%`; None for other patterns.

    >>> prefix_of("ab\\_%"), prefix_of("a%b")
    ('ab_', None)
    """
    pieces = _pieces(pattern, "\\")
    if pieces is None or len(pieces) != 2 or pieces[1] != (False, "%") or not pieces[0][0]:
        return None
    return pieces[0][1]


def quoted(text: str) -> str:
    """A text as a pattern that matches it, wildcards escaped."""
    return "".join(f"\\{letter}" if letter in "%_\\" else letter for letter in text)


def _pieces(pattern: str, escape: str) -> list[tuple[bool, str]] | None:
    """Literal texts (True) and runs of wildcards (False), underscores before one %; None if invalid."""
    letters = scan_like(pattern, escape)
    if letters is None:
        return None
    pieces = []
    for literal, run in groupby(letters, key=lambda letter: letter.literal):
        text = "".join(letter.text for letter in run)
        pieces.append((literal, text if literal else "_" * text.count("_") + "%" * ("%" in text)))
    return pieces
