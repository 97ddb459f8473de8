"""The words of a text in any script, as SEARCH sees them: the same for queries and data, in every process.

A text is brought to Unicode's form NFKC and split into words: maximal runs of letters, digits and the marks
that follow them (categories L, N and M). Each is then case-folded. Law: of a text of ASCII the words are the
runs of `[A-Za-z0-9]`, lower-cased.

All of it is Python's: Arrow's RE2 and `utf8_normalize` know other versions of Unicode.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_PLANES_WITH_MARKS = (range(0x300, 0x20000), range(0xE0000, 0xE1000))


def words_of(text: str) -> list[str]:
    """The words of a text in order.

    >>> words_of("Kill Bill: Vol_1, ΟΔΟΣ, Straße")
    ['kill', 'bill', 'vol', '1', 'οδοσ', 'strasse']
    >>> words_of("cafe\\u0301") == words_of("CAFÉ"), words_of("हिन्दी")
    (True, ['हिन्दी'])
    """
    return [run.casefold() for run in cut_words(text)]


def cut_words(text: str) -> list[str]:
    """The words of a text before their case is folded, in NFKC."""
    return _word_pattern().findall(unicodedata.normalize("NFKC", text))


def makes_words(sign: str) -> bool:
    """Whether a character alone makes words.

    >>> makes_words("a"), makes_words("™"), makes_words("-"), makes_words("\\u0301")
    (True, True, False, False)
    """
    return any(map(str.isalnum, unicodedata.normalize("NFKC", sign)))


def joins_word(sign: str) -> bool:
    """Whether a character belongs to the letter before it.

    >>> joins_word("\\u0301"), joins_word("\\uff9e"), joins_word("\\u200d")
    (True, True, False)
    """
    return any(map(_is_mark, unicodedata.normalize("NFKC", sign)))


def _is_mark(sign: str) -> bool:
    return unicodedata.category(sign)[0] == "M"


@cache
def _word_pattern() -> re.Pattern[str]:
    """A run of letters and digits, which are Python's `isalnum`, with marks between and behind them."""
    marks = [point for plane in _PLANES_WITH_MARKS for point in plane if _is_mark(chr(point))]
    firsts = [point for point, before in zip(marks, [0, *marks], strict=False) if point != before + 1]
    lasts = [point for point, after in zip(marks, [*marks[1:], 0], strict=True) if point != after - 1]
    mark = "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))
    return re.compile(rf"[^\W_]+(?:[{mark}]+[^\W_]*)*")
