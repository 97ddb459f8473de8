"""Comparisons with all rows of a sub-query, or any, as comparisons with its greatest or least value.

    x > ALL (SELECT y FROM t)     TRUE if t is empty; x > MAX(y), but not TRUE if a y is NULL: NULL then
    x > ANY (SELECT y FROM t)     FALSE if t is empty; x > MIN(y), but TRUE or NULL if a y is NULL

Law: the value is that of SQL, NULLs included. The sub-query gives aggregates that seldom
change: MAX(1) tells whether there is a row, so that no count makes a result end and begin anew.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from seine.algebra.functions import is_aggregate

_EXTREMES: dict[type[exp.Expr], tuple[str, str]] = {  # of ALL and of ANY
    exp.GT: ("MAX", "MIN"),
    exp.GTE: ("MAX", "MIN"),
    exp.LT: ("MIN", "MAX"),
    exp.LTE: ("MIN", "MAX"),
}
_NOT_PLAIN = ("group", "having", "qualify", "limit", "offset", "distinct", "with_")
_VALUE = "value"


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
    """The CASE that a comparison with ALL or ANY by <, <=, > or >= stands for; None of others."""
    if type(node) not in _EXTREMES:
        return None
    if (query := quantified_query(node, exp.All)) is not None:
        return _with_all(node, query)
    query = quantified_query(node, exp.Any)
    return None if query is None else _with_any(node, query)


def _with_all(node: exp.Expr, query: exp.Subquery) -> exp.Expr:
    extreme = _holds(node, query, _EXTREMES[type(node)][0])
    is_true = _case([(_is_null(_aggregated(query, _of_null)), exp.Boolean(this=True))], exp.Null())
    return _case(
        [(_is_null(_aggregated(query, _of_any)), exp.Boolean(this=True)), (extreme, is_true)], extreme.copy()
    )


def _with_any(node: exp.Expr, query: exp.Subquery) -> exp.Expr:
    extreme = _holds(node, query, _EXTREMES[type(node)][1])
    has_null = exp.Not(this=_is_null(_aggregated(query, _of_null)))
    return _case(
        [
            (_is_null(_aggregated(query, _of_any)), exp.Boolean(this=False)),
            (extreme, exp.Boolean(this=True)),
            (has_null, exp.Null()),
        ],
        extreme.copy(),
    )


def _holds(node: exp.Expr, query: exp.Subquery, extreme: str) -> exp.Expr:
    value = _aggregated(query, lambda y: _call(extreme, y))
    return type(node)(this=node.this.copy(), expression=value)


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
