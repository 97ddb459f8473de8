"""The SQL dialect: Spark's, with double-quoted identifiers and calls that keep their written names.

Functions are read as anonymous calls, except those with special syntax, such as CAST. The parser itself is
Spark's own: a compiled sqlglot (`sqlglot[c]`) lets nobody inherit from it. So the tokens of names that it
would take for functions of its own are marked, and the marks are taken off its tree.

The syntax of event-time windows that sqlglot does not read, brought into forms that it does.

    GROUP BY window(ts, 10)                              WINDOW is a name here, no clause
    FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), 10))    FROM TUMBLE(bid, DESCRIPTOR(ts), 10)
    SESSION(TABLE bid PARTITION BY k, DESCRIPTOR(ts), 10)    SESSION(bid, k, DESCRIPTOR(ts), 10)
    FROM bid b WINDOW 10                                 FROM narrowed(bid, 10) b

A token keeps its place in the text, so errors point where they should.
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
CUMULATE = "CUMULATE"  # Flink's, which is read to be refused
TABLE_FUNCTIONS = ("TUMBLE", "HOP", "SESSION", CUMULATE)
OWN_WINDOW = "a window of its own"  # a function that nobody can write


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


def plain_tokens(tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a query with windows in a form that is read as names and calls."""
    return list(_named(list(_unwrapped(_with_own_windows(tokens)))))


def _with_own_windows(tokens: Sequence[Token]) -> list[Token]:
    """FROM bid b WINDOW 10 as a table function: FROM narrowed(bid, 10) b."""
    read: list[Token] = []
    at = 0
    while at < len(tokens):
        count = _length_tokens(tokens, at + 1) if tokens[at].token_type is TokenType.WINDOW else 0
        named = _table_before(read) if count else None
        if named is None:
            read.append(tokens[at])
            at += 1
            continue
        table, length = read[named], tokens[at + 1 : at + 1 + count]
        called = placed_as(table, TokenType.VAR, OWN_WINDOW), placed_as(table, TokenType.L_PAREN, "("), table
        comma, closing = (
            placed_as(tokens[at], TokenType.COMMA, ","),
            placed_as(length[-1], TokenType.R_PAREN, ")"),
        )
        read[named : named + 1] = [*called, comma, *length, closing]
        at += 1 + count
    return read


def _length_tokens(tokens: Sequence[Token], at: int) -> int:
    """How many tokens at a place are a length of time: a number, or INTERVAL '5' MINUTE; else 0."""
    kinds = [token.token_type for token in tokens[at : at + 3]]
    if kinds[:1] == [TokenType.NUMBER]:
        return 1
    amounts = (TokenType.NUMBER, TokenType.STRING)
    return 3 if len(kinds) == 3 and kinds[0] is TokenType.INTERVAL and kinds[1] in amounts else 0


def _table_before(read: Sequence[Token]) -> int | None:
    """Where the name of a table is that ends, perhaps with an alias, at the end of what was read."""
    for back in (1, 2, 3):
        names = read[-back:]
        if back == 3 and (len(names) < 3 or names[1].token_type is not TokenType.ALIAS):
            return None
        if len(names) == back and _begins_item(read, len(read) - back) and _is_name(names[0]):
            return len(read) - back
    return None


def _unwrapped(tokens: Sequence[Token]) -> Iterator[Token]:
    """Without TABLE( ) around the table functions of windows."""
    depth, closing = 0, -1
    for at, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.TABLE and _is_function(tokens, at + 2) and closing < 0:
            closing = depth  # of its opening bracket
            continue
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        opens = kind is TokenType.L_PAREN and depth == closing + 1 and _is_table(tokens, at - 1)
        if opens and closing >= 0:
            continue
        if kind is TokenType.R_PAREN and closing >= 0 and depth == closing:
            closing = -1
            continue
        yield token


def _named(tokens: Sequence[Token]) -> Iterator[Token]:
    """WINDOW and SESSION as names; inside a table function without TABLE and PARTITION BY."""
    inside = -1
    depth = 0
    for at, token in enumerate(tokens):
        kind = token.token_type
        if inside < 0 and _is_function(tokens, at) and _begins_item(tokens, at):
            inside = depth
            yield _as(token, TokenType.VAR)
            continue
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if kind is TokenType.WINDOW and not _is_clause(tokens, at):
            yield _as(token, TokenType.VAR)
        elif inside >= 0 and kind is TokenType.PARTITION_BY:
            yield _as(token, TokenType.COMMA)
        elif not (inside >= 0 and kind is TokenType.TABLE):
            yield token
        if kind is TokenType.R_PAREN and depth == inside:
            inside = -1


def _is_function(tokens: Sequence[Token], at: int) -> bool:
    """Whether TUMBLE(, HOP( or SESSION( is at a place."""
    if at + 1 >= len(tokens) or tokens[at].text.upper() not in TABLE_FUNCTIONS:
        return False
    return tokens[at + 1].token_type is TokenType.L_PAREN


def _is_table(tokens: Sequence[Token], at: int) -> bool:
    return at >= 0 and tokens[at].token_type is TokenType.TABLE


def _begins_item(tokens: Sequence[Token], at: int) -> bool:
    """Whether what is at a place begins an item of FROM."""
    before = tokens[at - 1].token_type if at else None
    return before in (TokenType.FROM, TokenType.JOIN, TokenType.COMMA)


def _is_clause(tokens: Sequence[Token], at: int) -> bool:
    """Whether WINDOW at a place begins a clause that names windows: WINDOW w AS (."""
    return at + 2 < len(tokens) and tokens[at + 2].token_type is TokenType.ALIAS and _is_name(tokens[at + 1])


def _is_name(token: Token) -> bool:
    return token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)


def _as(token: Token, kind: TokenType) -> Token:
    return placed_as(token, kind, "," if kind is TokenType.COMMA else token.text)
