"""Binds FROM and JOIN clauses to a block: tables, sub-queries, ON and USING.

Aliases that tell the streams of sub-queries apart: in messages, a scan is named by its alias.

Sub-queries in one FROM may read the same stream under the same name. Such scans are named by the alias of
the sub-query too, so that a verdict or an explanation says which of them it means:

    FROM (SELECT a FROM u) p, (SELECT a FROM u) q      p.u and q.u
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sqlglot import exp

from seine.algebra.event_windows import PAIRS
from seine.algebra.expressions import Expression, conjuncts, shift_columns
from seine.algebra.functions import resolve_call
from seine.algebra.plan import Lookup, Plan, Scan, SetKind, walk
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.block_plan import Projection, refuse_large
from seine.frontends.sql.dialect import SeineSql
from seine.frontends.sql.from_tables import (
    add_spread,
    common_table,
    hopping_window,
    is_as_of_now,
    narrowed,
    own_window,
    table_plan,
    window_columns,
    window_table,
)
from seine.frontends.sql.lateral_items import (
    is_one_row,
    lateral_query,
    needs_keys,
    one_row_values,
    rows_of_keys,
)
from seine.frontends.sql.partner_joins import (
    PartnerJoin,
    combined,
    from_sub_query,
    is_correlated,
    refuse_outer,
    with_plain_columns,
)
from seine.frontends.sql.ranked_select import row_count
from seine.frontends.sql.scope import (
    OUTER,
    CommonTable,
    Context,
    FromBlock,
    FromItem,
    NamedExpression,
    joined_pairs,
    key_of,
    pairs_apart,
)
from seine.frontends.text.lexer import suggest

Analyse = Callable[[exp.Expr, Context], Projection | Plan]

_JOINS = {
    *((side, kind) for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")),
    *((side, kind) for side in ("", "LEFT") for kind in ("SEMI", "ANTI")),
    ("", ""),
    ("", "INNER"),
    ("", "CROSS"),
}
_ASOF_HINT = (
    "JOIN ... ON b.k = a.k AND b.ts <= a.ts, and behind it"
    " QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.ts DESC) = 1"
)
_COMMA_HINT = "a comma binds before JOIN, as in Spark: write ON with qualified columns, or a sub-query"
_EXTRAS = {
    "pivots": "SUM(x) FILTER (WHERE c = 'a') AS a, a line for each column of a PIVOT",
    "sample": "WHERE xxhash64(id) % 10 = 0 takes a tenth, the same for every run",
}
_LATERAL_HINT = (
    "it may have GROUP BY, DISTINCT, or ORDER BY with LIMIT where it reads the row to its left in conditions"
    " a.k = b.k of its WHERE alone; else join the streams, and group or rank the pairs"
)
_PLAIN_ITEMS = "write a comma or JOIN ... ON"
_OTHER_ITEMS: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Values, "declare a RELATION of these rows and join it"),
    (
        exp.Lateral,
        "LATERAL takes a sub-query; a row gives one row: split(text, ' ')[0] and get_json_object(text, '$.a')"
        " give one value",
    ),
    (
        exp.Subquery,
        "write RIGHT and FULL JOIN in parentheses as a sub-query: (SELECT ... FROM b FULL JOIN c ON ...)",
    ),
    (exp.Table, "TUMBLE, HOP and SESSION are the functions of FROM; declare a RELATION of other rows"),
    (exp.Unnest, "a row gives one row: split(text, ' ')[0] and get_json_object(text, '$.a') give one value"),
)
_TABLE_ARGS = {"this", "alias", "db", "catalog", "joins"}


def read_from(
    select: exp.Select, context: Context, analyse: Analyse, grouped: frozenset[int] = frozenset()
) -> FromBlock:
    """The block of the FROM clause of a SELECT; `analyse` binds sub-queries.

    `grouped` are the ids of calls of HOP whose windows are keys of groups; rows of others are spread.
    """
    source = select.args.get("from_")
    block = FromBlock()
    if source is None:
        return block  # one row, of what is computed without columns
    _add(source.this, block, context, analyse, grouped=grouped)
    for join in (*(source.this.args.get("joins") or ()), *(select.args.get("joins") or ())):
        _add_join(join, block, context, analyse, grouped)
    block.items[:] = distinct_aliases(block.items, block.owners)
    return block


def _add_join(
    join: exp.Join,
    block: FromBlock,
    context: Context,
    analyse: Analyse,
    grouped: frozenset[int] = frozenset(),
) -> None:
    side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    method = (join.args.get("method") or "").upper()
    if method not in ("", "NATURAL") or (side, kind) not in _JOINS:
        words = " ".join(filter(None, (method, side, kind)))
        hint = _ASOF_HINT if method == "ASOF" else f"name the columns: {_plainly(side)}"
        raise context.error(join, f"{words} JOIN is not supported", hint)
    if (side or kind in ("SEMI", "ANTI")) and not _keeps_all(join, side, kind):
        _add_partner_join(join, side, kind, block, context, analyse)
        return
    _add(join.this, block, context, analyse, block, grouped)
    for nested in join.this.args.get("joins") or ():
        _add_join(nested, block, context, analyse, grouped)
    _use(_shared_columns(join, block, context), block, context)
    if join.args.get("on") not in (None, exp.true()):
        block.conjuncts.append(ExpressionBinder(context, block, "ON").condition(join.args["on"], "ON"))


def _keeps_all(join: exp.Join, side: str, kind: str) -> bool:
    """Whether a LEFT JOIN LATERAL has one row for each that is to the left of it."""
    query, on = lateral_query(join.this), join.args.get("on")
    is_plain = side == "LEFT" and kind in ("", "OUTER") and not join.args.get("using") and not join.method
    return query is not None and is_one_row(query) and is_plain and (on is None or on == exp.true())


def _plainly(side: str) -> str:
    return f"{side} JOIN ... USING (...)".strip()


def _add_partner_join(
    join: exp.Join, side: str, kind: str, block: FromBlock, context: Context, analyse: Analyse
) -> None:
    """An outer, semi or anti join of all that is to the left of it with one item."""
    right = FromBlock()
    _add(join.this, right, context, analyse, block)
    for nested in join.this.args.get("joins") or ():
        _add_join(nested, right, context, analyse)
    for item in right.visible:
        if block.item(item.alias) is not None and not item.alias.startswith("("):
            raise context.error(join.this, f"{item.alias} is twice in FROM", "give one of them another alias")
    is_lateral = lateral_query(join.this) is not None
    if is_lateral and side in ("RIGHT", "FULL"):
        hint = "LEFT JOIN LATERAL: its rows are those of a row to the left of it"
        raise context.error(join.this, f"{side} JOIN LATERAL is not supported", hint)
    refuse_outer([*block.conjuncts, *([] if is_lateral else right.conjuncts)], join, context)
    _name_apart(block, right)
    keeps_left, keeps_right = side in ("LEFT", "FULL"), side in ("RIGHT", "FULL")
    if kind not in ("SEMI", "ANTI"):
        if keeps_right:
            with_plain_columns(block, join, context)
        if keeps_left:
            with_plain_columns(right, join, context)
    both = combined(block, right)
    shared = _shared_columns(join, both, context)
    _use(shared, both, context)
    if join.args.get("on") is not None:
        both.conjuncts.append(ExpressionBinder(context, both, "ON").condition(join.args["on"], "ON"))
    parts = [part for condition in both.conjuncts for part in conjuncts(condition)]
    parts += _lateral_conditions(join, block, right)
    partners = PartnerJoin(block, right, [parts], join.this, context)
    if kind in ("SEMI", "ANTI"):
        partners.with_partner(SetKind(kind.lower()))
        return
    partners.outer(keeps_left, keeps_right)
    _merge_columns(shared, block, keeps_left, keeps_right)


def _lateral_conditions(join: exp.Join, left: FromBlock, right: FromBlock) -> list[Expression]:
    """The conditions of a LATERAL item on the row to its left, which are asked of pairs."""
    if lateral_query(join.this) is None:
        return []
    parts = [part for condition in right.conjuncts for part in conjuncts(condition)]
    right.conjuncts[:] = [part for part in parts if not is_correlated(part)]
    return [from_sub_query(part, left.width) for part in parts if is_correlated(part)]


def _name_apart(left: FromBlock, right: FromBlock) -> None:
    """Tell the streams of sub-queries on both sides apart by their aliases."""
    items = distinct_aliases([*left.items, *right.items], [*left.owners, *right.owners])
    left.items[:], right.items[:] = items[: len(left.items)], items[len(left.items) :]


def _merge_columns(names: list[exp.Expr], block: FromBlock, keeps_left: bool, keeps_right: bool) -> None:
    """An unqualified column of USING is that of the side that keeps its rows, or the one that is not NULL."""
    *earlier, last = block.visible
    for name in map(key_of, names):
        last.merged.add(name)
        if not keeps_right:
            continue
        right = next(c.value for c in last.columns if c.name == name)
        for item in earlier:
            for column in item.plain_columns():
                if column.name == name:
                    both = resolve_call("coalesce", [column.value, right])
                    item.joined[name] = both if keeps_left else right


def _shared_columns(join: exp.Join, block: FromBlock, context: Context) -> list[exp.Expr]:
    """The columns of USING, or of a NATURAL JOIN: those that both sides have."""
    if not join.args.get("method"):
        return join.args.get("using") or []
    *earlier, last = block.visible
    known = {column.name for item in earlier for column in item.plain_columns()}
    shared = [column.name for column in last.columns if column.name in known]
    if not shared:
        raise context.error(join.this, "both sides of a NATURAL JOIN have no column in common", "write ON")
    return [exp.to_identifier(name, quoted=True) for name in shared]


def _use(names: list[exp.Expr], block: FromBlock, context: Context) -> None:
    """USING (c): the columns are equal, and visible once."""
    *earlier, last = block.visible
    for node in names:
        name = key_of(node)
        left = [c.value for item in earlier for c in item.plain_columns() if c.name == name]
        right = [c.value for c in last.columns if c.name == name]
        if len(left) != 1 or len(right) != 1:
            known = [c.name for item in block.visible for c in item.columns]
            message = f"USING needs {node.name} once on each side"
            hint = _COMMA_HINT if len(left) > 1 else suggest(node.name, known, "columns")
            raise context.error(node, message, hint)
        block.conjuncts.append(resolve_call("eq", [left[0], right[0]]))
        last.merged.add(name)


def _add(
    node: exp.Expr,
    block: FromBlock,
    context: Context,
    analyse: Analyse,
    left: FromBlock | None = None,
    grouped: frozenset[int] = frozenset(),
) -> None:
    """Add an item of FROM to a block; `left` is what is to the left of it, which LATERAL may read."""
    windowed, length = window_table(node, context), own_window(node)
    if length is not None:
        node = node.copy()
        node.set("this", node.this.expressions[0].this)
    if windowed is not None:
        node = node.copy()  # a common table expression is read once for each use
        node.set("this", windowed.table)
    rows = block if windowed is None or id(windowed.node) in grouped else FromBlock()
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        known = {*_TABLE_ARGS, *(["version"] if is_as_of_now(node, left, context) else [])}
        _refuse_extras(node, known, context)
        alias, columns = _add_table(node, rows, context, analyse, length)
    elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        alias, columns = _add_query(node, block, context, analyse)
    elif lateral_query(node) is not None and left is not None:
        alias, columns = _add_lateral(node, block, left, context, analyse)
    elif isinstance(node, exp.Values) and len(node.expressions) == 1:
        alias, columns = _add_row(node, block, context)
    else:
        hint = next((hint for kind, hint in _OTHER_ITEMS if isinstance(node, kind)), _PLAIN_ITEMS)
        raise context.error(node, "FROM takes streams, relations and sub-queries", hint)
    hop = None
    if windowed is not None:
        columns = [*columns, *window_columns(windowed, columns, context)]
        hop = (hopping_window(columns), id(windowed.node)) if rows is block else None
        columns = columns if rows is block else add_spread(rows, columns, block, node, context)
    owner = None if isinstance(node, exp.Table) and common_table(node, context) is None else alias
    block.owners += [owner] * (len(block.items) - len(block.owners))
    if block.item(alias) is not None:
        raise context.error(node, f"{alias} is twice in FROM", "give one of them another alias")
    block.visible.append(FromItem(alias, _renamed(node, columns, context), hop=hop))


def _add_table(
    node: exp.Table, block: FromBlock, context: Context, analyse: Analyse, length: exp.Expr | None = None
) -> tuple[str, list[NamedExpression]]:
    name = key_of(node.this)
    alias_node = node.args.get("alias")
    alias = key_of(alias_node.this) if alias_node is not None and alias_node.this is not None else name
    common = common_table(node, context)
    if common is not None:
        if length is not None:
            hint = "write it inside of the WITH query or the view"
            raise context.error(node, "a WINDOW in FROM is of a stream", hint)
        return alias, _columns_of_common(common, block, context, analyse, node)
    plan = table_plan(node, name, alias, context)
    return alias, block.add_item(plan if length is None else narrowed(plan, length, context))


def _columns_of_common(
    common: CommonTable, block: FromBlock, context: Context, analyse: Analyse, node: exp.Expr
) -> list[NamedExpression]:
    columns = _take_over(analyse(common.query, common.context.without_outer()), block, context, node)
    return _rename(columns, common.columns, context, node)


def _add_query(
    node: exp.Subquery, block: FromBlock, context: Context, analyse: Analyse
) -> tuple[str, list[NamedExpression]]:
    _refuse_extras(node, {"this", "alias", "joins"}, context)
    source = analyse(node.this, context.without_outer())
    return _alias(node, block), _take_over(source, block, context, node)


def _alias(node: exp.Expr, block: FromBlock) -> str:
    alias = node.args.get("alias")
    nameless = f"({len(block.visible) + 1})"  # nobody can write that
    return nameless if alias is None or alias.this is None else key_of(alias.this)


def _add_row(node: exp.Values, block: FromBlock, context: Context) -> tuple[str, list[NamedExpression]]:
    """VALUES of one row: constants, which have no item."""
    (row,) = node.expressions
    binder = ExpressionBinder(context, FromBlock(), "FROM")
    values = [binder.bind(value) for value in (row.expressions or [row])]
    return _alias(node, block), [NamedExpression(f"col{i}", value) for i, value in enumerate(values, 1)]


def _add_lateral(
    node: exp.Expr, block: FromBlock, left: FromBlock, context: Context, analyse: Analyse
) -> tuple[str, list[NamedExpression]]:
    """A sub-query that may read the row to its left: its conditions on both are those of a join."""
    query = lateral_query(node)
    assert query is not None
    limit = query.args.get("limit")
    row_count(limit, "LIMIT", 1, context)
    row_count(query.args.get("offset"), "OFFSET", 0, context)
    if is_one_row(query):
        return _alias(node, block), _one_row(node, query, block, left, context, analyse)
    keyed = rows_of_keys(query)
    if keyed is None and needs_keys(query):
        raise context.error(node, "LATERAL is not supported for this sub-query", _LATERAL_HINT)
    if keyed is not None and limit is not None and query.args.get("order") is None:
        raise context.error(limit, "LIMIT needs an order", "write ORDER BY ... LIMIT")
    outside = [ExpressionBinder(context, left, "ON").bind(one) for one in (keyed.outside if keyed else ())]
    inside = replace(context, outer=left, where=None)
    columns = _take_over(analyse(keyed.query if keyed else query, inside), block, context, node)
    columns, keys = columns[: len(columns) - len(outside)], columns[len(columns) - len(outside) :]
    for key, value in zip(keys, outside, strict=True):
        if key.value.type != value.type:
            message = (
                f"the keys of this LATERAL sub-query are {key.value.type} inside and {value.type} outside"
            )
            raise context.error(node, message, "CAST one of them")
        around = shift_columns(value, lambda index: index + OUTER)
        block.conjuncts.append(resolve_call("eq", [key.value, around]))
    if left is not block:
        refuse_outer([column.value for column in columns], node, context)
        return _alias(node, block), columns
    block.conjuncts[:] = [from_sub_query(condition, 0) for condition in block.conjuncts]
    return _alias(node, block), [NamedExpression(c.name, from_sub_query(c.value, 0)) for c in columns]


def _one_row(
    node: exp.Expr, query: exp.Expr, block: FromBlock, left: FromBlock, context: Context, analyse: Analyse
) -> list[NamedExpression]:
    """The columns of a LATERAL sub-query that always has one row: values, as of sub-queries in SELECT."""
    if left is not block:
        hint = "a comma, JOIN ... ON, or LEFT JOIN ... ON TRUE with CASE WHEN ... THEN v.m END"
        raise context.error(node, "this join with a LATERAL sub-query of one row is not supported", hint)
    assert context.join_values is not None
    names = [
        key_of(item.args["alias"]) if isinstance(item, exp.Alias) else implied_name(item)
        for item in query.expressions
    ]
    values = context.join_values(one_row_values(query), block, context, analyse)
    return [NamedExpression(name, value) for name, value in zip(names, values, strict=True)]


def implied_name(node: exp.Expr) -> str:
    """The name of an output without alias: that of its column, or the text of the expression."""
    if isinstance(node, exp.Column):
        return key_of(node.this)
    if isinstance(node, exp.Anonymous) and node.name.lower() in PAIRS:
        return node.name.lower()
    return node.sql(dialect=SeineSql, normalize_functions="lower")


def _take_over(
    source: Projection | Plan, block: FromBlock, context: Context, node: exp.Expr
) -> list[NamedExpression]:
    """Inline a plain SELECT into the block; join any other query as one item."""
    refuse_large(source, len(block.items), context, node)
    if isinstance(source, Projection):
        return block.merge(source.block, source.outputs)
    plan, names = pairs_apart(source)
    columns = block.add_item(plan)
    return columns if names is None else joined_pairs(names, columns)


def _renamed(node: exp.Expr, columns: list[NamedExpression], context: Context) -> list[NamedExpression]:
    alias = node.args.get("alias")
    return _rename(columns, tuple(alias.args.get("columns") or ()) if alias else (), context, node)


def _rename(
    columns: list[NamedExpression], names: tuple[exp.Identifier, ...], context: Context, node: exp.Expr
) -> list[NamedExpression]:
    """Columns renamed by the column list of an alias: alias (a, b)."""
    if not names:
        return columns
    if len(names) != len(columns):
        raise context.error(node, f"{len(names)} names for {len(columns)} columns")
    return [NamedExpression(key_of(name), column.value) for name, column in zip(names, columns, strict=True)]


def _refuse_extras(node: exp.Expr, known: set[str], context: Context) -> None:
    extras = [key for key, value in node.args.items() if value and key not in known]
    if "version" in extras:
        hint = "leave it out: a relation VALID FROM .. TO .. is as of the tuples that it is joined with"
        raise context.error(node, "FOR SYSTEM_TIME AS OF is not supported", hint)
    if extras:
        word = extras[0].strip("_").removesuffix("s").upper()
        raise context.error(node, f"{word} is not supported in FROM", _EXTRAS.get(extras[0]))


def distinct_aliases(items: Sequence[Plan], owners: Sequence[str | None]) -> list[Plan]:
    """Items of a FROM clause; `owners` has for each the alias of the sub-query that it is from, if any.

    An alias that stands in two places gets the owner's in front, where there is one.
    """
    names = [{scan.alias for scan in walk(item) if isinstance(scan, Scan)} for item in items]
    owned = {(owner or "", alias) for owner, known in zip(owners, names, strict=True) for alias in known}
    repeated = {alias for alias, count in Counter(alias for _, alias in owned).items() if count > 1}
    if not repeated:
        return list(items)

    def named(owner: str) -> Callable[[str], str]:
        return lambda alias: f"{owner}.{alias}" if alias in repeated else alias

    pairs = zip(items, owners, strict=True)
    return [item if owner is None else _with_aliases(item, named(owner)) for item, owner in pairs]


def _with_aliases(plan: Plan, named: Callable[[str], str]) -> Plan:
    if isinstance(plan, Scan | Lookup):
        return replace(plan, alias=named(plan.alias))
    assert is_dataclass(plan)
    changed = {part.name: _part(getattr(plan, part.name), named) for part in fields(plan)}
    return replace(plan, **changed)


def _part(value: object, named: Callable[[str], str]) -> Any:
    """A field of a plan: a plan, several, or something else, which stays."""
    if isinstance(value, Plan):
        return _with_aliases(value, named)
    if isinstance(value, tuple) and any(isinstance(one, Plan) for one in value):
        return tuple(_part(one, named) for one in value)
    return value
