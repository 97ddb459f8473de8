"""Tables in FROM. By name: a stream or a relation, a WITH entry, a view, with a window of the query's own.

FROM bid b                                  Scan bid AS b; of a relation a Lookup
FROM bid WINDOW 10 b                        the same with a shorter life
FROM rate FOR SYSTEM_TIME AS OF bid.ts      a relation without VALID is the same at any time

By table functions of event-time windows: TUMBLE, HOP and SESSION, a second spelling of window().

    FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' MINUTE [, offset])
    FROM HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '10' MINUTE [, offset])
    FROM SESSION(TABLE bid [PARTITION BY bidder], DESCRIPTOR(ts), INTERVAL '10' MINUTE)
    FROM TUMBLE(bid, ts, INTERVAL '10' MINUTE)

Of a table it gives the rows with three columns more, window_start, window_end and window_time. These are the
expressions that window() gives, so that both spellings are one plan.

    SELECT window_start, COUNT(*) FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), 10) GROUP BY window_start, window_end
    SELECT window.start,  COUNT(*) FROM bid GROUP BY window(ts, 10)

HOP has a row once for each of its windows. Groups by such a window are those of window(). Anywhere else,
and where nobody reads the window, the rows are spread: a UNION ALL of the latest window of each row, the one
before it, and so on, each of which is a tumbling window that has been moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.event_windows import EventWindow, event_window, window_of
from seine.algebra.expressions import Call, Column, Expression, Literal, shift_columns
from seine.algebra.functions import TypeMismatch, resolve_call
from seine.algebra.functions.function_hints import clock_refusal, is_clock
from seine.algebra.functions.window_functions import (
    length_of,
    resolve_session_window,
    resolve_window,
    resolve_window_time,
)
from seine.algebra.plan import Lookup, Plan, Project, Scan, Select, UnionAll
from seine.algebra.types import BIGINT, DAY_TIME, TIMESTAMP, Type
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.block_plan import joined_plan
from seine.frontends.sql.dialect import CUMULATE, OWN_WINDOW
from seine.frontends.sql.scope import (
    CommonTable,
    Context,
    FromBlock,
    NamedExpression,
    Table,
    is_exact,
    key_of,
)
from seine.frontends.sql.syntax_tree import View
from seine.frontends.text.lexer import suggest

_ADDED = ("window_start", "window_end", "window_time")
_PARAMETERS = {
    "tumble": ("data", "timecol", "size", "offset"),
    "hop": ("data", "timecol", "slide", "size", "offset"),
    "session": ("data", "timecol", "gap"),
}
_MOST_SPREAD = 100  # windows of a row, where each is a branch of a UNION ALL
_USAGE = {
    "tumble": "TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' MINUTE)",
    "hop": "HOP(TABLE bid, DESCRIPTOR(ts), slide, size): INTERVAL '5' MINUTE, INTERVAL '10' MINUTE",
    "session": "SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' MINUTE)",
}


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


@dataclass(frozen=True)
class WindowTable:
    """A call of a table function: the name of its table, its arguments by name, and the keys of sessions."""

    function: str
    node: exp.Anonymous
    table: exp.Identifier
    arguments: dict[str, exp.Expr]
    partition: tuple[str, ...] = ()


def window_table(node: exp.Expr, context: Context) -> WindowTable | None:
    """The call of a table function that an item of FROM is; None if it is something else."""
    call = node.this if isinstance(node, exp.Table) else None
    if isinstance(call, exp.Anonymous) and call.name.upper() == CUMULATE:
        hint = "a running total of a day is SUM(x) OVER (PARTITION BY date_trunc('day', ts) ORDER BY ts)"
        raise context.error(node, "CUMULATE is not available", hint)
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in _PARAMETERS:
        return None
    function = call.name.lower()
    given, partition = (
        _without_partition(call.expressions, context) if function == "session" else (call.expressions, ())
    )
    arguments = _by_name(call, given, context)
    data = arguments["data"]
    for call in data.find_all(exp.Anonymous):
        if is_clock(call.name):
            refusal = clock_refusal(call.name.lower())
            raise context.error(call, refusal.message, refusal.hint)
    if not isinstance(data, exp.Column) or data.args.get("table") is not None:
        raise context.error(data, f"{call.name} takes the name of a stream", _USAGE[function])
    return WindowTable(function, call, data.this, arguments, partition)


def hopping_calls(select: exp.Select) -> frozenset[int]:
    """The ids of calls of HOP in the FROM of a SELECT itself; none if a sub-query may read their windows."""
    inner = (column for column in select.find_all(exp.Column) if column.parent_select is not select)
    if any(column.name.lower() in _ADDED for column in inner if not _is_in_from(column, select)):
        return frozenset()
    clauses = [*filter(None, [select.args.get("from_")]), *(select.args.get("joins") or ())]
    calls = (call for clause in clauses for call in clause.find_all(exp.Anonymous))
    return frozenset(
        id(call)
        for call in calls
        if call.name.lower() == "hop" and isinstance(call.parent, exp.Table) and call.parent_select is select
    )


def _is_in_from(node: exp.Expr, select: exp.Select) -> bool:
    """Whether a node is within a sub-query in FROM, which reads no columns of the items beside it."""
    while node.parent is not select:
        assert node.parent is not None
        node = node.parent
        if isinstance(node, exp.Lateral):
            return False
    return node.arg_key in ("from_", "joins", "with_")


def _without_partition(
    args: Sequence[exp.Expr], context: Context
) -> tuple[Sequence[exp.Expr], tuple[str, ...]]:
    """The arguments of SESSION without the columns of PARTITION BY, which follow its table, and these."""
    at = next((i for i, arg in enumerate(args) if _is_descriptor(_value(arg))), 1)
    columns = [part for arg in args[1:at] for part in (arg.expressions or [getattr(arg, "this", arg)])]
    for column in columns:
        if not isinstance(column, exp.Identifier | exp.Column):
            raise context.error(column, "PARTITION BY takes columns", _USAGE["session"])
    names = (key_of(one.this if isinstance(one, exp.Column) else one) for one in columns)
    return [*args[:1], *args[at:]], tuple(names)


def _value(arg: exp.Expr) -> exp.Expr:
    return arg.expression if isinstance(arg, exp.Kwarg) else arg


def _is_descriptor(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == "descriptor"


def _by_name(call: exp.Anonymous, args: Sequence[exp.Expr], context: Context) -> dict[str, exp.Expr]:
    """The arguments of a call, given in order or by name."""
    arguments: dict[str, exp.Expr] = {}
    names, usage = _PARAMETERS[call.name.lower()], _USAGE[call.name.lower()]
    for place, arg in enumerate(args):
        name = arg.this.name.lower() if isinstance(arg, exp.Kwarg) else None
        if name is None and place < len(names):
            name = names[place]
        if name not in names or name in arguments:
            raise context.error(arg, f"{call.name} takes {', '.join(names)}", usage)
        arguments[name] = _value(arg)
    missing = [name for name in names if name not in arguments and name != "offset"]
    if missing:
        raise context.error(call, f"{call.name} needs its {missing[0]}", usage)
    return arguments


def window_columns(
    table: WindowTable, columns: Sequence[NamedExpression], context: Context
) -> list[NamedExpression]:
    """The columns that a table function adds to those of its table."""
    time = _time(table, columns, context)
    lengths: dict[str, Expression] = {
        name: ExpressionBinder(context, FromBlock(), "FROM").bind(table.arguments[name])
        for name in ("size", "slide", "offset", "gap")
        if name in table.arguments
    }
    try:
        pair = _pair(
            time, lengths, tuple(_column(name, table.node, columns, context) for name in table.partition)
        )
        last = resolve_window_time([pair])
    except TypeMismatch as refusal:
        hint = _USAGE["hop"] if table.function == "hop" else refusal.hint
        raise context.error(table.node, refusal.message, hint) from None
    return _named(pair, last)


def hopping_window(columns: Sequence[NamedExpression]) -> EventWindow | None:
    """The window of rows of HOP, of which a row may have several; None of rows of another table function."""
    window = window_of(columns[-len(_ADDED)].value)
    return window if window is not None and window.is_hopping else None


def add_spread(
    rows: FromBlock, columns: Sequence[NamedExpression], block: FromBlock, node: exp.Expr, context: Context
) -> list[NamedExpression]:
    """Add the rows of a table function, of HOP once for each window; their columns over the block."""
    window = hopping_window(columns)
    if window is None:
        return block.merge(rows, [*columns])
    length, slide, start = (part.value for part in window.constants if isinstance(part, Literal))
    copies = -(-length // slide)
    if copies > _MOST_SPREAD:
        message = f"each row is in {copies:,} windows, which no GROUP BY takes; so many are not spread"
        raise context.error(node, message, "GROUP BY window_start, window_end, or take a longer slide")
    plan, latest = joined_plan(rows, node, context), event_window(window.time, slide, slide, start)
    unit = DAY_TIME if window.time.type == TIMESTAMP else BIGINT
    ends = [_moved(latest.end, Literal(length - slide - back * slide, unit)) for back in range(copies)]
    branches = [_branch(plan, window.time, end, Literal(length, unit)) for end in ends]
    first, before = block.width, len(block.items)
    block.add_item(UnionAll(tuple(branches)))
    block.inner += [replace(table, item=before) for table in rows.tables(first)]
    values = [shift_columns(column.value, lambda index: index + first) for column in columns[: -len(_ADDED)]]
    values += [
        Column(first + rows.width + i, field.type)
        for i, field in enumerate(branches[0].schema[-len(_ADDED) :])
    ]
    return [NamedExpression(column.name, value) for column, value in zip(columns, values, strict=True)]


def _moved(time: Expression, by: Literal) -> Expression:
    return resolve_call("add", [time, by]) if by.value else time


def _branch(plan: Plan, time: Expression, end: Expression, length: Literal) -> Project:
    """The rows of a plan with one window each; without those that are not in it, as one of no time is not."""
    start, last = resolve_call("sub", [end, length]), resolve_call("sub", [end, Literal(1, length.type)])
    inside = Select(plan, resolve_call("lt", [time, end]))
    columns = [Column(i, field.type) for i, field in enumerate(plan.schema)]
    names = [field.name for field in plan.schema]
    return Project(inside, (*columns, start, end, last), (*names, *_ADDED))


def _pair(time: Expression, lengths: Mapping[str, Expression], partition: tuple[Expression, ...]) -> Call:
    if "gap" in lengths:
        return resolve_session_window([time, lengths["gap"]], partition)
    args = [time, lengths["size"], lengths.get("slide", lengths["size"])]
    return resolve_window([*args, *([lengths["offset"]] if "offset" in lengths else [])])


def _named(pair: Call, last: Expression) -> list[NamedExpression]:
    start, end = pair.args
    return [NamedExpression(name, value) for name, value in zip(_ADDED, (start, end, last), strict=True)]


def _time(table: WindowTable, columns: Sequence[NamedExpression], context: Context) -> Expression:
    """The column that DESCRIPTOR names."""
    node = table.arguments["timecol"]
    named = node.expressions if _is_descriptor(node) else [node]
    if len(named) != 1 or not isinstance(named[0], exp.Column):
        raise context.error(node, "the time of a window is DESCRIPTOR(column)", _USAGE[table.function])
    return _column(key_of(named[0].this), named[0], columns, context)


def _column(name: str, node: exp.Expr, columns: Sequence[NamedExpression], context: Context) -> Expression:
    for column in columns:
        if column.name == name:
            return column.value
    hint = suggest(name, [column.name for column in columns], "columns")
    raise context.error(node, f"no column {name}", hint)
