"""The SQL dialect: Spark's, with double-quoted identifiers and calls that keep their written names.

Functions are read as anonymous calls, except those with special syntax, such as CAST. The parser itself is
Spark's own: a compiled sqlglot (`sqlglot[c]`) lets nobody inherit from it. So the tokens of names that it
would take for functions of its own are marked, and the marks are taken off its tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark

_SPECIAL_SYNTAX = {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR"}
_PARSER = Spark.Parser
_MARKED = (
    {*_PARSER.FUNCTIONS, *_PARSER.FUNCTION_PARSERS} - {*_PARSER.NO_PAREN_FUNCTION_PARSERS}
) - _SPECIAL_SYNTAX
_BEFORE_STAR = (TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.DOT)
_MARK = "\0"  # no query has it


class SeineSql(Spark):
    """Spark's SQL but for its quotes."""

    STRICT_JSON_PATH_SYNTAX = False  # a path that is none is refused when it is bound

    class Tokenizer(Spark.Tokenizer):
        QUOTES: ClassVar = ["'"]
        IDENTIFIERS: ClassVar = ["`", '"']
        STRING_ESCAPES: ClassVar = ["'", "\\"]


def parsed(tokens: Sequence[Token], text: str) -> list[exp.Expr | None]:
    """The trees of some tokens of a text; every call has the name that was written.

    >>> [tree] = parsed(SeineSql().tokenize("SELECT ifnull(a, current_date)"), "")
    >>> tree.sql(dialect=SeineSql)
    'SELECT IFNULL(a, current_date)'
    """
    trees = SeineSql().parser().parse(list(_marked(tokens)), text)
    for tree in trees:
        _take_off_marks(tree)
    return trees


def _marked(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens, with a mark on each name that the parser would take for a function of its own."""
    last = len(tokens) - 1
    for at, token in enumerate(tokens):
        is_call = at < last and tokens[at + 1].token_type is TokenType.L_PAREN
        is_known = is_call and token.text.upper() in _MARKED and token.token_type in _PARSER.FUNC_TOKENS
        if is_known and not _is_of_star(tokens, at):
            yield placed_as(token, token.token_type, token.text + _MARK)
        elif not is_call and token.token_type in _PARSER.NO_PAREN_FUNCTIONS:
            yield placed_as(token, TokenType.VAR, token.text)
        else:
            yield token


def _is_of_star(tokens: Sequence[Token], at: int) -> bool:
    """Whether REPLACE at a place belongs to a star before it: * REPLACE (...), * EXCEPT (a) REPLACE (...)."""
    if at < 2 or tokens[at].text.upper() != "REPLACE":
        return False
    before, star = tokens[at - 2].token_type, tokens[at - 1].token_type
    return star is TokenType.R_PAREN or (star is TokenType.STAR and before in _BEFORE_STAR)


def placed_as(token: Token, kind: TokenType, text: str) -> Token:
    """A token at the place of another."""
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def _take_off_marks(tree: exp.Expr | None) -> None:
    if tree is None:
        return
    for call in tree.find_all(exp.Anonymous):
        name = call.this
        if isinstance(name, exp.Identifier):
            name.args["this"] = name.this.removesuffix(_MARK)
        else:
            call.args["this"] = name.removesuffix(_MARK)
