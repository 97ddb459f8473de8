"""A cache of syntax trees of conditions: one that differs from a known one in constants, or in the names
of tables before a point, is not parsed.

Law: the tree equals the one that the parser makes of the condition. What the parser does depends on the
kinds of tokens alone, with one exception: an INTERVAL may have its unit in the string. So strings of digits
are distinguished from others, and after INTERVAL only those are taken. Of names those are taken of which none
is a keyword: a letter, perhaps with a number.

The conjuncts come from `cut_conditions`, which splits the text of a query into a skeleton and the conjuncts
of its WHERE clauses, without parsing it.

Thousands of queries of a script differ in little but their conditions, and most conditions have been
parsed before. A text that cannot be split with certainty is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlglot import exp

from seine.frontends.sql.syntax_tree import syntax_tree
from seine.frontends.text.lexer import ScriptText, Token, TokenKind, tokenize

_QUERY_PREFIX = "SELECT * FROM x WHERE "
_QUERY_CLAUSES = {"expressions", "from_", "where"}
_PLAIN_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_DIGITS = re.compile(r"'\d+'", re.ASCII)
_TABLE = re.compile(r"[A-Za-z]\d*", re.ASCII)
_MAX_TEMPLATES = 1 << 14
_SYMBOLS = frozenset("(),.+-*/%<>=!|")
_KINDS = (TokenKind.WORD, TokenKind.NUMBER, TokenKind.STRING, TokenKind.QUOTED, TokenKind.SYMBOL)
_KEYWORDS_AFTER_WHERE = ("GROUP", "HAVING", "UNION", "EXCEPT")
_KEYWORDS = frozenset(
    (*_KEYWORDS_AFTER_WHERE, "SELECT", "WHERE", "WITH", "AND", "BETWEEN", "OR", "CASE")
)  # all that is of any consequence
_MAX_QUERY_CHARACTERS = 20_000  # characters


class ParsedCondition(NamedTuple):
    """A condition as a syntax tree, and the text to which the positions in it refer."""

    tree: exp.Expr
    source: ScriptText


class ConditionTemplates:
    """Syntax trees of conditions by shape: the text without its constants and names of tables."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[exp.Expr, list[exp.Expr]] | None] = {}

    def condition(self, text: str) -> ParsedCondition | None:
        """The tree of one conjunct, valid until the next call; None if the text is not one conjunct.

        >>> templates = ConditionTemplates()
        >>> [templates.condition(f"a > {n}").tree.sql() for n in (1, 20)]
        ['a > 1', 'a > 20']
        >>> templates.condition("a > 1 OR b > 2") is None
        True
        """
        source = ScriptText(_QUERY_PREFIX + text, "")
        taken: list[Token] = []
        shape = _shape(source, taken)
        if shape is None:
            tree = _tree(source)
            return None if tree is None else ParsedCondition(tree, source)
        if shape not in self._known:
            if len(self._known) >= _MAX_TEMPLATES:
                self._known.clear()
            self._known[shape] = _template(source, taken)
        known = self._known[shape]
        if known is None:
            return None
        tree, parts = known
        for part, token in zip(parts, taken, strict=True):
            part.set("this", token.value)
            part.meta.update(start=token.start, end=token.end - 1)
        return ParsedCondition(tree, source)


def _shape(source: ScriptText, taken: list[Token]) -> str | None:
    """The text with a placeholder for each constant and name of a table, which are appended to `taken`.

    None if the parser may look into a constant.
    """
    parts, kept = [], 0
    before = ""
    for token, following in pairwise(tokenize(source)):
        if token.kind is TokenKind.STRING:
            digits = _DIGITS.fullmatch(token.text) is not None
            if before == "INTERVAL" and not digits:
                return None
            mark = "'0'" if digits else "''"
        elif token.kind is TokenKind.NUMBER:
            if not _PLAIN_NUMBER.fullmatch(token.text):
                return None
            mark = "0"
        elif token.kind is TokenKind.QUOTED:
            mark = token.text  # taken for its place: whether a name is exact is looked up there
        elif token.text[:1].isdigit():
            return None  # a number with letters
        elif following.text == "." and before != "." and _TABLE.fullmatch(token.text):
            mark = "t"
        else:
            before = token.text.upper()
            continue
        taken.append(token)
        parts += [source.text[kept : token.start], mark]
        kept, before = token.end, ""
    return "".join([*parts, source.text[kept:]])


def _template(source: ScriptText, taken: list[Token]) -> tuple[exp.Expr, list[exp.Expr]] | None:
    """A tree, and its literals and names of tables in the order of the text; None if these are not those
    that are taken.
    """
    tree = _tree(source)
    if tree is None:
        return None
    starts = {token.start for token in taken}
    names = [one for one in tree.find_all(exp.Identifier) if one.meta.get("start") in starts]
    parts: list[exp.Expr] = [*tree.find_all(exp.Literal), *names]
    if any("start" not in part.meta for part in parts):
        return None
    parts.sort(key=lambda part: int(part.meta["start"]))
    parsed = [(one.meta["start"], one.meta["end"] + 1, one.this, bool(one.is_string)) for one in parts]
    given = [(token.start, token.end, token.value, token.kind is TokenKind.STRING) for token in taken]
    return (tree, parts) if parsed == given else None


def _tree(source: ScriptText) -> exp.Expr | None:
    """The tree of the WHERE condition of a query; None if the query has other clauses, or AND or OR."""
    query = syntax_tree(source, 0, len(source.text))
    if (
        not isinstance(query, exp.Select)
        or {key for key, value in query.args.items() if value} != _QUERY_CLAUSES
    ):
        return None
    tree = query.args["where"].this
    return None if isinstance(tree, exp.Connector) else tree


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
