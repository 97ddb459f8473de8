"""A cache of syntax trees of conditions: one that differs from a known one in constants, or in the names
of tables before a point, is not parsed.

Law: the tree equals the one that the parser makes of the condition. What the parser does depends on the
kinds of tokens alone, with one exception: an INTERVAL may have its unit in the string. So strings of digits
are distinguished from others, and after INTERVAL only those are taken. Of names those are taken of which none
is a keyword: a letter, perhaps with a number.
"""

from __future__ import annotations

import re
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
