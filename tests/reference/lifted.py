"""A SELECT over tuples -> the same SELECT over tuples that carry their lives, in DuckDB's words.

Every table has hidden columns: start, natural end and end of life, earliest timestamp, and
the interval in which a VALID relation's tuple is active. A block combines them and keeps the
combinations that live; a sub-query without aggregates hands them on to the block around it.

    SELECT a.x FROM a, b WHERE a.k = b.k
    SELECT a.x, greatest(a.__s, b.__s) AS __s, ... FROM a, b
    WHERE a.k = b.k AND greatest(a.__s, b.__s) < least(a.__d, b.__d) AND ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp, parse_one
from sqlglot.dialects.spark import Spark

# hidden column -> how a combination gets it from its parts
HIDDEN = {
    "__s": exp.Greatest,  # start
    "__e": exp.Least,  # natural end
    "__d": exp.Least,  # end
    "__lo": exp.Least,  # earliest timestamp of the stream tuples
    "__vb": exp.Greatest,  # active from
    "__ve": exp.Least,  # active until
}


class _Script(Spark):
    """Spark's dialect, with a doubled quote inside a string."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES: ClassVar[list[str]] = ["'", "\\"]


def lift(select: str) -> tuple[str, bool]:
    """The lifted text, and whether the query is a changelog (an aggregate, DISTINCT, set operator)."""
    tree = parse_one(select, dialect=_Script)
    for identifier in tree.find_all(exp.Identifier):
        if not identifier.quoted:
            identifier.set("this", identifier.name.lower())
    for number, source in enumerate(tree.find_all(exp.Subquery)):
        if not source.alias and isinstance(source.parent, exp.From | exp.Join):
            source.set("alias", exp.TableAlias(this=exp.to_identifier(f"sub_{number}")))
    blocks = [block for block in tree.find_all(exp.Query) if not isinstance(block, exp.Subquery)]
    changelog = not all(map(_is_plain, blocks))
    tree = _forgive(_lift(tree, hand_on=not changelog))
    return tree.sql(dialect="duckdb", identify=True), changelog


def _is_plain(block: exp.Expr) -> bool:
    """A block without aggregates, DISTINCT, set operators, ranks, outer joins or sub-query conditions."""
    if not isinstance(block, exp.Select) or block.args.get("distinct") or block.args.get("group"):
        return False
    if any(block.args.get(clause) for clause in ("qualify", "limit")):
        return False
    if any(map(_asks_for_partners, block.args.get("joins") or [])) or _nested_queries(block):
        return False
    expressions = (block.args.get("having"), *block.expressions)
    return not any(part is not None and part.find(exp.AggFunc, exp.Window) for part in expressions)


def _lift(tree: exp.Expr, hand_on: bool) -> exp.Expr:
    if isinstance(tree, exp.Subquery):
        tree.set("this", _lift(tree.this, hand_on))
    elif isinstance(tree, exp.SetOperation):
        tree.set("this", _lift(tree.this, False))
        tree.set("expression", _lift(tree.expression, False))
    elif isinstance(tree, exp.Select):
        _lift_block(tree, hand_on)
    return tree


def _asks_for_partners(join: exp.Join) -> bool:
    """Whether a join is an outer, semi or anti join."""
    return bool(join.side) or join.kind in ("SEMI", "ANTI")


def _nested_queries(block: exp.Select) -> list[exp.Select]:
    """The sub-queries in conditions and outputs of a block, but not in theirs."""
    parts = [block.args.get("where"), block.args.get("having"), *block.expressions]
    selects = [select for part in parts if part is not None for select in part.find_all(exp.Select)]
    return [select for select in selects if select.parent_select is block]


def _lift_block(block: exp.Select, hand_on: bool, around: Sequence[str] = ()) -> None:
    joins = block.args.get("joins") or []
    sources = [block.args["from_"].this, *(join.this for join in joins)]
    carriers: list[str] = []
    nested = _nested_queries(block)
    for source, join in zip(sources, [None, *joins], strict=True):
        carries = isinstance(source, exp.Table) or _is_plain(source.unnest())
        if isinstance(source, exp.Subquery):
            source.set("this", _lift(source.this, carries))
        if carries:
            carriers.append(source.alias_or_name)
        if join is not None and _asks_for_partners(join) and join.args.get("on") is not None:
            join.set("on", exp.and_(join.args["on"], _alive([*around, *carriers])))
            if join.kind in ("SEMI", "ANTI") and carries:
                carriers.pop()
    for select in nested:
        _lift_block(select, False, [*around, *carriers] if _is_plain(select) else ())
    _hide_from_stars(block, carriers)
    if not carriers:
        return
    block.where(_alive([*around, *carriers]), copy=False)
    if len(carriers) == len(sources) and not block.args.get("group"):
        _break_ties(block, carriers)
    if hand_on:
        for name in HIDDEN:
            block.select(exp.alias_(_combined(name, carriers), name), copy=False)


def _break_ties(block: exp.Select, carriers: list[str]) -> None:
    """Ties of ROW_NUMBER and LIMIT go by event time."""
    parts = [*block.expressions, *([block.args["qualify"]] if block.args.get("qualify") else [])]
    windows = [window for part in parts for window in part.find_all(exp.Window)]
    orders = [one.args["order"] for one in windows if isinstance(one.this, exp.RowNumber)]
    if block.args.get("limit"):
        orders.append(block.args.get("order") or exp.Order(expressions=[]))
        block.set("order", orders[-1])
    for order in orders:
        order.append("expressions", exp.Ordered(this=_combined("__s", carriers), nulls_first=True))


def _combined(name: str, carriers: list[str]) -> exp.Expr:
    parts = [exp.column(name, table=carrier) for carrier in carriers]
    return (
        parts[0] if len(parts) == 1 else HIDDEN[name](this=parts[0], expressions=parts[1:], ignore_nulls=True)
    )


def _alive(carriers: list[str]) -> exp.Expr:
    s, d, lo, vb, ve = (_combined(name, carriers) for name in ("__s", "__d", "__lo", "__vb", "__ve"))
    return exp.and_(
        exp.LT(this=s, expression=d), exp.LTE(this=vb, expression=lo), exp.LT(this=s.copy(), expression=ve)
    )


def _hide_from_stars(block: exp.Select, carriers: list[str]) -> None:
    hidden = [exp.to_identifier(name) for name in HIDDEN]
    for projection in block.expressions:
        table = projection.table if isinstance(projection, exp.Column) else None
        star = projection.this if isinstance(projection, exp.Column) else projection
        if isinstance(star, exp.Star) and carriers and table in (None, "", *carriers):
            star.set("except_", hidden)


_FAILING = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg, exp.Abs)


def _forgive(tree: exp.Expr) -> exp.Expr:
    """An expression that fails for a row is NULL for that row."""
    for node in reversed(list(tree.walk())):
        if isinstance(node, exp.Div):
            divisor = exp.Nullif(this=exp.Paren(this=node.expression), expression=exp.Literal.number(0))
            node.replace(exp.Div(this=node.this, expression=divisor, typed=False, safe=False))
        elif isinstance(node, _FAILING) and not node.find(exp.AggFunc):
            node.replace(exp.Anonymous(this="TRY", expressions=[node.copy()]))
        elif type(node) is exp.Cast and not isinstance(node.this, exp.Literal):
            node.replace(exp.TryCast(this=node.this, to=node.to))
    return tree
