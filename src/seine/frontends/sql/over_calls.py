"""Window functions, f(...) OVER (...), as they are bound: placeholders in the expressions of a SELECT.

SELECT price - AVG(price) OVER (PARTITION BY auction) FROM bid       price - over 0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from seine.algebra.expressions import Call, Expression, Literal, walk
from seine.algebra.over_plan import OverFunction
from seine.algebra.rank_plan import RANK_FUNCTIONS
from seine.algebra.types import INT, TEXTS, Type
from seine.frontends.sql.block_plan import recorded
from seine.frontends.sql.read_frames import Bind, BindAggregate, SortKey, read_framed
from seine.frontends.sql.scope import Context
from seine.frontends.sql.window_pairs import is_pair

_PLACEHOLDER = "over "


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
