"""Spellings of other dialects and of the standard as the ones that the binder reads.

    x = ANY (SELECT y ...)                 x IN (SELECT y ...)
    x <> ALL (SELECT y ...)                NOT x IN (SELECT y ...)
    x > ALL (SELECT y ...)                 comparisons with MAX(y) (`quantified_comparisons.py`)
    x LIKE ANY ('a%', 'b%')                x LIKE 'a%' OR x LIKE 'b%'; with ALL and AND likewise
    (a, b) IN ((1, 2), (3, 4))             a <=> 1 AND b <=> 2 OR a <=> 3 AND b <=> 4, as in Spark
    FETCH FIRST 3 ROWS ONLY                LIMIT 3
    DISTINCT ON (k) ... ORDER BY k, p      QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY k, p) = 1
    a LEFT JOIN (b JOIN c ON ...) ON ...   a LEFT JOIN b JOIN c ON ... ON ...
    a OUTER APPLY (SELECT ...) v           a LEFT JOIN LATERAL (SELECT ...) v ON TRUE
    x > (SELECT 2)                         x > (2)
    TUMBLE_START(ts, n) ... GROUP BY TUMBLE(ts, n)       window.start ... GROUP BY window(ts, n)
    TUMBLE_ROWTIME(ts, n) ... GROUP BY TUMBLE(ts, n)     window_time(window) ... GROUP BY window(ts, n)

Law: the meaning is the same, also of NULLs. What has no such form is left as it is, to be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from sqlglot import exp

from seine.algebra.functions import is_aggregate
from seine.frontends.sql.quantified_comparisons import quantified_comparison, quantified_query

_GROUP_WINDOWS = {"TUMBLE": "window", "HOP": "window", "SESSION": "session_window"}
_EDGES = {"START": "start", "END": "end"}
_LAST_INSTANT = "ROWTIME"
_NO_ROWS = {"expressions"}  # the clauses of a SELECT that reads no table


def plain_spellings(tree: exp.Expr) -> exp.Expr:
    """The tree of a query in plain spellings; the tree that is given is changed."""
    candidates = [node for node in tree.walk() if isinstance(node, _KINDS)]
    for kind, change in _CHANGES:
        for node in candidates:
            plain = change(node) if isinstance(node, kind) else None
            if plain is not None:
                node.replace(plain)
    return tree


def _any(node: exp.Expr) -> exp.Expr | None:
    query = quantified_query(node, exp.Any)
    return None if query is None else exp.In(this=node.this, query=query)


def _all(node: exp.Expr) -> exp.Expr | None:
    query = quantified_query(node, exp.All)
    return None if query is None else exp.Not(this=exp.In(this=node.this, query=query))


def _quantified(node: exp.Expr) -> None:
    """Replace the comparison that ALL or ANY is in; what sub-queries hold is made plain in their copies."""
    comparison = node.parent
    whole = None if comparison is None else quantified_comparison(comparison)
    if comparison is not None and whole is not None:
        comparison.replace(plain_spellings(exp.Paren(this=whole)))


def _like_each(node: exp.Expr) -> exp.Expr | None:
    """LIKE ANY and LIKE ALL of patterns; with NOT, each of them is not like one."""
    quantified = node.expression
    if not isinstance(quantified, exp.Any | exp.All) or isinstance(node.parent, exp.Escape):
        return None
    listed = quantified.this
    patterns = listed.expressions if isinstance(listed, exp.Tuple) else [listed.unnest()]
    if isinstance(listed, exp.Subquery) or not patterns:
        return None
    parts: list[exp.Expr] = [type(node)(this=node.this.copy(), expression=one.copy()) for one in patterns]
    if node.args.get("negate"):
        parts = [exp.Not(this=part) for part in parts]
    return exp.Paren(this=_joined(exp.Or if isinstance(quantified, exp.Any) else exp.And, parts))


def _rows_in(node: exp.Expr) -> exp.Expr | None:
    rows = node.expressions
    left = node.this.unnest()
    if not rows or not isinstance(left, exp.Tuple) or not all(isinstance(row, exp.Tuple) for row in rows):
        return None
    if any(len(row.expressions) != len(left.expressions) for row in rows):
        return None
    return exp.Paren(this=_joined(exp.Or, [_equal(left, row) for row in rows]))


def _equal(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    pairs = zip(left.expressions, right.expressions, strict=True)
    return _joined(
        exp.And, [exp.NullSafeEQ(this=one.copy(), expression=other.copy()) for one, other in pairs]
    )


def _joined(kind: type[exp.Expr], parts: Sequence[exp.Expr]) -> exp.Expr:
    return reduce(lambda one, other: kind(this=one, expression=other), parts)


def _limit(node: exp.Expr) -> exp.Expr | None:
    options = node.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        return None
    return exp.Limit(expression=node.args.get("count") or exp.Literal.number(1))


def _first_of_each(select: exp.Expr) -> None:
    """DISTINCT ON as a rank; with LIMIT the order would be that of two things."""
    distinct = select.args.get("distinct")
    keys = None if distinct is None else distinct.args.get("on")
    if keys is None or any(select.args.get(clause) for clause in ("limit", "offset", "qualify")):
        return
    partition = keys.expressions if isinstance(keys, exp.Tuple) else [keys.unnest()]
    rank = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER", expressions=[]),
        partition_by=[key.copy() for key in partition],
        order=select.args.get("order"),
    )
    select.set("distinct", None)
    select.set("order", None)
    select.set("qualify", exp.Qualify(this=exp.EQ(this=rank, expression=exp.Literal.number(1))))


def _joins_in_parentheses(node: exp.Expr) -> exp.Expr | None:
    """The first table of joins in parentheses, with all joins behind it."""
    table = node.this
    if not isinstance(table, exp.Table) or node.args.get("alias") is not None:
        return None
    inner = table.args.get("joins") or []
    if any(join.args.get("side") in ("RIGHT", "FULL") for join in inner) and isinstance(
        node.parent, exp.Join
    ):
        return None  # rows that are kept would meet what is to the left of the parentheses
    table.set("joins", [*inner, *(node.args.get("joins") or [])])
    return table


def _outer_apply(node: exp.Expr) -> None:
    """APPLY is parsed as a join ON TRUE."""
    if node.args.get("cross_apply") is False and isinstance(node.parent, exp.Join):
        node.parent.set("side", "LEFT")


def _value_without_rows(node: exp.Expr) -> exp.Expr | None:
    """The value of a sub-query without FROM, where an expression has one, not a set of rows.

    It reads what is around it, as the value itself does.
    """
    select, parent = node.unnest(), node.parent
    is_value = isinstance(parent, exp.Condition | exp.Alias | exp.Where | exp.Having | exp.Ordered)
    if isinstance(parent, exp.In | exp.SubqueryPredicate):
        is_value = False
    if not (is_value or node.arg_key in ("expressions", "on")) or isinstance(parent, exp.SetOperation):
        return None
    if not isinstance(select, exp.Select) or {key for key, given in select.args.items() if given} != _NO_ROWS:
        return None
    value, *more = select.expressions
    calls = {call.name for call in value.find_all(exp.Anonymous)}
    if more or value.find(exp.Star, exp.Window) or any(map(is_aggregate, calls)):
        return None
    return exp.Paren(this=value.unalias())


def _group_window(select: exp.Expr) -> None:
    """Functions of Flink's grouped windows, where GROUP BY has one with the same arguments."""
    group = select.args.get("group")
    windows = [] if group is None else [*filter(_is_group_window, group.expressions)]
    if len(windows) != 1:
        return
    (window,) = windows
    name, arguments = window.name.upper(), window.expressions
    for call in [*select.find_all(exp.Anonymous)]:
        part = call.name.upper().removeprefix(f"{name}_")
        if call.parent_select is not select or call.expressions != arguments:
            continue
        if part in _EDGES:
            call.replace(exp.column(_EDGES[part], table=_GROUP_WINDOWS[name]))
        elif part == _LAST_INSTANT:
            call.replace(exp.Anonymous(this="window_time", expressions=[exp.column(_GROUP_WINDOWS[name])]))
    time, *lengths = arguments
    plain = exp.Anonymous(this=_GROUP_WINDOWS[name], expressions=[time, *reversed(lengths)])
    window.replace(plain)


def _is_group_window(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Anonymous) or node.name.upper() not in _GROUP_WINDOWS:
        return False
    return len(node.expressions) == (3 if node.name.upper() == "HOP" else 2)


_CHANGES: tuple[tuple[type[exp.Expr], Callable[[exp.Expr], exp.Expr | None]], ...] = (
    (exp.EQ, _any),
    (exp.NEQ, _all),
    (exp.Like, _like_each),
    (exp.ILike, _like_each),
    (exp.In, _rows_in),
    (exp.Fetch, _limit),
    (exp.Subquery, _joins_in_parentheses),
    (exp.Subquery, _value_without_rows),
    (exp.Select, _first_of_each),
    (exp.Select, _group_window),
    (exp.Lateral, _outer_apply),
    (exp.All, _quantified),
    (exp.Any, _quantified),
)
_KINDS = tuple({kind for kind, _ in _CHANGES})
