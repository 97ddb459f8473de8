"""The parser of SELECT queries: text to logical plan; every error carries its position."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError

from seine.algebra.plan import Plan, Scan, walk
from seine.frontends.sql.block_plan import Projection
from seine.frontends.sql.context import Context, Table, WhereBinder
from seine.frontends.sql.dialect import SeineSql
from seine.frontends.sql.set_operations import analyse
from seine.frontends.sql.size_limits import refuse_large
from seine.frontends.sql.window_syntax import plain_tokens
from seine.frontends.sql.written_names import leftmost_select, with_written_names
from seine.frontends.text.source_text import ScriptText

_GLUED = re.compile(r"[\d.]+[eE][+-]?\d+[+-]")
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


def parse_select(
    source: ScriptText, start: int, end: int, tables: Mapping[str, Table], where: WhereBinder | None = None
) -> Plan:
    """The plan of the query between two offsets of a script; `where`, if given, binds WHERE conditions.

    >>> from seine.algebra.definitions import StreamDef
    >>> from seine.algebra.types import BIGINT, Field
    >>> s = StreamDef("s", (Field("a", BIGINT), Field("ts", BIGINT)), 1, None)
    >>> text = ScriptText("SELECT a + 1 AS b FROM s", "q.sql")
    >>> [field.name for field in parse_select(text, 0, len(text.text), {"s": s}).schema]
    ['b']
    """
    context = Context(source, start, tables, where)
    try:
        tree = syntax_tree(source, start, end)
        query = analyse(tree, context)
        refuse_large(query, 0, context, tree)
        plan = query.plan() if isinstance(query, Projection) else query
    except RecursionError:
        raise source.error(start, "this query is nested too deeply", "split it") from None
    _refuse_mixed_domains(plan, tree, context)
    plan = with_written_names(plan, leftmost_select(tree))
    _refuse_duplicate_names(plan, tree, context)
    return plan


def syntax_tree(source: ScriptText, start: int, end: int) -> exp.Expr:
    """The syntax tree of the query between two offsets of a script."""
    text = source.text[start:end]
    try:
        dialect = SeineSql()
        tokens = dialect.tokenize(text)
        _refuse_gaps(tokens, source, start)
        _refuse_glued(tokens, source, start)
        trees = dialect.parser().parse(plain_tokens(tokens), text)
    except ParseError as error:
        raise _syntax_error(error, source, start, end) from None
    except TokenError:
        raise source.error(start, "this text is not SQL", "look for an unclosed quote or bracket") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise source.error(start, "a query is one SELECT", "write SELECT ... FROM ...")
    return trees[0]


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
    return source.error(min(start + offset, end), f"syntax error: {message}")


def _refuse_mixed_domains(plan: Plan, tree: exp.Expr, context: Context) -> None:
    streams = {node.stream.domain: node.stream.name for node in walk(plan) if isinstance(node, Scan)}
    if len(streams) > 1:
        names = " and ".join(streams[domain] for domain in sorted(streams))
        hint = "use streams whose times are all BIGINT or all TIMESTAMP"
        raise context.error(tree, f"{names} have times that cannot be compared", hint)


def _refuse_duplicate_names(plan: Plan, tree: exp.Expr, context: Context) -> None:
    names = [field.name for field in plan.schema]
    for name in names:
        if names.count(name) > 1:
            hint = f"give each its own alias: ... AS {name}_2"
            raise context.error(_place_of(name, tree), f"two output columns are named {name}", hint)


def _place_of(name: str, tree: exp.Expr) -> exp.Expr:
    """Where an output is named: the last such output of the leftmost SELECT, its star, or the query."""
    leftmost = leftmost_select(tree)
    named = [item for item in leftmost.expressions if item.alias_or_name.lower() == name.lower()]
    stars = [item for item in leftmost.expressions if item.is_star]
    nodes: list[exp.Expr] = named or stars or [tree]
    return nodes[-1]
