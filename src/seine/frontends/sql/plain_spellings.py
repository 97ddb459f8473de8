"""Spellings of other dialects and of the standard as the ones that the binder reads.

    x = ANY (SELECT y ...)                 x IN (SELECT y ...)
    x <> ALL (SELECT y ...)                NOT x IN (SELECT y ...)
    x > ALL (SELECT y ...)                 comparisons with MAX(y) (below)
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

Comparisons with all rows of a sub-query, or any, as comparisons with its greatest or least value.

    x > ALL (SELECT y FROM t)     TRUE if t is empty; x > MAX(y), but not TRUE if a y is NULL: NULL then
    x > ANY (SELECT y FROM t)     FALSE if t is empty; x > MIN(y), but TRUE or NULL if a y is NULL
    x <> ANY (SELECT y FROM t)    the same with x <> MIN(y) OR x <> MAX(y)
    x = ALL (SELECT y FROM t)     NOT x <> ANY (SELECT y FROM t)

Law: the value is that of SQL, NULLs included. The sub-query gives aggregates that seldom
change: MAX(1) tells whether there is a row, so that no count makes a result end and begin anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from sqlglot import exp

from seine.algebra.expressions import Expression
from seine.algebra.functions import TypeMismatch, is_aggregate
from seine.algebra.types import STRING

_GROUP_WINDOWS = {"TUMBLE": "window", "HOP": "window", "SESSION": "session_window"}
_EDGES = {"START": "start", "END": "end"}
_LAST_INSTANT = "ROWTIME"
_NO_ROWS = {"expressions"}  # the clauses of a SELECT that reads no table
_EXTREMES: dict[type[exp.Expr], tuple[str, str]] = {  # of ALL and of ANY
    exp.GT: ("MAX", "MIN"),
    exp.GTE: ("MAX", "MIN"),
    exp.LT: ("MIN", "MAX"),
    exp.LTE: ("MIN", "MAX"),
}
_NOT_PLAIN = ("group", "having", "qualify", "limit", "offset", "distinct", "with_")
_VALUE = "value"
_WITH_EXTREME = "with an extreme"  # the mark of a comparison with the greatest or least value


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


def quantified_query(node: exp.Expr, kind: type[exp.Expr]) -> exp.Subquery | None:
    """The sub-query of ANY or ALL to the right of a comparison."""
    right = node.expression
    if not isinstance(right, kind):
        return None
    query = right.this
    if isinstance(query, exp.Subquery):
        return query
    return exp.Subquery(this=query) if isinstance(query, exp.Query) else None


def quantified_comparison(node: exp.Expr) -> exp.Expr | None:
    """The CASE that a comparison with ALL or ANY stands for; None of = ANY and <> ALL, and of others."""
    if not isinstance(node, exp.Binary):
        return None
    of_all, of_any = quantified_query(node, exp.All), quantified_query(node, exp.Any)
    query = of_any if of_all is None else of_all
    if query is None or not _has_one_column(query.unnest()):
        return None
    if type(node) in _EXTREMES:
        return _with_any(node, query) if of_all is None else _with_all(node, query)
    if isinstance(node, exp.EQ) and of_all is not None:
        return exp.Not(this=exp.Paren(this=_with_other(node, query)))
    return _with_other(node, query) if isinstance(node, exp.NEQ) and of_any is not None else None


def _has_one_column(query: exp.Expr) -> bool:
    return isinstance(query, exp.Query) and len(query.selects) == 1 and not query.is_star


def refuse_other_order(node: exp.Expr, left: Expression, right: Expression) -> None:
    """Refuse the extreme of texts beside a value that is none: '9' is greater than '10'."""
    if node.meta.get(_WITH_EXTREME) and right.type == STRING and left.type != STRING:
        hint = "cast one side: CAST(x AS STRING), or (SELECT CAST(y AS BIGINT) ...)"
        raise TypeMismatch(f"ALL and ANY of texts compare with texts, and not with {left.type}", hint=hint)


def _with_all(node: exp.Expr, query: exp.Subquery) -> exp.Expr:
    extreme = _holds(node, query, _EXTREMES[type(node)][0])
    is_true = _case([(_is_null(_aggregated(query, _of_null)), exp.Boolean(this=True))], exp.Null())
    return _case(
        [(_is_null(_aggregated(query, _of_any)), exp.Boolean(this=True)), (extreme, is_true)], extreme.copy()
    )


def _with_any(node: exp.Expr, query: exp.Subquery) -> exp.Expr:
    extreme = _holds(node, query, _EXTREMES[type(node)][1])
    return _if_some(extreme, extreme.copy(), query)


def _with_other(node: exp.Expr, query: exp.Subquery) -> exp.Expr:
    """Whether a value is another one: then the least or the greatest is."""
    least, greatest = (_holds(exp.NEQ(this=node.this), query, extreme) for extreme in ("MIN", "MAX"))
    return _if_some(exp.Or(this=least, expression=greatest), least.copy(), query)


def _if_some(holds: exp.Expr, default: exp.Expr, query: exp.Subquery) -> exp.Expr:
    """TRUE if a comparison with one value holds, FALSE without a row, NULL if it may hold of a NULL."""
    has_null = exp.Not(this=_is_null(_aggregated(query, _of_null)))
    return _case(
        [
            (_is_null(_aggregated(query, _of_any)), exp.Boolean(this=False)),
            (holds, exp.Boolean(this=True)),
            (has_null, exp.Null()),
        ],
        default,
    )


def _holds(node: exp.Expr, query: exp.Subquery, extreme: str) -> exp.Expr:
    value = _aggregated(query, lambda y: _call(extreme, y))
    comparison = type(node)(this=node.this.copy(), expression=value)
    comparison.meta[_WITH_EXTREME] = True
    return comparison


def _of_any(_: exp.Expr) -> exp.Expr:
    """1 if there is a row at all."""
    return _call("MAX", exp.Literal.number(1))


def _of_null(y: exp.Expr) -> exp.Expr:
    """1 if a value is NULL."""
    return _call("MAX", _case([(_is_null(y), exp.Literal.number(1))], exp.Null()))


def _aggregated(query: exp.Subquery, aggregate: Callable[[exp.Expr], exp.Expr]) -> exp.Subquery:
    """The sub-query that has one aggregate of the rows of another."""
    select = query.unnest()
    if isinstance(select, exp.Select) and _is_plain(select):
        grouped = select.copy()
        value = grouped.expressions[0].unalias()
        grouped.set("expressions", [aggregate(value)])
        grouped.set("order", None)
        return exp.Subquery(this=grouped)
    name = exp.to_identifier(_VALUE, quoted=True)
    rows = exp.Subquery(
        this=select.copy(), alias=exp.TableAlias(this=exp.to_identifier("rows", quoted=True), columns=[name])
    )
    value = exp.Column(this=name.copy())
    return exp.Subquery(this=exp.Select(expressions=[aggregate(value)], from_=exp.From(this=rows)))


def _is_plain(select: exp.Select) -> bool:
    """Whether a SELECT gives one row for each of its FROM."""
    calls = (call for item in select.expressions for call in item.find_all(exp.Anonymous))
    return not any(select.args.get(clause) for clause in _NOT_PLAIN) and not any(
        is_aggregate(call.name) for call in calls
    )


def _case(whens: list[tuple[exp.Expr, exp.Expr]], default: exp.Expr) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=when, true=then) for when, then in whens], default=default)


def _is_null(node: exp.Expr) -> exp.Expr:
    return exp.Is(this=node, expression=exp.Null())


def _call(name: str, argument: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[argument])
