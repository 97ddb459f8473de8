"""Splits the text of a query into a skeleton and the conjuncts of its WHERE clauses, without parsing it.

Thousands of queries of a script differ in little but their conditions, and most conditions have been
parsed before. A text that cannot be split with certainty is left to the parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from seine.frontends.text.lexer import Token, TokenKind

_SYMBOLS = frozenset("(),.+-*/%<>=!|")
_KINDS = (TokenKind.WORD, TokenKind.NUMBER, TokenKind.STRING, TokenKind.QUOTED, TokenKind.SYMBOL)
_KEYWORDS_AFTER_WHERE = ("GROUP", "HAVING", "UNION", "EXCEPT")
_KEYWORDS = frozenset(
    (*_KEYWORDS_AFTER_WHERE, "SELECT", "WHERE", "WITH", "AND", "BETWEEN", "OR", "CASE")
)  # all that is of any consequence
_MAX_QUERY_CHARACTERS = 20_000  # characters


class CutQuery(NamedTuple):
    """A query with the name `"k"` as the condition of the k-th WHERE, whose conjuncts are `conditions[k]`."""

    skeleton: str
    conditions: list[list[str]]


def cut_conditions(text: str, tokens: Sequence[Token], start: int, end: int) -> CutQuery | None:
    """Split the query between two offsets of a script, which has these tokens; None if it is not plain.

    Plain is an unambiguous text: ASCII without comments and escapes, no OR or CASE in a WHERE outside of
    parentheses.

    >>> from seine.frontends.text.lexer import tokenize
    >>> from seine.frontends.text.lexer import ScriptText
    >>> text = "SELECT a FROM s WHERE a BETWEEN 1 AND 2 AND (b = 1 OR c = 2) GROUP BY a"
    >>> skeleton, conditions = cut_conditions(text, tokenize(ScriptText(text, ""))[:-1], 0, len(text))
    >>> skeleton, conditions[0]
    ('SELECT a FROM s WHERE "0" GROUP BY a', ['a BETWEEN 1 AND 2', '(b = 1 OR c = 2)'])
    """
    query = text[start:end]
    if (
        len(query) > _MAX_QUERY_CHARACTERS
        or not query.isascii()
        or "--" in query
        or "/*" in query
        or "\\" in query
    ):
        return None
    cutter = _ConditionCutter(text, start)
    return cutter.finish(end) if cutter.take(tokens) else None


class _ConditionCutter:
    """Consumes the tokens of a query; `take` returns False if the text is not plain."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._kept = start  # up to here the skeleton is written
        self._parts: list[str] = []
        self._conditions: list[list[str]] = []
        self._selects = [False]  # of each open parenthesis, whether there is a SELECT in it
        self._depth: int | None = None  # of the WHERE that is open
        self._betweens = 0
        self._from = self._last = start  # the condition that is open

    def take(self, tokens: Sequence[Token]) -> bool:
        """Consume tokens, of which most are neither keywords nor parentheses; whether the text is plain."""
        for token in tokens:
            kind, text = token.kind, token.text
            if kind is TokenKind.WORD:
                word = text.upper()
                if word in _KEYWORDS and not self._take_word(word, token):
                    return False
            elif kind is TokenKind.SYMBOL:
                if text == "(" or text == ")":
                    if not self._take_parenthesis(text):
                        return False
                elif text not in _SYMBOLS:
                    return False
            elif kind not in _KINDS:
                return False
            self._last = token.end
        return True

    def _take_parenthesis(self, text: str) -> bool:
        if text == "(":
            self._selects.append(False)
            return True
        if len(self._selects) == 1:
            return False
        if self._depth == len(self._selects):
            self._close()
        self._selects.pop()
        return True

    def _take_word(self, word: str, token: Token) -> bool:
        depth = len(self._selects)
        if self._depth is None:
            if word == "SELECT":
                self._selects[-1] = True
            elif word == "WHERE":
                if not self._selects[-1]:
                    return False  # a FILTER
                self._parts.append(self._text[self._kept : token.end])
                self._depth, self._betweens = depth, 0
                self._conditions.append([])
                self._from = token.end
            return word != "WITH"
        if self._depth == depth:
            if word == "AND":
                if self._betweens:
                    self._betweens -= 1
                else:
                    self._end_condition(token.end)
            elif word == "BETWEEN":
                self._betweens += 1
            elif word in _KEYWORDS_AFTER_WHERE:
                self._close()
            return word not in ("OR", "CASE")
        return True

    def _end_condition(self, following: int) -> None:
        self._conditions[-1].append(self._text[self._from : self._last].strip())
        self._from = following

    def _close(self) -> None:
        self._end_condition(self._last)
        self._parts.append(f' "{len(self._conditions) - 1}"')
        self._kept, self._depth = self._last, None

    def finish(self, end: int) -> CutQuery | None:
        """The split query; None if parentheses are not balanced."""
        if self._depth is not None:
            self._close()
        if len(self._selects) > 1:
            return None
        self._parts.append(self._text[self._kept : end])
        return CutQuery("".join(self._parts), self._conditions)
