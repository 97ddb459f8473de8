"""Terms as constants of a table: a text for what a term means."""

from __future__ import annotations

import json
from functools import lru_cache

from seine.algebra.search_terms import Alternative, Term


def term_code(term: Term) -> str:
    """What a term means, as text: the same for terms that are spelled differently and mean the same."""
    return json.dumps(sorted([list(one.words), one.prefix, one.column or ""] for one in term.alternatives))


@lru_cache(maxsize=1 << 18)
def alternatives_of(code: str) -> tuple[Alternative, ...]:
    """The alternatives that `term_code` wrote.

    >>> alternatives_of('[[["kill", "bill"], false, "title"]]')
    (Alternative(words=('kill', 'bill'), prefix=False, column='title'),)
    """
    return tuple(
        Alternative(tuple(words), prefix, column or None) for words, prefix, column in json.loads(code)
    )
