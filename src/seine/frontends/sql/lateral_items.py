"""LATERAL sub-queries in FROM: those of one row as values, the first rows of each key as ranks.

    SELECT v.m FROM a, LATERAL (SELECT MAX(x) AS m FROM b WHERE b.k = a.k) v
    SELECT (SELECT MAX(x) FROM b WHERE b.k = a.k) AS m FROM a

    FROM a, LATERAL (SELECT x FROM b WHERE b.k = a.k ORDER BY x LIMIT 3) v
    FROM a JOIN (SELECT x, k FROM b QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) <= 3) v ON v.k = a.k

Law: the rows are the same. A row of a has the same rows of b as all rows of a with an equal key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from seine.algebra.functions import is_aggregate

_OF_ONE_ROW = {"expressions", "from_", "joins", "where"}
_OF_FIRST_ROWS = {*_OF_ONE_ROW, "order", "limit"}
_UNQUALIFIED = "unqualified"  # the column that a value stands for, if nothing says of which item it is


def lateral_query(node: exp.Expr) -> exp.Expr | None:
    """The query of a LATERAL item; None of others."""
    if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery) and not node.args.get("view"):
        query: exp.Expr = node.this.this
        return query
    return None


# ---- one row: values


def without_lateral_values(select: exp.Expr) -> None:
    """A SELECT whose LATERAL items of one row are values where they are read; a star reads them all."""
    if any(item.find(exp.Star) and not item.find(exp.Anonymous) for item in select.expressions):
        return
    joins = [(join, _values_of(join)) for join in select.args.get("joins") or ()]
    items = [(join, values) for join, values in joins if values is not None]
    owners = Counter(name for _, values in items for name in values)
    for join, values in items:
        alias = _name(join.this.args["alias"].this)
        select.args["joins"].remove(join)
        for column in [*_read_columns(select, alias, values)]:
            value = values[_name(column.this)].copy()
            if column.args.get("table") is None:
                if owners[_name(column.this)] > 1:
                    continue  # nobody knows whose it is
                value.meta[_UNQUALIFIED] = column.this.copy()
            is_output = column.arg_key == "expressions" and column.parent is select
            column.replace(exp.Alias(this=value, alias=column.this.copy()) if is_output else value)


def unqualified(value: exp.Expr) -> exp.Identifier | None:
    """The column of a LATERAL item that a value stands for, if it was read by its name alone."""
    column: exp.Identifier | None = value.meta.get(_UNQUALIFIED)
    return column


def _values_of(join: exp.Join) -> dict[str, exp.Subquery] | None:
    """The values of a LATERAL item that always has one row, by name."""
    select, alias = lateral_query(join.this), join.this.args.get("alias")
    on = join.args.get("on")
    if select is None or alias is None or not _is_one_row(select) or join.args.get("using"):
        return None
    if join.side not in ("", "LEFT") or not (on is None or (isinstance(on, exp.Boolean) and on.this)):
        return None
    given = [_name(name) for name in alias.args.get("columns") or ()]
    names = given or [
        _name(item.args["alias"]) if isinstance(item, exp.Alias) else "" for item in select.expressions
    ]
    if len(names) != len(select.expressions):
        return None
    return {name: _value(select, item) for name, item in zip(names, select.expressions, strict=True)}


def _is_one_row(select: exp.Expr) -> bool:
    if not isinstance(select, exp.Select):
        return False
    if any(value for clause, value in select.args.items() if clause not in _OF_ONE_ROW):
        return False
    return all(
        any(is_aggregate(call.name) for call in item.find_all(exp.Anonymous)) and not item.find(exp.Window)
        for item in select.expressions
    )


def _value(select: exp.Expr, item: exp.Expr) -> exp.Subquery:
    aggregate = select.copy()
    aggregate.set("expressions", [item.unalias().copy()])
    return exp.Subquery(this=aggregate)


def _read_columns(select: exp.Expr, alias: str, values: dict[str, exp.Subquery]) -> Iterator[exp.Column]:
    """The columns of a SELECT itself that are of an item, by its alias or by their names."""
    for column in select.find_all(exp.Column):
        table = column.args.get("table")
        is_own = column.parent_select is select and _name(column.this) in values
        if is_own and (table is None or _name(table) == alias):
            yield column


def _name(identifier: exp.Expr) -> str:
    return identifier.name.lower()


# ---- the first rows of each key: ranks


@dataclass(frozen=True)
class FirstRows:
    """The query of the first rows of all keys, these behind its outputs, and what the keys must equal."""

    query: exp.Expr
    outside: list[exp.Expr]


def first_rows(select: exp.Expr) -> FirstRows | None:
    """The ranks that a LATERAL query with LIMIT stands for; None of others."""
    if not isinstance(select, exp.Select) or select.args.get("limit") is None:
        return None
    if any(value for clause, value in select.args.items() if clause not in _OF_FIRST_ROWS):
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
    if not keys or any(
        _is_outer(column, inner) for part in inner_parts for column in part.find_all(exp.Column)
    ):
        return None
    ranked = _with_named_order(select)
    return None if ranked is None else FirstRows(_ranked(ranked, inner_parts, keys), outside)


def _with_named_order(select: exp.Select) -> exp.Select | None:
    """A SELECT whose ORDER BY has names for numbers of outputs; None if one has no name."""
    named = select.copy()
    order = named.args.get("order")
    for key in [] if order is None else order.expressions:
        number = key.this if isinstance(key, exp.Ordered) else key
        if isinstance(number, exp.Literal) and not number.is_string:
            place = int(number.name) if number.name.isdigit() else 0
            output = named.expressions[place - 1] if 1 <= place <= len(named.expressions) else exp.Star()
            if not isinstance(output, exp.Alias | exp.Column) or output.find(exp.Star):
                return None
            name = output.args["alias"] if isinstance(output, exp.Alias) else output.this
            number.replace(exp.Column(this=name.copy()))
    return named


def _ranked(ranked: exp.Select, conditions: list[exp.Expr], keys: list[exp.Expr]) -> exp.Expr:
    names = [exp.to_identifier(f"lateral key {i}", quoted=True) for i in range(len(keys))]
    rank = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER", expressions=[]),
        partition_by=[exp.Column(this=name.copy()) for name in names],  # a key may be called like an output
        order=ranked.args.get("order"),
    )
    most = ranked.args["limit"].expression
    named = [exp.Alias(this=key, alias=name) for key, name in zip(keys, names, strict=True)]
    ranked.set("expressions", [*ranked.expressions, *named])
    ranked.set("where", exp.Where(this=exp.and_(*conditions)) if conditions else None)
    ranked.set("order", None)
    ranked.set("limit", None)
    ranked.set("qualify", exp.Qualify(this=exp.LTE(this=rank, expression=most)))
    return ranked


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        yield from _conjuncts(part.unnest()) if isinstance(part.unnest(), exp.And) else [part]


def _key(part: exp.Expr, inner: set[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """The inner and the outer column of an equality between them."""
    part = part.unnest()
    if not isinstance(part, exp.EQ):
        return None
    for one, other in ((part.this, part.expression), (part.expression, part.this)):
        is_pair = isinstance(one, exp.Column) and isinstance(other, exp.Column)
        if is_pair and not _is_outer(one, inner) and _is_outer(other, inner):
            return one, other
    return None


def _is_outer(column: exp.Expr, inner: set[str]) -> bool:
    """Whether a column says that it is of a table around the sub-query."""
    table = column.args.get("table")
    return table is not None and table.name.lower() not in inner
