"""What a name in FROM stands for: a stream or a relation, a WITH entry, a view; a window of the query's own.

FROM bid b                                  Scan bid AS b; of a relation a Lookup
FROM bid WINDOW 10 b                        the same with a shorter life
FROM rate FOR SYSTEM_TIME AS OF bid.ts      a relation without VALID is the same at any time
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.functions import TypeMismatch
from seine.algebra.functions.function_hints import is_clock
from seine.algebra.functions.window_functions import length_of
from seine.algebra.plan import Lookup, Plan, Scan
from seine.algebra.types import Type
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.scope import CommonTable, Context, FromBlock, Table, is_exact, key_of
from seine.frontends.sql.view import View
from seine.frontends.sql.window_syntax import OWN_WINDOW
from seine.frontends.text.names import suggest


def own_window(node: exp.Expr) -> exp.Expr | None:
    """The length in FROM bid WINDOW length; None if there is none."""
    call = node.this if isinstance(node, exp.Table) else None
    is_narrowed = isinstance(call, exp.Anonymous) and call.name == OWN_WINDOW
    return call.expressions[1] if is_narrowed and call is not None else None


def table_plan(node: exp.Table, name: str, alias: str, context: Context) -> Plan:
    """The plan of a stream or a relation."""
    if node.args.get("db") is not None:
        raise context.error(node, "names of streams have no qualifier", f"write {node.name}")
    table = _declared(node, name, context)
    if table is None or isinstance(table, View):
        hint = suggest(node.name, context.tables, "streams and relations")
        raise context.error(node, f"no stream or relation {node.name}", hint)
    if not isinstance(table, StreamDef):
        return Lookup(table, alias)
    return Scan(table, alias)


def narrowed(plan: Plan, length: exp.Expr, context: Context) -> Scan:
    """A stream with a window of the query's own, which is no longer than the stream's."""
    if not isinstance(plan, Scan):
        raise context.error(length, "a WINDOW in FROM is of a stream", "a relation's tuples do not expire")
    try:
        life = length_of(ExpressionBinder(context, FromBlock(), "FROM").bind(length), _time_type(plan))
    except TypeMismatch as refusal:
        raise context.error(length, refusal.message, refusal.hint) from None
    if life <= 0:
        raise context.error(length, "a WINDOW is more than 0")
    declared = plan.stream.window
    if declared is not None and life > declared:
        message = f"this WINDOW is longer than that of stream {plan.stream.name}"
        raise context.error(length, message, "a query's own window is the same or narrower")
    return replace(plan, life=None if life == declared else life)


def _time_type(scan: Scan) -> Type:
    return scan.stream.types[scan.stream.time]


def common_table(node: exp.Table, context: Context) -> CommonTable | None:
    """The WITH entry or the view of a name, if there is one; a view knows streams, relations and views."""
    if node.args.get("db") is not None:
        return None
    name = key_of(node.this)
    view = None if name in context.common else _declared(node, name, context)
    if not isinstance(view, View):
        return context.common.get(name)
    return CommonTable(
        view.tree, view.columns, Context(view.source, 0, context.tables, join_values=context.join_values)
    )


def is_as_of_now(node: exp.Table, left: FromBlock | None, context: Context) -> bool:
    """Whether a relation is asked as of the time of a stream's tuple, or of day: without VALID it is the same
    at any.
    """
    version, table = node.args.get("version"), _declared(node, key_of(node.this), context)
    if version is None or left is None or not isinstance(table, RelationDef) or table.valid is not None:
        return False
    if is_clock(version.expression.name):
        return True
    return left.is_time(ExpressionBinder(context, left, "FROM").bind(version.expression))


def _declared(node: exp.Table, name: str, context: Context) -> Table | None:
    """The stream, relation or view of a name; unless in double quotes, in any case if none has this one."""
    table = context.tables.get(name)
    if table is None and not is_exact(node.this, context):
        same = [declared for declared in context.tables if declared.lower() == name.lower()]
        return context.tables[same[0]] if len(same) == 1 else None
    return table
