"""The expression binder: SQL syntax trees to typed expressions of the algebra, names resolved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from seine.algebra.event_windows import PAIRS
from seine.algebra.expressions import Column, Expression, Literal
from seine.algebra.functions import (
    TypeMismatch,
    is_aggregate,
    literal,
    resolve_aggregate,
    resolve_call,
    resolve_cast,
)
from seine.algebra.functions.aggregate_calls import COMPOSED, ORDERED
from seine.algebra.functions.function_hints import left_out
from seine.algebra.functions.window_functions import WINDOW_FUNCTIONS
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BOOLEAN, NULL, TEXTS
from seine.frontends.sql.composed_aggregates import composed_aggregate, ordered_call, ordered_result
from seine.frontends.sql.grouping_sets import GROUPING, GROUPING_ID, grouping_call
from seine.frontends.sql.over_calls import OverCalls
from seine.frontends.sql.plain_spellings import refuse_other_order
from seine.frontends.sql.scope import PARTS, Context, FromBlock, is_pair, key_of, part_of, resolve_column
from seine.frontends.sql.values import (
    array_item,
    cast_type,
    constant_cast,
    interval,
    is_call,
    is_split,
    json_field,
    number,
    split_index,
    to_json,
    value_at_path,
)
from seine.frontends.text.lexer import string_value

_WITH_UNIT = ("timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff")
_BARE_FUNCTIONS = ("current_date", "current_timestamp", "localtimestamp")
_LAMBDA_HINT = "array_contains, array_remove, array_except, regexp_replace; or your own function, by --udf"
_MEANINGS = {
    "lambda": ("a function as an argument", _LAMBDA_HINT),
    "kwarg": ("an argument by its name", "give arguments by their places"),
    "attimezone": ("AT TIME ZONE", "from_utc_timestamp(ts, 'Europe/Berlin') has what clocks there show"),
    "order": ("ORDER BY within an aggregate", "first, last and listagg go by event time; min_by(x, y) by y"),
    "hexstring": ("a text of bytes", "write the text in quotes, or compare hex(text) = '4142'"),
    "array": ("ARRAY[...]", "array('a', 'b')"),
}
OF_GROUPS = (
    "group in a sub-query in FROM, and ask in WHERE around it: "
    "FROM (SELECT k, MAX(x) AS m ... GROUP BY k) WHERE m IN (SELECT ...)"
)


@dataclass
class AggregateCalls:
    """The distinct aggregate calls of a block; each is a virtual column behind the columns of the block."""

    width: int
    calls: list[AggregateCall] = field(default_factory=list)

    def column(self, call: AggregateCall) -> Column:
        """The virtual column of a call, added if it is new."""
        if call not in self.calls:
            self.calls.append(call)
        return Column(self.width + self.calls.index(call), call.type)


@dataclass
class ExpressionBinder:
    """Binds the expressions of one clause over one block; `clause` names it in errors.

    Without `aggregates` an aggregate call is refused. Outside of aggregates, `aliases` are output
    names that take precedence over input columns, and `earlier` are outputs to the left, to which a
    name resolves if no input column has it. `places` has the node where each input column is first read.
    `over` takes the window functions; without it they are refused.
    """

    context: Context
    block: FromBlock
    clause: str
    aggregates: AggregateCalls | None = None
    aliases: dict[str, Expression] = field(default_factory=dict)
    places: dict[int, exp.Expr] = field(default_factory=dict)
    earlier: dict[str, Expression] = field(default_factory=dict)
    over: OverCalls | None = None
    _within_aggregate: bool = False

    def bind(self, node: exp.Expr) -> Expression:
        """The typed expression of a syntax node; every error carries its position."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise self.context.error(node, *unbound_refusal(node, self.clause))
        try:
            return handler(self, node)
        except TypeMismatch as refusal:
            raise self.context.error(node, refusal.message, refusal.hint) from None

    def condition(self, node: exp.Expr, what: str) -> Expression:
        """The bound condition of a node, which must be BOOLEAN; `what` names it in the error."""
        value = self.bind(node)
        if value.type == NULL:
            return resolve_cast(value, BOOLEAN)
        if value.type != BOOLEAN:
            hint = "compare it with something, e.g. ... > 0"
            raise self.context.error(node, f"{what} needs a condition, not {value.type}", hint)
        return value

    def column(self, node: exp.Column) -> Expression:
        """The expression that a column reference resolves to."""
        if isinstance(node.this, exp.Star):
            raise self.context.error(node, "* stands for columns only in a SELECT list and in COUNT(*)")
        if node.args.get("table") is None:
            named = self._unqualified(key_of(node.this))
            if named is not None:
                return named
        elif (part := self._part(node)) is not None:
            return part
        value = resolve_column(node, self.block, self.context)
        if isinstance(value, Column) and not self._within_aggregate:
            self.places.setdefault(value.index, node)
        return value

    def _unqualified(self, name: str) -> Expression | None:
        """What a name resolves to if not to an input column: an output, or a function without arguments."""
        if not self._within_aggregate and name in self.aliases:
            return self.aliases[name]
        if self.block.find(name):
            return None
        if not self._within_aggregate and name in self.earlier:
            return self.earlier[name]
        return resolve_call(name, []) if name in _BARE_FUNCTIONS else None

    def _part(self, node: exp.Column) -> Expression | None:
        """The start or end of a window, as `w.start` or, with the alias of a sub-query, `t.w.start`."""
        alias, name = node.args.get("db"), key_of(node.args["table"])
        if alias is None and self.block.item(name) is not None:
            return None
        if alias is not None:
            item = self.block.item(key_of(alias))
            windows = [column.value for column in item.columns if column.name == name] if item else []
        else:
            named = self._unqualified(name)
            windows = [column.value for column in self.block.find(name)] if named is None else [named]
        return part_of(windows[0], key_of(node.this)) if len(windows) == 1 else None

    def call(self, node: exp.Anonymous) -> Expression:
        """The bound call of a function or an aggregate."""
        if is_aggregate(node.name):
            return self._aggregate(node, None)
        if is_call(node, "element_at", "try_element_at") and is_split(node.expressions[0]):
            parts = [*node.expressions[0].expressions, *node.expressions[1:]]
            return resolve_call("split_item", [self.bind(part) for part in parts])
        if is_call(node, "to_json"):
            return to_json(node, self.bind, self.context)
        if is_call(node, "from_json"):
            return json_field(node, self.bind, self.context)
        if is_call(node, "split_index"):
            return split_index(node, self.bind, self.context)
        name, args = node.name.lower(), self._arguments(node)
        if name in WINDOW_FUNCTIONS:
            return WINDOW_FUNCTIONS[name](args)
        if self.aggregates is not None and name in (GROUPING, GROUPING_ID):
            return grouping_call(name, args)
        if name in ("ltrim", "rtrim"):  # Spark's take first what to trim, unlike btrim
            args.reverse()
        return resolve_call(name, args)

    def _arguments(self, node: exp.Anonymous) -> list[Expression]:
        """The bound arguments of a call; a unit of time may stand first without quotes."""
        nodes = node.expressions
        if node.name.lower() not in _WITH_UNIT or len(nodes) != 3 or not isinstance(nodes[0], exp.Column):
            return [self.bind(arg) for arg in nodes]
        return [literal(nodes[0].name), *(self.bind(arg) for arg in nodes[1:])]

    def windowed(self, node: exp.Window) -> Expression:
        """What stands for a window function, f(...) OVER (...)."""
        if self.over is None or self._within_aggregate:
            where = "an aggregate" if self._within_aggregate else self.clause
            message = f"a window function is not allowed in {where}"
            raise self.context.error(node, message, "use QUALIFY, or a sub-query in FROM")
        return self.over.bind(node, self.bind, self._aggregate_call, self.context)

    def filtered(self, node: exp.Filter) -> Expression:
        """f(x) FILTER (WHERE p) is f(CASE WHEN p THEN x END), as aggregates pass over NULL."""
        if not isinstance(node.this, exp.Anonymous) or not is_aggregate(node.this.name):
            raise self.context.error(node, "FILTER belongs to an aggregate")
        return self._aggregate(node.this, node.expression.this)

    def within_group(self, node: exp.WithinGroup) -> Expression:
        """PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x); from the greatest on, it is that of 1 - p."""
        call, order = node.this, node.expression.expressions
        if not is_call(call, "percentile_cont", "percentile_disc") or len(order) != 1:
            hint = "percentile_cont(0.5) WITHIN GROUP (ORDER BY x); listagg goes by event time"
            raise self.context.error(
                node, "WITHIN GROUP belongs to percentile_cont and percentile_disc", hint
            )
        if order[0].args.get("desc"):
            raise self.context.error(order[0], "the order of WITHIN GROUP is ascending", "take 1 - p")
        return self._aggregate(
            exp.Anonymous(this=call.name, expressions=[order[0].this, *call.expressions]), None
        )

    def _aggregate(self, node: exp.Anonymous, where: exp.Expr | None) -> Expression:
        if self._within_aggregate:
            raise self.context.error(node, "an aggregate cannot hold another", "use a sub-query in FROM")
        if self.aggregates is None:
            hint = "use HAVING" if self.clause == "WHERE" else "aggregates belong to SELECT and HAVING"
            raise self.context.error(node, f"{node.name.upper()} is not allowed in {self.clause}", hint)
        self._within_aggregate = True
        try:
            if node.name.lower() in ORDERED:
                return self._ordered(node, where, self.aggregates)
            if node.name.lower() in COMPOSED:
                args, distinct = self._aggregate_arguments(node, where)
                return composed_aggregate(node.name.lower(), args, distinct, self.aggregates.column)
            return self.aggregates.column(self._aggregate_call(node, where))
        finally:
            self._within_aggregate = False

    def _ordered(self, node: exp.Anonymous, where: exp.Expr | None, aggregates: AggregateCalls) -> Expression:
        """An aggregate that goes by event time."""
        name, (nodes, distinct) = node.name.lower(), _arguments_of(node)
        if not nodes:
            raise self.context.error(node, f"{node.name.upper()} needs an argument")
        args = [self.bind(arg) for arg in nodes]
        condition = None if where is None else self.condition(where, "FILTER")
        made = aggregates.column(ordered_call(name, args, distinct, condition, self.block))
        return ordered_result(name, args, made)

    def _aggregate_call(self, node: exp.Anonymous, where: exp.Expr | None) -> AggregateCall:
        args, distinct = self._aggregate_arguments(node, where)
        return resolve_aggregate(node.name.lower(), args, distinct)

    def _aggregate_arguments(
        self, node: exp.Anonymous, where: exp.Expr | None
    ) -> tuple[list[Expression], bool]:
        nodes, distinct = _arguments_of(node)
        counts_rows = len(nodes) == 1 and isinstance(nodes[0], exp.Star) and node.name.lower() == "count"
        if not nodes:
            raise self.context.error(node, f"{node.name.upper()} needs an argument")
        args = [] if counts_rows else [self.bind(arg) for arg in nodes]
        if any(arg.type == TEXTS for arg in args):
            raise self.context.error(node, "an aggregate takes no array", "e.g. MAX(array_join(array, ','))")
        if where is not None:
            condition = self.condition(where, "FILTER")
            first, *others = args or [literal(1)]  # a row with a NULL in one of them is left out
            args = [resolve_call("case", [condition, first]), *others]
        return args, distinct


def _arguments_of(node: exp.Anonymous) -> tuple[list[exp.Expr], bool]:
    """The arguments of an aggregate, and whether DISTINCT stands before them."""
    nodes = node.expressions
    if len(nodes) == 1 and isinstance(nodes[0], exp.Distinct):
        return nodes[0].expressions, True
    return nodes, False


def _field(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    """window(ts, 10).start, or a field of from_json(...)."""
    window = binder.bind(node.this) if is_call(node.this, *PAIRS) else None
    part = None if window is None else part_of(window, node.expression.name.lower())
    return part or json_field(node, binder.bind, binder.context)


def _sub_query(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    """A sub-query that is a value, which has been joined."""
    value = binder.context.values.get(id(node))
    if value is None:
        raise binder.context.error(node, *unbound_refusal(node, binder.clause))
    return value


Handler = Callable[[ExpressionBinder, exp.Expr], Expression]  # binds nodes of one class


def _binary(name: str) -> Handler:
    return lambda binder, node: resolve_call(name, [binder.bind(node.this), binder.bind(node.expression)])


def _comparison(name: str) -> Handler:
    def bind(binder: ExpressionBinder, node: exp.Expr) -> Expression:
        left, right = binder.bind(node.this), binder.bind(node.expression)
        refuse_other_order(node, left, right)
        return resolve_call(name, [left, right])

    return bind


def _equal(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    """Equality; two windows are equal if their starts and their ends are."""
    left, right = binder.bind(node.this), binder.bind(node.expression)
    if is_pair(left) and is_pair(right):
        parts = [(part_of(left, name), part_of(right, name)) for name in PARTS]
        return resolve_call("and", [resolve_call("eq", [a, b]) for a, b in parts if a and b])
    return resolve_call("eq", [left, right])


def _logic(name: str) -> Handler:
    """AND and OR of any number of operands, without recursion along the chain."""

    def handle(binder: ExpressionBinder, node: exp.Expr) -> Expression:
        operands = [binder.condition(operand, name.upper()) for operand in node.flatten()]
        return resolve_call(name, operands)

    return handle


def _negate(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    """A minus before a number is part of it, or the least BIGINT could not be written."""
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return number("-" + node.this.name)
    return resolve_call("neg", [binder.bind(node.this)])


def _is(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    value = binder.bind(node.this)
    if isinstance(node.expression, exp.Null):
        return resolve_call("is_null", [value])
    if isinstance(node.expression, exp.Boolean):
        return resolve_call("eq_null_safe", [value, literal(node.expression.this)])
    raise binder.context.error(node, "IS takes NULL, TRUE or FALSE")


def _in(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    if not node.expressions:
        refused = node.args.get("query") or node
        hint = "an IN with a sub-query stands in WHERE; beneath groups with OR, in a sub-query in FROM"
        message = "IN takes a list of values here"
        raise binder.context.error(refused, message, OF_GROUPS if binder.clause == "HAVING" else hint)
    return resolve_call("in", [binder.bind(node.this), *(binder.bind(value) for value in node.expressions)])


def _between(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    parts = (node.this, node.args["low"], node.args["high"])
    return resolve_call("between", [binder.bind(part) for part in parts])


def _like(binder: ExpressionBinder, node: exp.Expr, *escape: exp.Expr) -> Expression:
    """LIKE or ILIKE; the parser notes a NOT before it on the node itself."""
    name = "like" if isinstance(node, exp.Like) else "ilike"
    test = resolve_call(name, [binder.bind(part) for part in (node.this, node.expression, *escape)])
    return resolve_call("not", [test]) if node.args.get("negate") else test


def _escape(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    like = node.this
    if not isinstance(like, exp.Like | exp.ILike):
        raise binder.context.error(node, "ESCAPE belongs to LIKE")
    return _like(binder, like, node.expression)


def _case(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    operand = binder.bind(node.this) if node.this is not None else None
    args: list[Expression] = []
    for branch in node.args["ifs"]:
        if operand is None:
            args.append(binder.condition(branch.this, "WHEN"))
        else:
            args.append(resolve_call("eq", [operand, binder.bind(branch.this)]))
        args.append(binder.bind(branch.args["true"]))
    if node.args.get("default") is not None:
        args.append(binder.bind(node.args["default"]))
    return resolve_call("case", args)


def _if(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    branches = (node.args.get("true"), node.args.get("false"))
    return resolve_call(
        "case", [binder.condition(node.this, "IF"), *(binder.bind(b) for b in branches if b is not None)]
    )


def _cast(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    return constant_cast(binder.bind(node.this), cast_type(node.args["to"], binder.context, node))


def _extract(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    return resolve_call("extract", [literal(node.this.name.lower()), binder.bind(node.expression)])


def _trim(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    names = {"LEADING": "ltrim", "TRAILING": "rtrim"}
    name = names.get(str(node.args.get("position") or "").upper(), "trim")
    parts = [part for part in (node.this, node.expression) if part is not None]
    return resolve_call(name, [binder.bind(part) for part in parts])


def _position(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    parts = [node.args["substr"], node.this, node.args.get("position")]
    return resolve_call("locate", [binder.bind(part) for part in parts if part is not None])


def _substring(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    parts = [node.this, node.args.get("start"), node.args.get("length")]
    bound = [binder.bind(part) for part in parts if part is not None]
    match bound:
        case (_, Literal(str(pattern)), *_) if not pattern.strip("+- ").isdigit():
            raise TypeMismatch("the start of substring is a number", hint="regexp_extract(text, pattern, 1)")
    return resolve_call("substring", bound)


def _literal(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    if not node.is_string:
        return number(node.name)
    written = binder.context.text(node)
    return literal(string_value(written) if written.startswith("'") else node.name)


def _strings(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    """'a' 'b' side by side, which the parser reads as one concatenation."""
    return resolve_call("concat", [binder.bind(part) for part in node.expressions])


_HANDLERS: dict[type, Handler] = {
    exp.Column: ExpressionBinder.column,  # type: ignore[dict-item]
    exp.Anonymous: ExpressionBinder.call,  # type: ignore[dict-item]
    exp.Window: ExpressionBinder.windowed,  # type: ignore[dict-item]
    exp.Filter: ExpressionBinder.filtered,  # type: ignore[dict-item]
    exp.WithinGroup: ExpressionBinder.within_group,  # type: ignore[dict-item]
    exp.Literal: _literal,
    exp.RawString: lambda binder, node: literal(node.name),
    exp.Boolean: lambda binder, node: literal(node.this),
    exp.Null: lambda binder, node: Literal(None, NULL),
    exp.Subquery: _sub_query,
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.Interval: lambda binder, node: interval(node, binder.context),  # type: ignore[arg-type]
    exp.Neg: _negate,
    exp.Not: lambda binder, node: resolve_call("not", [binder.condition(node.this, "NOT")]),
    exp.Bracket: lambda binder, node: array_item(node, binder.bind, binder.context),
    exp.Dot: _field,
    exp.JSONExtract: lambda binder, node: value_at_path(node, binder.bind, binder.context),
    exp.JSONExtractScalar: lambda binder, node: value_at_path(node, binder.bind, binder.context),
    exp.BitwiseNot: lambda binder, node: resolve_call("bitwise_not", [binder.bind(node.this)]),
    exp.And: _logic("and"),
    exp.Or: _logic("or"),
    exp.NullSafeEQ: _binary("eq_null_safe"),
    exp.NullSafeNEQ: lambda binder, node: resolve_call("not", [_binary("eq_null_safe")(binder, node)]),
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Extract: _extract,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Substring: _substring,
    exp.Concat: _strings,
    exp.EQ: _equal,
    exp.NEQ: _comparison("ne"),
    exp.LT: _comparison("lt"),
    exp.LTE: _comparison("le"),
    exp.GT: _comparison("gt"),
    exp.GTE: _comparison("ge"),
    **{
        cls: _binary(name)
        for cls, name in {
            exp.Add: "add",
            exp.Sub: "sub",
            exp.Mul: "mul",
            exp.Div: "div",
            exp.IntDiv: "int_div",
            exp.Mod: "mod",
            exp.DPipe: "concat",
            exp.RegexpLike: "rlike",
            exp.BitwiseAnd: "bitwise_and",
            exp.BitwiseOr: "bitwise_or",
            exp.BitwiseXor: "bitwise_xor",
            exp.BitwiseLeftShift: "shiftleft",
            exp.BitwiseRightShift: "shiftright",
        }.items()
    },
}


def unbound_refusal(node: exp.Expr, clause: str) -> tuple[str, str]:
    """The message and hint for a node that cannot be bound in a clause."""
    if isinstance(node, exp.Query | exp.Exists):
        hint = "EXISTS and IN stand in WHERE, joined by AND; with OR, in a sub-query in FROM beneath groups"
        return "a sub-query is not supported here", OF_GROUPS if clause == "HAVING" else hint
    if isinstance(node, exp.Star):
        return "* stands for columns only in a SELECT list and in COUNT(*)", "name the columns"
    group = left_out(node.key)
    if group is not None:
        return f"{node.key} is refused: {group.reason}", group.hint
    if isinstance(node, exp.Any | exp.All):
        hint = "x > ALL (SELECT y ...), of one column; of values x IN (1, 2), a LIKE '%x' OR a LIKE '%y'"
        return f"{node.key.upper()} of a sub-query or of values is not supported here", hint
    if node.key in _MEANINGS:
        what, hint = _MEANINGS[node.key]
        return f"{what} is not supported", hint
    if isinstance(node, exp.Func):
        return f"{node.key} is not supported", "results depend on event times alone, and types are scalar"
    return f"this expression ({node.key}) is not supported", "docs/language.md#select lists what is"
