"""Siblings of a query: other constants, conditions said the other way round, tables in another order."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from sqlglot import exp, parse_one

_MIRRORED: dict[type, type] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
}
_DIALECT = "duckdb"


def sibling(rng: Random, query: str) -> str:
    """A query that has much in common with the given one, and mostly another answer."""
    tree = parse_one(query, dialect=_DIALECT)
    for change in (change_constants, mirror, reorder):
        if rng.random() < 0.7:
            change(rng, tree)
    return tree.sql(dialect=_DIALECT)


def change_constants(rng: Random, tree: exp.Expression) -> None:
    """Other numbers and spans; equal ones remain equal, so that GROUP BY still fits."""
    chosen: dict[str, str] = {}
    for literal in list(tree.find_all(exp.Literal)):
        if literal.find_ancestor(exp.DataType, exp.Substring):
            continue
        span = isinstance(literal.parent, exp.Interval)
        if literal.is_string and not span:
            continue
        text = literal.this
        if text not in chosen:
            step = Decimal(rng.choice([0, 1, 1, 2]))
            scale = Decimal(1).scaleb(Decimal(text).as_tuple().exponent)  # type: ignore[arg-type]
            chosen[text] = str(Decimal(text) + step * scale)
        literal.set("this", chosen[text])


def mirror(rng: Random, tree: exp.Expression) -> None:
    """Turn comparisons of WHERE and ON round; they say the same."""
    for node in list(tree.find_all(*_MIRRORED)):
        if node.find_ancestor(exp.Where, exp.Join) and rng.random() < 0.5:
            node.replace(_MIRRORED[type(node)](this=node.expression.copy(), expression=node.this.copy()))


def reorder(rng: Random, tree: exp.Expression) -> None:
    """Shuffle the tables of comma joins, the first two of other joins, and the conjuncts of WHERE."""
    for select in list(tree.find_all(exp.Select)):
        joins = select.args.get("joins") or []
        movable = joins[:1] if any(join.args.get("on") for join in joins) else joins
        first = select.args["from_"]
        items = [first.this, *(join.this for join in movable)]
        rng.shuffle(items)
        for place, item in zip([first, *movable], items, strict=True):
            place.set("this", item)
        where = select.args.get("where")
        if where is not None and isinstance(where.this, exp.And):
            parts = [part.copy() for part in where.this.flatten()]
            rng.shuffle(parts)
            where.set("this", exp.and_(*parts))
