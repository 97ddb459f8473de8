"""LATERAL sub-queries in FROM: those of one row as values, others as joins with the rows of all keys.

    FROM a, LATERAL (SELECT MAX(x) AS m FROM b WHERE b.k = a.k) v
    the columns of a, and (SELECT MAX(x) FROM b WHERE b.k = a.k) AS m (`sub_queries.py`)

    FROM a, LATERAL (SELECT x FROM b WHERE b.k = a.k ORDER BY x LIMIT 3) v
    FROM a JOIN (SELECT x, k FROM b QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) <= 3) v ON v.k = a.k

    FROM a, LATERAL (SELECT x, COUNT(*) AS n FROM b WHERE b.k = a.k GROUP BY x) v
    FROM a JOIN (SELECT x, COUNT(*) AS n, k FROM b GROUP BY x, k) v ON v.k = a.k

Law: the rows are the same. A row of a has the same rows of b as all rows of a with an equal key. It holds of
what is computed of each row or group of b; functions OVER rows, and sets of groups that are there without
rows, are of all keys, and refused. Columns of a are those that say so: others are taken for those of b.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from seine.algebra.functions import is_aggregate

_PLAIN = {"expressions", "from_", "joins", "where"}
_FIRST = ("order", "limit")  # the first of one row is that row
_OF_KEYS = {*_PLAIN, "order", "limit", "offset", "distinct", "group", "having"}


def lateral_query(node: exp.Expr) -> exp.Expr | None:
    """The query of a LATERAL item; None of others."""
    if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery) and not node.args.get("view"):
        query: exp.Expr = node.this.this
        return query
    return None


def is_one_row(query: exp.Expr) -> bool:
    """Whether a query always has one row: aggregates of all that it reads."""
    if not isinstance(query, exp.Select):
        return False
    if any(value for clause, value in query.args.items() if clause not in {*_PLAIN, *_FIRST}):
        return False
    return all(_has_aggregate(item, query) and not item.find(exp.Window) for item in query.expressions)


def one_row_values(query: exp.Expr) -> list[exp.Subquery]:
    """The columns of a query of one row, each as a sub-query that is a value."""
    values = []
    for item in query.expressions:
        select = query.copy()
        select.set("expressions", [item.unalias().copy()])
        for clause in _FIRST:
            select.set(clause, None)
        values.append(exp.Subquery(this=select))
    return values


def needs_keys(query: exp.Expr) -> bool:
    """Whether a LATERAL query reads the row to its left and is more than a join with a condition."""
    if not isinstance(query, exp.Select):
        return any(map(_reads_outside, query.find_all(exp.Select)))
    more = any(value for clause, value in query.args.items() if clause not in _PLAIN)
    more = more or any(item.find(exp.Window) or _has_aggregate(item, query) for item in query.expressions)
    return more and _reads_outside(query)


def _has_aggregate(item: exp.Expr, select: exp.Expr) -> bool:
    calls = item.find_all(exp.Anonymous)
    return any(is_aggregate(call.name) and call.parent_select is select for call in calls)


def _reads_outside(query: exp.Expr) -> bool:
    inner = {table.alias_or_name.lower() for table in query.find_all(exp.Table, exp.Subquery)}
    return any(_is_outer(column, inner) for column in query.find_all(exp.Column))


@dataclass(frozen=True)
class RowsOfKeys:
    """The query of the rows of all keys, these behind its outputs, and what the keys must equal."""

    query: exp.Expr
    outside: list[exp.Expr]


def rows_of_keys(select: exp.Expr) -> RowsOfKeys | None:
    """What a LATERAL query with LIMIT, GROUP BY or DISTINCT stands for; None of others."""
    if not isinstance(select, exp.Select) or not _has_keyed_clauses(select):
        return None
    tables = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
    inner = {table.alias_or_name.lower() for table in tables}
    where = select.args.get("where")
    inner_parts, keys, outside = [], [], []
    for part in [] if where is None else [*_conjuncts(where.this)]:
        pair = _key(part, inner)
        if pair is None:
            inner_parts.append(part.copy())
        else:
            keys.append(pair[0].copy())
            outside.append(pair[1])
    clauses = (select.args.get(clause) for clause in ("group", "having", "order"))
    others = [*inner_parts, *select.expressions, *filter(None, clauses)]
    if not keys or any(_is_outer(column, inner) for one in others for column in one.find_all(exp.Column)):
        return None
    rows = _with_named_order(select)
    if rows is None:
        return None
    rows.set("where", exp.Where(this=exp.and_(*inner_parts)) if inner_parts else None)
    if rows.args.get("group") is not None:
        rows.args["group"].set(
            "expressions", [*rows.args["group"].expressions, *(key.copy() for key in keys)]
        )
    names = [exp.to_identifier(f"lateral key {i}", quoted=True) for i in range(len(keys))]
    named = [exp.Alias(this=key, alias=name) for key, name in zip(keys, names, strict=True)]
    rows.set("expressions", [*rows.expressions, *named])
    _rank(rows, names)
    return RowsOfKeys(rows, outside)


def _has_keyed_clauses(select: exp.Select) -> bool:
    """Whether all that a SELECT computes is of one key, if it is computed of all of them with the key."""
    clauses = {clause for clause, value in select.args.items() if value}
    if not clauses <= _OF_KEYS or not clauses & {"limit", "distinct", "group"} or "from_" not in clauses:
        return False
    if any(item.find(exp.Window) for item in select.expressions):
        return False
    if "limit" not in clauses and clauses & {"order", "offset"}:
        return False
    distinct, group = select.args.get("distinct"), select.args.get("group")
    if distinct is not None and (distinct.args.get("on") is not None or "limit" in clauses):
        return False  # a rank would come before DISTINCT
    if group is None:
        return "having" not in clauses and not any(
            _has_aggregate(item, select) for item in select.expressions
        )
    has_sets = any(value for name, value in group.args.items() if name != "expressions")
    return not has_sets and all(_is_plain_key(key, len(select.expressions)) for key in group.expressions)


def _is_plain_key(key: exp.Expr, width: int) -> bool:
    """Whether a key of GROUP BY is an expression, or the number of an output."""
    if isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
        return False
    is_number = isinstance(key, exp.Literal) and not key.is_string
    return not is_number or (key.name.isdigit() and 1 <= int(key.name) <= width)


def _with_named_order(select: exp.Select) -> exp.Select | None:
    """A SELECT whose ORDER BY has names for numbers of outputs; None if one has no name."""
    named = select.copy()
    order = named.args.get("order")
    for key in [] if order is None else order.expressions:
        number = key.this if isinstance(key, exp.Ordered) else key
        if isinstance(number, exp.Literal) and not number.is_string:
            place = int(number.name) if number.name.isdigit() else 0
            output = named.expressions[place - 1] if 1 <= place <= len(named.expressions) else exp.Star()
            if not isinstance(output, exp.Alias | exp.Column) or output.is_star:
                return None
            name = output.args["alias"] if isinstance(output, exp.Alias) else output.this
            number.replace(exp.Column(this=name.copy()))
    return named


def _rank(rows: exp.Select, keys: list[exp.Identifier]) -> None:
    """LIMIT of each key as a rank; the clauses that say it go."""
    limit, offset = rows.args.get("limit"), rows.args.get("offset")
    if limit is None:
        return
    rank = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER", expressions=[]),
        partition_by=[exp.Column(this=name.copy()) for name in keys],  # a key may be called like an output
        order=rows.args.get("order"),
    )
    first: exp.Expr = exp.LTE(this=rank, expression=limit.expression)
    if offset is not None:
        skipped, most = int(offset.expression.name), int(limit.expression.name)
        least, last = exp.Literal.number(skipped + 1), exp.Literal.number(skipped + most)
        first = exp.Between(this=rank, low=least, high=last)
    for clause in ("order", "limit", "offset"):
        rows.set(clause, None)
    rows.set("qualify", exp.Qualify(this=first))


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        yield from _conjuncts(part.unnest()) if isinstance(part.unnest(), exp.And) else [part]


def _key(part: exp.Expr, inner: set[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """The inner and the outer side of an equality between them."""
    part = part.unnest()
    if not isinstance(part, exp.EQ) or part.find(exp.Subquery):
        return None
    for one, other in ((part.this, part.expression), (part.expression, part.this)):
        inside, outside = [*one.find_all(exp.Column)], [*other.find_all(exp.Column)]
        if not inside or not outside:
            continue
        if not any(_is_outer(column, inner) for column in inside) and all(
            _is_outer(column, inner) for column in outside
        ):
            return one, other
    return None


def _is_outer(column: exp.Expr, inner: set[str]) -> bool:
    """Whether a column says that it is of a table around the sub-query."""
    table = column.args.get("table")
    return table is not None and table.name.lower() not in inner
