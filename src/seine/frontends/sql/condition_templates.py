"""A cache of syntax trees of conditions: one that differs from a known one in constants is not parsed.

Law: the tree equals the one that the parser makes of the condition. What the parser does depends on the
kinds of tokens alone, with one exception: an INTERVAL may have its unit in the string. So strings of digits
are distinguished from others, and after INTERVAL only those are taken.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sqlglot import exp

from seine.frontends.sql.syntax_tree import syntax_tree
from seine.frontends.text.lexer import Token, TokenKind, tokenize
from seine.frontends.text.source_text import ScriptText

_QUERY_PREFIX = "SELECT * FROM x WHERE "
_QUERY_CLAUSES = {"expressions", "from_", "where"}
_PLAIN_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_DIGITS = re.compile(r"'\d+'", re.ASCII)
_MAX_TEMPLATES = 1 << 14


class ParsedCondition(NamedTuple):
    """A condition as a syntax tree, and the text to which the positions in it refer."""

    tree: exp.Expr
    source: ScriptText


class ConditionTemplates:
    """Syntax trees of conditions by shape: the text without its constants."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[exp.Expr, list[exp.Literal]] | None] = {}

    def condition(self, text: str) -> ParsedCondition | None:
        """The tree of one conjunct, valid until the next call; None if the text is not one conjunct.

        >>> templates = ConditionTemplates()
        >>> [templates.condition(f"a > {n}").tree.sql() for n in (1, 20)]
        ['a > 1', 'a > 20']
        >>> templates.condition("a > 1 OR b > 2") is None
        True
        """
        source = ScriptText(_QUERY_PREFIX + text, "")
        constants: list[Token] = []
        shape = _shape(source, constants)
        if shape is None:
            tree = _tree(source)
            return None if tree is None else ParsedCondition(tree, source)
        if shape not in self._known:
            if len(self._known) >= _MAX_TEMPLATES:
                self._known.clear()
            self._known[shape] = _template(source, constants)
        known = self._known[shape]
        if known is None:
            return None
        tree, literals = known
        for literal, token in zip(literals, constants, strict=True):
            literal.set("this", token.value)
            literal.meta.update(start=token.start, end=token.end - 1)
        return ParsedCondition(tree, source)


def _shape(source: ScriptText, constants: list[Token]) -> str | None:
    """The text with a placeholder for each constant, which are appended to `constants`.

    None if the parser may look into a constant.
    """
    parts, kept = [], 0
    before = ""
    for token in tokenize(source):
        if token.kind is TokenKind.STRING:
            digits = _DIGITS.fullmatch(token.text) is not None
            if before == "INTERVAL" and not digits:
                return None
            mark = "'0'" if digits else "''"
        elif token.kind is TokenKind.NUMBER:
            if not _PLAIN_NUMBER.fullmatch(token.text):
                return None
            mark = "0"
        elif token.text[:1].isdigit():
            return None  # a number with letters
        else:
            before = token.text.upper()
            continue
        constants.append(token)
        parts += [source.text[kept : token.start], mark]
        kept, before = token.end, ""
    return "".join([*parts, source.text[kept:]])


def _template(source: ScriptText, constants: list[Token]) -> tuple[exp.Expr, list[exp.Literal]] | None:
    """A tree, and its literals in the order of the constants; None if they do not correspond."""
    tree = _tree(source)
    if tree is None:
        return None
    literals = list(tree.find_all(exp.Literal))
    if any("start" not in literal.meta for literal in literals):
        return None
    literals.sort(key=lambda literal: literal.meta["start"])
    parsed = [(one.meta["start"], one.meta["end"] + 1, one.this, bool(one.is_string)) for one in literals]
    given = [(token.start, token.end, token.value, token.kind is TokenKind.STRING) for token in constants]
    return (tree, literals) if parsed == given else None


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
