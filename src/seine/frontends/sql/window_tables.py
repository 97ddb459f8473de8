"""The table functions of event-time windows: TUMBLE, HOP and SESSION, a second spelling of window().

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

from seine.algebra.event_windows import EventWindow, event_window, window_of
from seine.algebra.expressions import Call, Column, Expression, Literal, shift_columns
from seine.algebra.functions import TypeMismatch, resolve_call
from seine.algebra.functions.function_hints import clock_refusal, is_clock
from seine.algebra.functions.window_functions import (
    resolve_session_window,
    resolve_window,
    resolve_window_time,
)
from seine.algebra.plan import Plan, Project, Select, UnionAll
from seine.algebra.types import BIGINT, DAY_TIME, TIMESTAMP
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.block_plan import joined_plan
from seine.frontends.sql.scope import Context, FromBlock, NamedExpression, key_of
from seine.frontends.sql.window_syntax import CUMULATE
from seine.frontends.text.names import suggest

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
