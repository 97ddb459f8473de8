"""Terms as constants of a table: a text for what a term means."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import chain

from seine.algebra.search_plan import Alternative, Term, words_of

_FOLDED = 1  # how words beyond ASCII are cut and folded; a code that does not say is from before `words_of`


def term_code(term: Term) -> str:
    """What a term means, as text: the same for terms that are spelled differently and mean the same."""
    return json.dumps(sorted(map(_alternative_code, term.alternatives)))


def _alternative_code(one: Alternative) -> list[object]:
    code: list[object] = [list(one.words), one.prefix, one.column or ""]
    return code if all(map(str.isascii, one.words)) else [*code, _FOLDED]


@lru_cache(maxsize=1 << 18)
def alternatives_of(code: str) -> tuple[Alternative, ...]:
    """The alternatives that `term_code` wrote; words that were lower-cased alone are cut and folded anew.

    >>> alternatives_of('[[["kill", "bill"], false, "title"]]')
    (Alternative(words=('kill', 'bill'), prefix=False, column='title'),)
    >>> alternatives_of('[[["straße"], false, ""]]') == alternatives_of('[[["strasse"], false, ""]]')
    True
    """
    return tuple(
        Alternative(tuple(words) if folded else _cut_anew(words, prefix), prefix, column or None)
        for words, prefix, column, *folded in json.loads(code)
    )


def _cut_anew(words: list[str], prefix: bool) -> tuple[str, ...]:
    """The words that words are now; as they are if none is left, or a beginning would be several."""
    cut = tuple(chain.from_iterable(map(words_of, words)))
    return tuple(words) if not cut or (prefix and len(cut) > 1) else cut
