"""Comparisons with all rows of a sub-query, or any, as comparisons with its greatest or least value.

    x > ALL (SELECT y FROM t)     TRUE if t is empty; x > MAX(y), but not TRUE if a y is NULL: NULL then
    x > ANY (SELECT y FROM t)     FALSE if t is empty; x > MIN(y), but TRUE or NULL if a y is NULL
    x <> ANY (SELECT y FROM t)    the same with x <> MIN(y) OR x <> MAX(y)
    x = ALL (SELECT y FROM t)     NOT x <> ANY (SELECT y FROM t)

Law: the value is that of SQL, NULLs included. The sub-query gives aggregates that seldom
change: MAX(1) tells whether there is a row, so that no count makes a result end and begin anew.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from seine.algebra.expressions import Expression
from seine.algebra.functions import TypeMismatch, is_aggregate
from seine.algebra.types import STRING

_EXTREMES: dict[type[exp.Expr], tuple[str, str]] = {  # of ALL and of ANY
    exp.GT: ("MAX", "MIN"),
    exp.GTE: ("MAX", "MIN"),
    exp.LT: ("MIN", "MAX"),
    exp.LTE: ("MIN", "MAX"),
}
_NOT_PLAIN = ("group", "having", "qualify", "limit", "offset", "distinct", "with_")
_VALUE = "value"
_WITH_EXTREME = "with an extreme"  # the mark of a comparison with the greatest or least value


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
