"""The syntax tree of the text of a query or view; errors of syntax carry their position.

A cache of syntax trees of whole queries: one that differs from a known one in digits is not parsed.

Law: the tree equals the one that the parser makes of the text, positions included, because a known text has
digits in just the same places, and what the parser does with a number does not depend on its value. Where a
number does not come out of the parser as it was written, nothing is shared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError

from seine.algebra.definitions import ViewDef
from seine.algebra.types import CAST_TYPES
from seine.frontends.sql.dialect import SeineSql, parsed, plain_tokens
from seine.frontends.sql.plain_spellings import plain_spellings
from seine.frontends.text.lexer import ScriptText

_GLUED = re.compile(r"[\d.]+[eE][+-]?\d+[+-]")
# clauses of other dialects that make a text no SELECT here
_OTHER_CLAUSES = (
    (
        re.compile(r"\bEMIT\s+(ON\s+WINDOW\s+CLOSE|CHANGES|FINAL)\b", re.IGNORECASE),
        "EMIT is an option of the query",
        "CREATE QUERY q WITH (emit = 'final') AS ... tells each window once, without it every change",
    ),
    (
        re.compile(r"\bMATCH_RECOGNIZE\b", re.IGNORECASE),
        "MATCH_RECOGNIZE is not supported",
        "LAG(x) OVER (PARTITION BY k ORDER BY ts) compares a row with the one before it",
    ),
    (
        re.compile(r"!?~\*?(?=\s*')"),
        "~ is no comparison of texts",
        "text RLIKE 'pattern', NOT text RLIKE 'pattern'; with (?i) in front of the pattern in any case",
    ),
    (
        re.compile(r"\bPLACING\b", re.IGNORECASE),
        "OVERLAY takes its arguments with commas",
        "overlay(text, piece, position), overlay(text, piece, position, length)",
    ),
    (re.compile(r">>>"), "there is no operator >>>", "shiftrightunsigned(x, n)"),
    (
        re.compile(r"\bTIME\s+ZONE\b", re.IGNORECASE),
        "a time with a zone is written otherwise",
        "from_utc_timestamp(ts, 'Europe/Berlin'), or CAST(text AS TIMESTAMP)",
    ),
)
_NO_OPERAND = {
    TokenType.COMMA,
    TokenType.R_PAREN,
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.UNION,
    TokenType.EXCEPT,
}


def syntax_tree(source: ScriptText, start: int, end: int) -> exp.Expr:
    """The syntax tree of the query between two offsets of a script, in plain spellings."""
    return plain_spellings(written_tree(source, start, end))


def written_tree(source: ScriptText, start: int, end: int) -> exp.Expr:
    """The syntax tree of the query between two offsets of a script, as it is written."""
    text = source.text[start:end]
    if "\0" in text:
        raise source.error(start + text.index("\0"), "a query has no NUL character", "take it out")
    try:
        tokens = SeineSql().tokenize(text)
        _refuse_gaps(tokens, source, start)
        _refuse_glued(tokens, source, start)
        trees = parsed(plain_tokens(tokens), text)
    except ParseError as error:
        raise _syntax_error(error, source, start, end) from None
    except TokenError:
        raise source.error(start, "this text is not SQL", "look for an unclosed quote or bracket") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise source.error(start, "a query is one SELECT", "write SELECT ... FROM ...")
    return trees[0]


def let_go(tree: exp.Expr) -> None:
    """Part the nodes of a tree that nobody reads any more: without cycles they are freed at once, and not by
    garbage collections.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        node.parent = None
        for below in node.args.values():
            if isinstance(below, exp.Expr):
                waiting.append(below)
            elif isinstance(below, list):
                waiting += [one for one in below if isinstance(one, exp.Expr)]


def _refuse_gaps(tokens: list[Token], source: ScriptText, start: int) -> None:
    """Refuse a trailing comma, which sqlglot tolerates."""
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type is TokenType.COMMA and (following is None or following.token_type in _NO_OPERAND):
            raise source.error(start + token.start, "nothing follows this ','", "take it out")


def _refuse_glued(tokens: list[Token], source: ScriptText, start: int) -> None:
    """Refuse a sign directly behind an exponent, 1e5-1: the tokeniser takes it for a part of the number."""
    for token in tokens:
        if _GLUED.match(source.text, start + token.start, start + token.end + 1):
            hint = "put spaces around the operator"
            raise source.error(start + token.start, "a sign follows the exponent of this number", hint)


def _syntax_error(error: ParseError, source: ScriptText, start: int, end: int) -> Exception:
    """The error of sqlglot as ours; it reports the last column of a token, we the first."""
    detail = error.errors[0]
    line, column, near = detail["line"] or 1, detail["col"] or 1, detail["highlight"] or ""
    lines = source.text[start:end].split("\n")
    offset = sum(len(text) + 1 for text in lines[: line - 1]) + max(column - len(near), 0)
    description = detail["description"] or ""
    if description.startswith(("Required", "Expected table")):
        message = f"something is missing after {near!r}"
    elif description.startswith("Expect"):
        message = f"{description[0].lower()}{description[1:]}, near {near!r}"
    else:
        message = f"unexpected {near!r}"
    for pattern, refusal, hint in _OTHER_CLAUSES:
        if (clause := pattern.search(source.text, start, end)) is not None:
            return source.error(clause.start(), refusal, hint)
    types = f"types: {CAST_TYPES}" if description.startswith("Expected TYPE") else None
    return source.error(min(start + offset, end), f"syntax error: {message}", types)


_NUMBER = re.compile(r"""(?<![\w."'`$])\d+(?:\.\d+)?(?![\w."'`$])""", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_MAX_TREES = 1 << 12

_KnownTree = tuple[exp.Expr, list[exp.Literal]]  # a tree, and its numbers in their order in the text


class SkeletonTrees:
    """Syntax trees of texts by their shape: the text with a 0 for each digit of its numbers."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownTree | None] = {}

    def tree(self, source: ScriptText, start: int, end: int) -> exp.Expr:
        """The tree of the query between two offsets, for the caller to keep; that of `syntax_tree`.

        What is known are trees as they are written: plain spellings may depend on the values of numbers.

        >>> trees, texts = SkeletonTrees(), ["SELECT a FROM s HAVING a > 17", "SELECT a FROM s HAVING a > 23"]
        >>> [trees.tree(ScriptText(text, ""), 0, len(text)).args["having"].sql() for text in texts]
        ['HAVING a > 17', 'HAVING a > 23']
        """
        return plain_spellings(self._written(source, start, end))

    def _written(self, source: ScriptText, start: int, end: int) -> exp.Expr:
        text = source.text[start:end]
        numbers = [*_NUMBER.finditer(text)]
        if not numbers:
            return written_tree(source, start, end)
        shape = _NUMBER.sub(lambda number: _DIGIT.sub("0", number.group()), text)
        if shape not in self._known:
            return self._parsed(shape, numbers, source, start, end)
        known = self._known[shape]
        if known is None:
            return written_tree(source, start, end)
        tree, literals = known
        for literal, number in zip(literals, numbers, strict=True):
            literal.set("this", number.group())
        return tree.copy()

    def _parsed(
        self, shape: str, numbers: list[re.Match[str]], source: ScriptText, start: int, end: int
    ) -> exp.Expr:
        """A tree that is parsed, and known from now on."""
        tree = written_tree(source, start, end)
        if len(self._known) >= _MAX_TREES:
            self._known.clear()
        kept = tree.copy()
        literals = [one for one in kept.find_all(exp.Literal) if "start" in one.meta and not one.is_string]
        literals.sort(key=lambda one: int(one.meta["start"]))
        parsed = [(one.meta["start"], one.this) for one in literals]
        written = [(number.start(), number.group()) for number in numbers]
        self._known[shape] = (kept, literals) if parsed == written else None
        return tree


@dataclass(frozen=True)
class View:
    """A view that FROM may name. Law: FROM v means FROM (text of v) v."""

    definition: ViewDef

    @cached_property
    def source(self) -> ScriptText:
        """Its text as a script of its own, for places in errors."""
        return ScriptText(self.definition.text, f"view {self.definition.name}")

    @cached_property
    def tree(self) -> exp.Expr:
        """The syntax tree of its SELECT."""
        return syntax_tree(self.source, 0, len(self.definition.text))

    @property
    def columns(self) -> tuple[exp.Identifier, ...]:
        """The names of its columns, if it states them."""
        return tuple(exp.to_identifier(name, quoted=True) for name in self.definition.columns)
