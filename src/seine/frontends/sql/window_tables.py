"""The table functions of event-time windows: TUMBLE, HOP and SESSION, a second spelling of window().

    FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' MINUTE [, offset])
    FROM HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '10' MINUTE [, offset])
    FROM SESSION(TABLE bid [PARTITION BY bidder], DESCRIPTOR(ts), INTERVAL '10' MINUTE)
    FROM TUMBLE(bid, ts, INTERVAL '10' MINUTE)

Of a table it gives the rows with three columns more, window_start, window_end and window_time. These are the
expressions that window() gives, so that both spellings are one plan.

    SELECT window_start, COUNT(*) FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), 10) GROUP BY window_start, window_end
    SELECT window.start,  COUNT(*) FROM bid GROUP BY window(ts, 10)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from seine.algebra.expressions import Call, Expression
from seine.algebra.functions import TypeMismatch
from seine.algebra.functions.function_hints import clock_refusal, is_clock
from seine.algebra.functions.window_functions import (
    resolve_session_window,
    resolve_window,
    resolve_window_time,
)
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.context import Context
from seine.frontends.sql.scope import FromBlock, NamedExpression, key_of
from seine.frontends.sql.window_syntax import CUMULATE
from seine.frontends.text.names import suggest

_PARAMETERS = {
    "tumble": ("data", "timecol", "size", "offset"),
    "hop": ("data", "timecol", "slide", "size", "offset"),
    "session": ("data", "timecol", "gap"),
}
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


def _pair(time: Expression, lengths: Mapping[str, Expression], partition: tuple[Expression, ...]) -> Call:
    if "gap" in lengths:
        return resolve_session_window([time, lengths["gap"]], partition)
    args = [time, lengths["size"], lengths.get("slide", lengths["size"])]
    return resolve_window([*args, *([lengths["offset"]] if "offset" in lengths else [])])


def _named(pair: Call, last: Expression) -> list[NamedExpression]:
    start, end = pair.args
    named = (("window_start", start), ("window_end", end), ("window_time", last))
    return [NamedExpression(name, value) for name, value in named]


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
