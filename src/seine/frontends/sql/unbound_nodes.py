"""Refusals of what SQL has and queries have not, each with what has its meaning."""

from __future__ import annotations

from sqlglot import exp

from seine.algebra.functions.left_out import left_out

_LAMBDA_HINT = "array_contains, array_remove, array_except, regexp_replace; or your own function, by --udf"
_MEANINGS = {
    "lambda": ("a function as an argument", _LAMBDA_HINT),
    "kwarg": ("an argument by its name", "give arguments by their places"),
    "attimezone": ("AT TIME ZONE", "from_utc_timestamp(ts, 'Europe/Berlin') has what clocks there show"),
    "order": ("ORDER BY within an aggregate", "first, last and listagg go by event time; min_by(x, y) by y"),
    "hexstring": ("a text of bytes", "write the text in quotes, or compare hex(text) = '4142'"),
    "array": ("ARRAY[...]", "array('a', 'b')"),
}
OF_GROUPS = (
    "group in a sub-query in FROM, and ask in WHERE around it: "
    "FROM (SELECT k, MAX(x) AS m ... GROUP BY k) WHERE m IN (SELECT ...)"
)


def unbound_refusal(node: exp.Expr, clause: str) -> tuple[str, str]:
    """The message and hint for a node that cannot be bound in a clause."""
    if isinstance(node, exp.Query | exp.Exists):
        hint = "EXISTS and IN stand in WHERE, joined by AND; with OR, in a sub-query in FROM beneath groups"
        return "a sub-query is not supported here", OF_GROUPS if clause == "HAVING" else hint
    if isinstance(node, exp.Star):
        return "* stands for columns only in a SELECT list and in COUNT(*)", "name the columns"
    group = left_out(node.key)
    if group is not None:
        return f"{node.key} is refused: {group.reason}", group.hint
    if isinstance(node, exp.Any | exp.All):
        hint = "x > ALL (SELECT y ...), of one column; of values x IN (1, 2), a LIKE '%x' OR a LIKE '%y'"
        return f"{node.key.upper()} of a sub-query or of values is not supported here", hint
    if node.key in _MEANINGS:
        what, hint = _MEANINGS[node.key]
        return f"{what} is not supported", hint
    if isinstance(node, exp.Func):
        return f"{node.key} is not supported", "results depend on event times alone, and types are scalar"
    return f"this expression ({node.key}) is not supported", "docs/language.md#select lists what is"
