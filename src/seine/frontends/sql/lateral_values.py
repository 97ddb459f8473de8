"""LATERAL sub-queries in FROM that have one row, as values where they are read.

    SELECT v.m FROM a, LATERAL (SELECT MAX(x) AS m FROM b WHERE b.k = a.k) v
    SELECT (SELECT MAX(x) FROM b WHERE b.k = a.k) AS m FROM a

Law: the rows are the same. `JOIN LATERAL ... ON v.m > 2` is that with WHERE; a star is all columns, in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from seine.algebra.functions import is_aggregate
from seine.frontends.sql.lateral_items import lateral_query

_CLAUSES = {"expressions", "from_", "joins", "where"}
_UNQUALIFIED = "unqualified"  # the column that a value stands for, if nothing says of which item it is

Values = dict[str, exp.Subquery]


def without_lateral_values(select: exp.Expr) -> None:
    """A SELECT whose LATERAL items of one row are values where they are read."""
    joins = select.args.get("joins") or []
    items = [(join, values) for join in joins if (values := _values_of(join)) is not None]
    if any(join.side in ("RIGHT", "FULL") for join in joins):
        return  # in a row without partner to its left the item is NULL, and a COUNT of nothing 0
    if not items or not _without_stars(select, {_alias(join): values for join, values in items}):
        return
    owners = Counter(name for _, values in items for name in values)
    for join, values in items:
        joins.remove(join)
        if join.args.get("on") is not None and not _is_true(join.args["on"]):
            _restrict(select, join.args["on"])
        for column in [*_read_columns(select, _alias(join), values)]:
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


def _values_of(join: exp.Join) -> Values | None:
    """The values of a LATERAL item that always has one row, by name."""
    select, alias = lateral_query(join.this), join.this.args.get("alias")
    if select is None or alias is None or not _is_one_row(select) or join.args.get("using"):
        return None
    on = join.args.get("on")
    if join.side not in ("", "LEFT") or (join.side and not (on is None or _is_true(on))):
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
    if any(value for clause, value in select.args.items() if clause not in _CLAUSES):
        return False
    return all(
        any(is_aggregate(call.name) for call in item.find_all(exp.Anonymous)) and not item.find(exp.Window)
        for item in select.expressions
    )


def _value(select: exp.Expr, item: exp.Expr) -> exp.Subquery:
    aggregate = select.copy()
    aggregate.set("expressions", [item.unalias().copy()])
    return exp.Subquery(this=aggregate)


def _without_stars(select: exp.Expr, values_of: dict[str, Values]) -> bool:
    """Name what stars stand for; False if that cannot be said without the columns of all items."""
    stars = [output for output in select.expressions if output.is_star]
    if not stars:
        return True
    joins = select.args["joins"]
    items = [select.args["from_"].this, *(join.this for join in joins)]
    aliases = [item.alias_or_name for item in items]
    if any(join.args.get("using") or join.method or join.kind in ("SEMI", "ANTI") for join in joins):
        return False
    if not all(aliases) or any(item.args.get("joins") for item in items):
        return False
    outputs: list[exp.Expr] = []
    for output in select.expressions:
        if not output.is_star:
            outputs.append(output)
            continue
        star = output if isinstance(output, exp.Star) else output.this
        if any(star.args.values()):
            return False
        for alias in aliases if output is star else [output.table]:
            names = values_of.get(alias.lower())
            if names is None:
                outputs.append(exp.Column(this=exp.Star(), table=exp.to_identifier(alias, quoted=True)))
            elif "" in names:
                return False
            else:
                outputs += [exp.column(name, table=alias, quoted=True) for name in names]
    select.set("expressions", outputs)
    return True


def _restrict(select: exp.Expr, condition: exp.Expr) -> None:
    where = select.args.get("where")
    parts = [condition] if where is None else [where.this, condition]
    select.set("where", exp.Where(this=exp.and_(*parts, copy=False)))


def _read_columns(select: exp.Expr, alias: str, values: Values) -> Iterator[exp.Column]:
    """The columns of a SELECT itself that are of an item, by its alias or by their names."""
    for column in select.find_all(exp.Column):
        table = column.args.get("table")
        is_own = column.parent_select is select and _name(column.this) in values
        if is_own and (table is None or _name(table) == alias):
            yield column


def _is_true(condition: exp.Expr) -> bool:
    return isinstance(condition, exp.Boolean) and bool(condition.this)


def _alias(join: exp.Join) -> str:
    return _name(join.this.args["alias"].this)


def _name(identifier: exp.Expr) -> str:
    return identifier.name.lower()
