"""Window functions, f(...) OVER (...), as they are bound: placeholders in the expressions of a SELECT.

SELECT price - AVG(price) OVER (PARTITION BY auction) FROM bid       price - over 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from seine.algebra import aggregates
from seine.algebra.expressions import Call, Expression, Literal, walk
from seine.algebra.functions import is_aggregate, resolve_cast
from seine.algebra.functions.aggregate_calls import COMPOSED, ORDERED
from seine.algebra.plan import AggregateCall
from seine.algebra.rank_plan import (
    DISTRIBUTION_FUNCTIONS,
    LAG,
    LEAD,
    NTH_VALUE,
    NTILE,
    RANGE,
    RANK_FUNCTIONS,
    ROWS,
    VALUE_FUNCTIONS,
    Frame,
    OverFunction,
)
from seine.algebra.types import BIGINT, DAY_TIME, DOUBLE, INT, TEXTS, TIMESTAMP, Type
from seine.frontends.sql.block_plan import recorded
from seine.frontends.sql.scope import Context, is_pair

_PLACEHOLDER = "over "
_MOST_ROWS = 2**31 - 1  # that a frame or an offset may reach, as in Spark
_WHOLE = Frame(ROWS, None, None)
_UP_TO_PEERS = Frame(RANGE, None, 0)

Bind = Callable[[exp.Expr], Expression]
BindAggregate = Callable[[exp.Anonymous, exp.Expr | None], AggregateCall]


@dataclass(frozen=True)
class OverCall:
    """A window function: of which rows it is, in which order."""

    function: str
    type: Type
    partition: tuple[Expression, ...]
    order: tuple[SortKey, ...]
    framed: OverFunction | None = None  # of a function with a frame, which is no rank

    @property
    def expressions(self) -> tuple[Expression, ...]:
        read = [] if self.framed is None else [a for a in self.framed.call.args if not isinstance(a, Literal)]
        return (*self.partition, *(key.value for key in self.order), *read)


@dataclass
class OverCalls:
    """The different window functions of one SELECT, and the windows that it names."""

    named: dict[str, exp.Expr] = field(default_factory=dict)
    calls: list[OverCall] = field(default_factory=list)

    def placeholder(self, call: OverCall) -> Expression:
        """What stands for a call in expressions; it is added if it is new."""
        if call not in self.calls:
            self.calls.append(call)
        return Call(f"{_PLACEHOLDER}{self.calls.index(call)}", (), call.type)

    def bind(self, node: exp.Window, bind: Bind, aggregate: BindAggregate, context: Context) -> Expression:
        """The placeholder of a window function."""
        window = self._window(node, context)
        written = map(recorded, map(bind, window.args.get("partition_by") or ()))
        partition = tuple(part for value in written for part in _parts(value))
        order = sort_keys(window.args.get("order"), bind, context)
        function = node.this.name.lower() if isinstance(node.this, exp.Anonymous) else ""
        if function not in RANK_FUNCTIONS:
            framed = read_framed(node, window, order, bind, aggregate, context)
            return self.placeholder(OverCall(function, framed.call.type, partition, order, framed))
        if node.this.expressions:
            raise context.error(node, f"{function.upper()} takes no arguments")
        if window.args.get("spec") is not None:
            raise context.error(node, f"{function.upper()} takes no frame", "leave out ROWS or RANGE")
        call = OverCall(function, INT, partition, order)
        if not call.order:
            raise context.error(node, f"{function.upper()} needs an order", "write OVER (... ORDER BY ...)")
        return self.placeholder(call)

    def _window(self, node: exp.Window, context: Context) -> exp.Expr:
        """The window of a function: its own, or the one that it names."""
        alias = node.args.get("alias")
        if alias is None:
            return node
        named = self.named.get(alias.name.lower())
        if named is None:
            raise context.error(node, f"no WINDOW {alias.name}", f"write WINDOW {alias.name} AS (...)")
        return named


def sort_keys(order: exp.Expr | None, bind: Bind, context: Context) -> tuple[SortKey, ...]:
    """The expressions of ORDER BY; NULLs come first, or last with DESC, unless it says otherwise."""
    keys = []
    for node in () if order is None else order.expressions:
        if not isinstance(node, exp.Ordered) or node.args.get("with_fill"):
            raise context.error(node, "ORDER BY takes expressions")
        how = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        value = bind(node.this)
        if value.type == TEXTS:
            raise context.error(node, "arrays have no order", "order by array_join(array, ',')")
        keys += [SortKey(part, *how) for part in _parts(value)]
    return tuple(keys)


def _parts(value: Expression) -> tuple[Expression, ...]:
    """What is compared of a value: of a window its start and its end."""
    return value.args if is_pair(value) and isinstance(value, Call) else (value,)


def over_calls(select: exp.Select) -> OverCalls:
    """The window functions of a SELECT, none of them bound yet."""
    named = {node.this.name.lower(): node for node in select.args.get("windows") or ()}
    return OverCalls(named)


def placeholder_number(expression: Expression) -> int | None:
    """Which window function an expression stands for; None if it stands for none."""
    if isinstance(expression, Call) and expression.name.startswith(_PLACEHOLDER):
        return int(expression.name.removeprefix(_PLACEHOLDER))
    return None


def has_placeholder(expression: Expression) -> bool:
    """Whether a window function is read."""
    return any(placeholder_number(part) is not None for part in walk(expression))


def is_over(call: exp.Expr) -> bool:
    """Whether a call of an aggregate is a window function."""
    parent = call.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        call, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is call


def without_placeholders(expressions: Iterable[Expression]) -> list[Expression]:
    """The expressions that read no window function."""
    return [expression for expression in expressions if not has_placeholder(expression)]


@dataclass(frozen=True)
class SortKey:
    """An expression of ORDER BY."""

    value: Expression
    descending: bool
    nulls_first: bool


def read_framed(
    node: exp.Window,
    window: exp.Expr,
    order: Sequence[SortKey],
    bind: Bind,
    aggregate: BindAggregate,
    context: Context,
) -> OverFunction:
    """The function of a window and its frame."""
    call, where = (
        (node.this.this, node.this.expression.this)
        if isinstance(node.this, exp.Filter)
        else (node.this, None)
    )
    name = call.name.lower() if isinstance(call, exp.Anonymous) else ""
    if name in (*VALUE_FUNCTIONS, *DISTRIBUTION_FUNCTIONS) and where is None:
        if not order:
            raise context.error(node, f"{name.upper()} needs an order", "write OVER (... ORDER BY ...)")
        if name in DISTRIBUTION_FUNCTIONS:
            return _distribution(name, call, window, bind, context)
        return _value_function(name, call, window, order, bind, context)
    is_other = name in (*ORDERED, *COMPOSED) or aggregates.lookup(name) is not None
    if not is_aggregate(name) or is_other:
        known = (*RANK_FUNCTIONS, *VALUE_FUNCTIONS, *DISTRIBUTION_FUNCTIONS)
        hint = f"{', '.join(map(str.upper, known))} and Spark's aggregates are"
        raise context.error(node, f"{name.upper() or 'this'} OVER is not supported", hint)
    return OverFunction(aggregate(call, where), _frame(window, order, bind, context))


def _distribution(name: str, call: exp.Expr, window: exp.Expr, bind: Bind, context: Context) -> OverFunction:
    args = [bind(arg) for arg in call.expressions]
    if window.args.get("spec") is not None:
        raise context.error(call, f"{name.upper()} takes no frame", "leave out ROWS or RANGE")
    if name != NTILE:
        if args:
            raise context.error(call, f"{name.upper()} takes no arguments")
        return OverFunction(AggregateCall(name, (), DOUBLE), _WHOLE)
    tiles = _whole_number(args[0]) if len(args) == 1 else None
    if tiles is None:
        raise context.error(call, "NTILE takes a whole number of tiles, 1 or more", "e.g. NTILE(4)")
    return OverFunction(AggregateCall(name, (Literal(tiles, INT),), INT), _WHOLE)


def _value_function(
    name: str, call: exp.Expr, window: exp.Expr, order: Sequence[SortKey], bind: Bind, context: Context
) -> OverFunction:
    args = [bind(arg) for arg in call.expressions]
    if name == NTH_VALUE:
        number = _whole_number(args[1]) if len(args) == 2 else None
        if number is None:
            message = "NTH_VALUE takes a value and the number of a row, 1 or more"
            raise context.error(call, message, "e.g. NTH_VALUE(price, 2)")
        nth = AggregateCall(name, (args[0], Literal(number, BIGINT)), args[0].type)
        return OverFunction(nth, _frame(window, order, bind, context))
    if not 1 <= len(args) <= (3 if name in (LAG, LEAD) else 1):
        raise context.error(
            call,
            f"{name.upper()} takes a value" + (", an offset and a default" if name in (LAG, LEAD) else ""),
        )
    if name not in (LAG, LEAD):
        return OverFunction(
            AggregateCall(name, (args[0],), args[0].type), _frame(window, order, bind, context)
        )
    if window.args.get("spec") is not None:
        raise context.error(call, f"{name.upper()} takes no frame", "leave out ROWS or RANGE")
    offset = args[1] if len(args) > 1 else Literal(1, INT)
    default = resolve_cast(args[2], args[0].type) if len(args) > 2 else Literal(None, args[0].type)
    if (
        not isinstance(offset, Literal)
        or not isinstance(offset.value, int)
        or not isinstance(args[-1] if len(args) > 2 else offset, Literal)
    ):
        raise context.error(call, f"offset and default of {name.upper()} are constants")
    if abs(offset.value) > _MOST_ROWS:
        raise context.error(call, f"{name.upper()} reaches {_MOST_ROWS:,} rows at most")
    default = (
        Literal(args[2].value, args[0].type) if len(args) > 2 and isinstance(args[2], Literal) else default
    )
    assert isinstance(default, Literal)
    at = -offset.value if name == LAG else offset.value
    return OverFunction(AggregateCall(name, (args[0], default), args[0].type), Frame(ROWS, at, at))


def _whole_number(argument: Expression) -> int | None:
    """The value of a constant from 1 to the most rows; None of anything else."""
    if not isinstance(argument, Literal) or argument.type not in (INT, BIGINT):
        return None
    value = argument.value
    return value if isinstance(value, int) and 0 < value <= _MOST_ROWS else None


def _frame(window: exp.Expr, order: Sequence[SortKey], bind: Bind, context: Context) -> Frame:
    """ROWS or RANGE BETWEEN ... AND ...; without it all rows up to a row's peers, or without order all."""
    spec = window.args.get("spec")
    if spec is None:
        return _UP_TO_PEERS if order else _WHOLE
    unit = str(spec.args.get("kind") or "").lower()
    if unit not in (ROWS, RANGE) or spec.args.get("exclude"):
        raise context.error(window, "a frame is ROWS or RANGE BETWEEN ... AND ...")
    bounds = []
    for side, other in (("start", "PRECEDING"), ("end", "FOLLOWING")):
        bounds.append(_bound(spec, side, other, unit, order, bind, context, window))
    start, end = bounds
    if start is not None and end is not None and start > end:
        raise context.error(window, "a frame ends before it begins")
    return Frame(unit, start, end)


def _bound(
    spec: exp.Expr,
    side: str,
    unbounded: str,
    unit: str,
    order: Sequence[SortKey],
    bind: Bind,
    context: Context,
    window: exp.Expr,
) -> int | None:
    """Where a frame begins or ends, behind the row negative; None: with the partition."""
    value, direction = spec.args.get(side), spec.args.get(f"{side}_side")
    if value is None or value == "CURRENT ROW":
        return 0
    if value == "UNBOUNDED":
        if direction != unbounded:
            raise context.error(window, f"a frame cannot {side} with UNBOUNDED {direction}")
        return None
    offset = bind(value)
    kind = order[0].value.type if unit == RANGE and len(order) == 1 else None
    if unit == RANGE and kind not in (INT, BIGINT, TIMESTAMP):
        raise context.error(
            value, "a RANGE with an offset needs an order by one BIGINT or TIMESTAMP", "use ROWS"
        )
    if not isinstance(offset, Literal) or not _fits(offset, kind) or offset.value < 0:
        wanted = "an INTERVAL" if kind == TIMESTAMP else "a whole number, 0 or more"
        raise context.error(value, f"the offset of a frame is {wanted}")
    assert isinstance(offset.value, int)
    if unit == ROWS and offset.value > _MOST_ROWS:
        raise context.error(
            value, f"a frame of ROWS reaches {_MOST_ROWS:,} rows at most", f"UNBOUNDED {unbounded}"
        )
    return -offset.value if direction == "PRECEDING" else offset.value


def _fits(offset: Literal, kind: Type | None) -> bool:
    if kind == TIMESTAMP:
        return offset.type == DAY_TIME and isinstance(offset.value, int)
    return offset.type in (INT, BIGINT) and isinstance(offset.value, int)
