"""Binds GROUP BY, aggregates and HAVING: Project(Select(Aggregate(block), having))."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from seine.algebra.event_windows import (
    PAIRS,
    SESSION_START,
    SESSION_WINDOW,
    EventSession,
    needs_groups,
    session_of,
    window_end_of,
    window_of,
    windows_of,
)
from seine.algebra.expressions import Call, Column, Expression, Literal, columns_of, shift_columns, walk
from seine.algebra.functions import is_aggregate, literal, resolve_aggregate, resolve_call
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Join,
    Lookup,
    PartnerLookup,
    Plan,
    Project,
    Scan,
    Select,
    UnionAll,
)
from seine.algebra.plan import walk as walk_plan
from seine.frontends.sql.bind_expressions import AggregateCalls, ExpressionBinder
from seine.frontends.sql.block_plan import block_plan, recorded
from seine.frontends.sql.grouping_sets import (
    GROUPING,
    GROUPING_ID,
    Keys,
    grouping_value,
    has_supergroups,
    read_grouping_sets,
)
from seine.frontends.sql.over_calls import has_placeholder, is_over, without_placeholders
from seine.frontends.sql.scope import SCALARS, Context, FromBlock, NamedExpression, key_of


def is_grouped(select: exp.Select) -> bool:
    """Whether a SELECT has GROUP BY, HAVING or an aggregate among its outputs."""
    if select.args.get("group") or select.args.get("having"):
        return True
    calls = (node for item in select.expressions for node in item.find_all(exp.Anonymous))
    aggregates = (call for call in calls if is_aggregate(call.name) and not is_over(call))
    return any(call.find_ancestor(exp.Query) is select for call in aggregates)


class UngroupedHops(Exception):
    """Rows of HOP whose windows are no keys of groups, by the ids of their calls: they have to be spread."""

    def __init__(self, calls: frozenset[int]) -> None:
        super().__init__(calls)
        self.calls = calls


@dataclass
class GroupedSelect:
    """A SELECT with groups: outputs are bound over the block and its aggregates, then over the groups."""

    select: exp.Select
    block: FromBlock
    context: Context
    scalars: tuple[Plan, ...] = ()  # sub-queries of one row that are joined with the groups

    def __post_init__(self) -> None:
        self.aggregates = AggregateCalls(self.block.width)
        self.binder = ExpressionBinder(self.context, self.block, "SELECT", self.aggregates)
        self.keys: list[Expression] = []  # of the grouping set that is bound
        self.every: list[Expression] = []  # of all grouping sets
        self.windows = self._windows()
        self.binder.earlier.update(self.windows)

    def _windows(self) -> dict[str, Expression]:
        """The windows of GROUP BY by the names that Spark gives them, for outputs such as `window.start`."""
        group = self.select.args.get("group")
        binder = ExpressionBinder(self.context, self.block, "GROUP BY")
        calls = [] if group is None else group.find_all(exp.Anonymous)
        return {call.name.lower(): binder.bind(call) for call in calls if call.name.lower() in PAIRS}

    def plan(
        self, outputs: Sequence[NamedExpression], columns: Sequence[NamedExpression] | None = None
    ) -> Plan:
        """The plan of the SELECT with these outputs, bound over the block and the aggregates.

        With `columns` the plan has these instead, of which the outputs are made.
        """
        sets = self._sets(outputs)
        written = list(dict.fromkeys(key for keys in sets for key in keys))
        self.every = self.keys = _all_parts(written)
        having = self._having(outputs)
        self._refuse_ungrouped_hops(sets)
        self._refuse_windows()
        self._refuse_missing_window(sets)
        shown = outputs if columns is None else columns
        plans = [self._grouped(shown, having, keys) for keys in sets]
        return plans[0] if len(plans) == 1 else UnionAll(tuple(plans))

    def _grouped(self, outputs: Sequence[NamedExpression], having: Expression | None, written: Keys) -> Plan:
        """The groups by one grouping set; keys of the other sets are NULL in it."""
        self.keys = _all_parts(written)
        self._refuse_partition(written)
        values = [self._over_groups(output.value) for output in outputs]
        condition = None if having is None else self._over_groups(having)
        if not self.keys and self.every:
            condition = self._occupied(condition)
        plan: Plan = self._aggregate()
        if self.scalars:
            width = sum(len(scalar.schema) for scalar in self.scalars)
            values = [_beside(value, width) for value in values]
            condition = None if condition is None else _beside(condition, width)
            plan = Join(reduce(Join, self.scalars), plan)
        if condition is not None:
            plan = Select(plan, condition)
        return Project(plan, tuple(values), tuple(output.name for output in outputs))

    def _occupied(self, condition: Expression | None) -> Expression:
        """The condition that there is a row: as in Spark, the total of a ROLLUP of nothing is nothing."""
        rows = self._over_groups(self.aggregates.column(resolve_aggregate("count", [], False)))
        occupied = resolve_call("gt", [rows, literal(0)])
        return occupied if condition is None else resolve_call("and", [condition, occupied])

    def _aggregate(self) -> Aggregate:
        calls = tuple(self.aggregates.calls)
        names = [f"key{i}" for i in range(len(self.keys))] + [f"agg{i}" for i in range(len(calls))]
        source = block_plan(self.block, self.select, self.context)
        return Aggregate(source, tuple(self.keys), calls, tuple(names))

    def _sets(self, outputs: Sequence[NamedExpression]) -> list[Keys]:
        group = self.select.args.get("group")
        if group is None:
            return [()]
        if group.args.get("all"):
            values = without_placeholders(output.value for output in outputs)
            return [tuple(value for value in values if not self._aggregated(value))]
        if not group.expressions:
            raise self.context.error(group, "GROUP BY needs an expression")
        return read_grouping_sets(group, lambda node: self._key(node, outputs), self.context)

    def _refuse_ungrouped_hops(self, sets: list[Keys]) -> None:
        """Raise `UngroupedHops` unless the windows of all rows of HOP are keys of groups and nothing else."""
        plain = [key for key in self.keys if window_of(key) is None]
        args = [arg for call in self.aggregates.calls for arg in call.args]
        inner = [value for item in self.block.items for value in _conditions(item)]
        read = [*self.block.conjuncts, *inner, *plain, *args]
        elsewhere = {*windows_of(part for value in read for part in walk(value))}
        grouped = set.intersection(*({*windows_of(_all_parts(keys))} for keys in sets)) - elsewhere
        hops = [item.hop for item in self.block.visible if item.hop is not None and item.hop[0] is not None]
        kept = [call for window, call in hops if window in grouped][:1]
        loose = frozenset(call for _, call in hops if call not in kept)
        if loose:
            raise UngroupedHops(loose)

    def _refuse_windows(self) -> None:
        """Refuse two windows, and functions of a hopping one as keys or inside calls."""
        group = self.select.args.get("group") or self.select
        sessions = [key for key in self.keys if session_of(key) is not None]
        if len(windows_of(self.keys)) + len(sessions) > 1:
            raise self.context.error(
                group, "GROUP BY takes one window", "join two grouped sub-queries instead"
            )
        plain = [key for key in self.keys if window_of(key) is None and session_of(key) is None]
        args = [arg for call in self.aggregates.calls for arg in call.args]
        refuse_ungrouped_windows([*self.block.conjuncts, *plain, *args], group, self.context)
        for key in sessions:
            self._refuse_session(key, group)

    def _refuse_missing_window(self, sets: list[Keys]) -> None:
        """Refuse a grouping set without the window that others have: its rows would count once a window."""
        for keys in sets:
            if len(windows_of(_all_parts(keys))) < len(windows_of(self.every)):
                hint = "write GROUP BY window(...), ROLLUP (...)"
                group = self.select.args["group"]
                raise self.context.error(group, "the window is not in every grouping set", hint)

    def _refuse_partition(self, written: Sequence[Expression]) -> None:
        """Refuse a SESSION of other keys than the groups have."""
        for key in written:
            session = session_of(key)
            if session is None or session.partition is None:
                continue
            others = {other for other in self.keys if other != session.key}
            if others != {*session.partition}:
                hint = "write PARTITION BY with all keys of GROUP BY but window_start and window_end"
                raise self.context.error(self.select, "SESSION and GROUP BY have other keys", hint)

    def _refuse_session(self, key: Expression, group: exp.Expr) -> None:
        """Refuse sessions of anything but one stream's own time: only its tuples come in the order of it."""
        session, items = session_of(key), self.block.items
        scans = [
            (item, sum(len(one.schema) for one in items[:at]))
            for at, item in enumerate(items)
            if isinstance(item, Scan)
        ]
        if len(scans) == 1 and all(isinstance(item, Scan | Lookup) for item in items):
            scan, first = scans[0]
            times = Column(first + scan.stream.time, scan.schema[scan.stream.time].type)
            if session is not None and session.time == times and not scan.stream.retractable:
                return
        hint = (
            "group one stream that is not RETRACTABLE, perhaps joined with relations, by its timestamp column"
        )
        raise self.context.error(group, "sessions are of the time of one stream", hint)

    def _key(self, node: exp.Expr, outputs: Sequence[NamedExpression]) -> Expression:
        """A grouping key: an ordinal, the alias of an output that is no input column, or an expression."""
        key: Expression | None = None
        if isinstance(node, exp.Literal) and not node.is_string:
            key = self._ordinal(node, outputs)
        elif isinstance(node, exp.Column) and node.args.get("table") is None:
            name = key_of(node.this)
            named = [output.value for output in outputs if output.name == name]
            key = named[0] if named and not self.block.find(name) else None
        if key is None:
            return recorded(ExpressionBinder(self.context, self.block, "GROUP BY").bind(node))
        if self._aggregated(key):
            raise self.context.error(node, "an aggregate cannot be grouped by", "use a sub-query in FROM")
        return key

    def _ordinal(self, node: exp.Literal, outputs: Sequence[NamedExpression]) -> Expression:
        if not node.name.isdigit() or not 1 <= int(node.name) <= len(outputs):
            raise self.context.error(node, f"GROUP BY {node.name}: the SELECT has {len(outputs)} columns")
        return outputs[int(node.name) - 1].value

    def _having(self, outputs: Sequence[NamedExpression]) -> Expression | None:
        having = self.select.args.get("having")
        if having is None:
            return None
        aliases = {output.name: output.value for output in outputs if not has_placeholder(output.value)}
        binder = ExpressionBinder(
            self.context, self.block, "HAVING", self.aggregates, aliases, self.binder.places, {**self.windows}
        )
        return binder.condition(having.this, "HAVING")

    def _aggregated(self, expression: Expression) -> bool:
        return any(index >= self.aggregates.width for index in columns_of(expression))

    def _over_groups(self, expression: Expression) -> Expression:
        """Rewrite an expression over the row of the aggregate, keys and then calls; refuses other columns."""
        if expression in self.keys:
            return Column(self.keys.index(expression), expression.type)
        if expression in self.every:
            return Literal(None, expression.type)
        if isinstance(expression, Call) and expression.name in (GROUPING, GROUPING_ID):
            return self._grouping(expression)
        if isinstance(expression, Column):
            if expression.index >= SCALARS:
                return expression
            if expression.index < self.aggregates.width:
                raise self._ungrouped(expression.index)
            return Column(expression.index - self.aggregates.width + len(self.keys), expression.type)
        session = session_of(expression)
        if isinstance(expression, Call) and session is not None and session.key in self.keys:
            return self._over_groups(self.aggregates.column(_session_bound(expression, session)))
        if isinstance(expression, Call):
            args = tuple(map(self._over_groups, expression.args))
            return Call(expression.name, args, expression.type)
        return expression

    def _grouping(self, call: Call) -> Expression:
        group = self.select.args.get("group")
        if group is None or not has_supergroups(group):
            message = f"{call.name.upper()} needs ROLLUP, CUBE or GROUPING SETS"
            raise self.context.error(group or self.select, message, "without them it is 0")
        if not {*call.args} <= {*self.every}:
            raise self.context.error(group, f"{call.name.upper()} takes keys of GROUP BY")
        return grouping_value(call, self.keys, self.every)

    def _ungrouped(self, index: int) -> Exception:
        node = self.binder.places.get(index, self.select)
        name = node.name if isinstance(node, exp.Column) else "a column"
        hint = f"add {name} to GROUP BY, or aggregate it, e.g. MAX({name})"
        return self.context.error(node, f"{name} is neither grouped nor aggregated", hint)


def _conditions(plan: Plan) -> Iterator[Expression]:
    """What an item that is computed asks and computes, but not the keys of groups in it."""
    for part in walk_plan(plan):
        match part:
            case Select(_, predicate) | PartnerLookup(_, _, predicate):
                yield predicate
            case Project(_, expressions):
                yield from expressions


def _beside(expression: Expression, width: int) -> Expression:
    """An expression over groups that are joined behind the sub-queries, whose rows have this width."""
    return shift_columns(expression, lambda index: index - SCALARS if index >= SCALARS else index + width)


def _parts(key: Expression) -> list[Expression]:
    """The keys that a key stands for: of a window its start and its end, whichever of them is written, or its
    last instant.
    """
    key = window_end_of(key) or key
    session = session_of(key.args[0] if isinstance(key, Call) and key.name == SESSION_WINDOW else key)
    if session is not None:
        return [session.key]
    if isinstance(key, Call) and key.name in PAIRS:
        return list(key.args)
    window = window_of(key)
    return [key] if window is None else [window.start, window.end]


def _all_parts(written: Sequence[Expression]) -> list[Expression]:
    return list(dict.fromkeys(part for key in written for part in _parts(key)))


def _session_bound(bound: Call, session: EventSession) -> AggregateCall:
    """The start or the end of a session as a function of its rows."""
    if bound.name == SESSION_START:
        return resolve_aggregate("min", [session.time], False)
    return resolve_aggregate("max", [resolve_call("add", [session.time, session.gap])], False)


def refuse_ungrouped_windows(values: Sequence[Expression], node: exp.Expr, context: Context) -> None:
    """Refuse a hopping window or a session where a row has one value: there these are not known."""
    if any(map(needs_groups, values)):
        hint = "write GROUP BY window(...), or GROUP BY window_start, window_end of a table function"
        raise context.error(node, "a hopping window or session is a key of groups, and nothing else", hint)
