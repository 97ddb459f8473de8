"""The parser of the text of a SEARCH: words, "phrases", beginnings*, alternatives a|b, column:word.

    term        = alternative { '|' alternative }
    alternative = [ column ':' ] ( word [ '*' ] | '"' word { word } '"' )

Words are those of `words_of`, as in data, and everything else separates them. A few single characters make
several words (`¼` is 1 and 4 in NFKC), which are terms of their own. The signs of the syntax are ASCII's.
A column is a name, or any text in double quotes; it belongs to the one alternative before which it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from seine.algebra.search_plan import MOST_WORDS, Alternative, Term, count_words
from seine.algebra.word_tokens import joins_word, makes_words, words_of
from seine.errors import ScriptError
from seine.frontends.text.names import fold

MAX_WORD_LENGTH = 255  # characters: the terms of a query are part of its records

Refusal = Callable[[int, str, str | None], ScriptError]  # offset in the text, message, hint

_WHOLE = -1  # the offset of the quote before the text
_COLUMN = re.compile(r'(?:"(?P<quoted>[^"]+)"|(?P<name>[^\W\d]\w*)):')
_NOT_SPACE = re.compile(r"\S")
_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")


def read_terms(text: str, refuse: Refusal) -> tuple[Term, ...]:
    """The distinct terms of a text, in order; raises what `refuse` makes of an offset and a reason."""
    wrong = _UNSTORABLE.search(text)
    if wrong is not None:
        code = f"U+{ord(wrong.group()):04X}"
        raise refuse(wrong.start(), f"{code} is no character of a word", "leave it out")
    return _TermReader(text, refuse).read()


class _TermReader:
    """Walks over the text of a SEARCH; `_at` is the offset up to which it has been read."""

    def __init__(self, text: str, refuse: Refusal) -> None:
        self._text = text
        self._refuse = refuse
        self._at = 0

    def read(self) -> tuple[Term, ...]:
        terms: dict[frozenset[Alternative], Term] = {}
        while self._skip_to_term():
            for term in self._read_terms():
                terms.setdefault(term.meaning, term)
        distinct = tuple(terms.values())
        if not distinct:
            raise self._refuse(_WHOLE, "a SEARCH needs a word", "a word is a run of letters and digits")
        words = count_words(distinct)
        if words > MOST_WORDS:
            raise self._refuse(
                _WHOLE,
                f"a SEARCH has at most {MOST_WORDS} words, not {words}",
                "leave some out, or make two searches",
            )
        return distinct

    def _skip_to_term(self) -> bool:
        """Go to the next term; whether there is one."""
        while self._at < len(self._text):
            if self._starts_alternative():
                return True
            sign = self._text[self._at]
            if sign == "*":
                hint = "write tarant* for all words that begin so"
                raise self._refuse(self._at, "* follows the beginning of a word", hint)
            if sign == "|":
                raise self._refuse(self._at, "| stands between two words", "write this|that")
            self._at += 1
        return False

    def _starts_alternative(self) -> bool:
        return self._starts_words(self._at) or self._column() is not None

    def _starts_words(self, at: int) -> bool:
        """Whether a word or a phrase begins at an offset."""
        return at < len(self._text) and (self._text[at] == '"' or makes_words(self._text[at]))

    def _column(self) -> re.Match[str] | None:
        """The column that stands here before an alternative."""
        match = _COLUMN.match(self._text, self._at)
        return match if match is not None and self._starts_words(match.end()) else None

    def _read_terms(self) -> list[Term]:
        """The alternatives from here on; more than one term if a character makes several words."""
        start = self._at
        terms = [[one] for one in self._read_alternative()]
        while self._accept_bar():
            first, *more = self._read_alternative()
            terms[-1].append(first)
            terms += [[one] for one in more]
        text = self._text[start : self._at].lower()
        return [Term(text, tuple(dict.fromkeys(alternatives))) for alternatives in terms]

    def _accept_bar(self) -> bool:
        bar = _NOT_SPACE.search(self._text, self._at)
        if bar is None or bar.group() != "|":
            return False
        after = _NOT_SPACE.search(self._text, bar.end())
        self._at = after.start() if after is not None else len(self._text)
        if after is None or not self._starts_alternative():
            raise self._refuse(bar.start(), "| stands between two words", "write this|that")
        return True

    def _read_alternative(self) -> list[Alternative]:
        """The alternative that begins here; mostly one. A column is for the first, a star for the last."""
        column, match = None, self._column()
        if match is not None:
            column = match["quoted"] if match["quoted"] is not None else fold(match["name"], quoted=False)
            self._at = match.end()
        if self._text[self._at] == '"':
            return [Alternative(self._read_phrase(), column=column)]
        end = self._at
        while end < len(self._text) and (makes_words(self._text[end]) or joins_word(self._text[end])):
            end += 1
        first, *more = self._words(self._at, end)
        alternatives = [Alternative((first,), column=column), *(Alternative((word,)) for word in more)]
        self._at = end
        if self._accept_star():
            alternatives[-1] = replace(alternatives[-1], prefix=True)
        return alternatives

    def _read_phrase(self) -> tuple[str, ...]:
        start, end = self._at, self._text.find('"', self._at + 1)
        if end < 0:
            raise self._refuse(start, "this phrase has no end", 'close it by another "')
        words = self._words(start + 1, end)
        if not words:
            raise self._refuse(start, "a phrase needs a word", "a word is a run of letters and digits")
        self._at = end + 1
        if self._accept_star():
            raise self._refuse(end + 1, "* follows the beginning of a word, not a phrase", "leave it out")
        return words

    def _accept_star(self) -> bool:
        if not self._text.startswith("*", self._at):
            return False
        self._at += 1
        if self._at < len(self._text) and (makes_words(self._text[self._at]) or self._text[self._at] == "*"):
            hint = (
                'only the end of a word can be left open; "words in double quotes" are searched without signs'
            )
            raise self._refuse(self._at - 1, "a word goes on after *", hint)
        return True

    def _words(self, start: int, end: int) -> tuple[str, ...]:
        words = tuple(words_of(self._text[start:end]))
        if any(len(word) > MAX_WORD_LENGTH for word in words):
            raise self._refuse(start, f"a word has more than {MAX_WORD_LENGTH} characters", "shorten it")
        return words
