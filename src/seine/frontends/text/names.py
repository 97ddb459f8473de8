"""Case folding of identifiers, and suggestions for unknown ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MAX_NAMES_SHOWN = 12


def fold(name: str, quoted: bool) -> str:
    """An identifier in the form in which names are compared: lower case unless quoted.

    >>> fold("Bid", quoted=False), fold("Bid", quoted=True)
    ('bid', 'Bid')
    """
    return name if quoted else name.lower()


def suggest(name: str, known: Iterable[str], what: str) -> str | None:
    """A hint: the closest known names, or all of them if none is close; mixed case in double quotes.

    >>> suggest("colour", ["color", "cust"], "columns")
    "did you mean 'color'?"
    >>> suggest("xyz", ["b", "a"], "streams")
    'streams: a, b'
    """
    names = sorted(set(known))
    folded = {candidate.lower(): candidate for candidate in names}
    close = get_close_matches(name.lower(), folded, n=2, cutoff=0.6)
    if close:
        shown = [f"'{folded[c]}'" if folded[c] == c else f'"{folded[c]}"' for c in close]
        return "did you mean " + " or ".join(shown) + "?"
    if not names:
        return None
    return f"{what}: {', '.join(names[:_MAX_NAMES_SHOWN])}{', ...' if len(names) > _MAX_NAMES_SHOWN else ''}"


def suggest_keyword(word: str, keywords: Iterable[str]) -> str:
    """A hint for an unexpected word where a keyword is expected.

    >>> suggest_keyword("SELEC", ["SELECT", "SEARCH"])
    'did you mean SELECT?'
    """
    known = list(keywords)
    close = get_close_matches(word.upper(), known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"possible here: {', '.join(known)}"
