"""Aggregates that are made of others: CORR, REGR_SLOPE and the like of sums, FIRST and LISTAGG of keys.

CORR(x, y) = COVAR_POP(x, y) / (STDDEV_POP(x) * STDDEV_POP(y)), over the rows in which neither is NULL

By order: FIRST, LAST, COLLECT_LIST, COLLECT_SET and LISTAGG by event time, MIN_BY and MAX_BY.

Law: rows are in the order of their event time (of a combination, its latest), then of their columns from
left to right, NULLs first; so an answer depends on which rows there are and not on how they came. FIRST(x) is
the x of the least order key: MIN over texts `key|x`, of which the x is taken out above. MIN_BY(x, y) puts y
before all that; of equal ones the first in time is the least.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.functions import TypeMismatch, literal, resolve_aggregate, resolve_call, resolve_cast
from seine.algebra.plan import AggregateCall, Lookup, Scan
from seine.algebra.types import JSON, STRING, TEXTS, Kind
from seine.frontends.sql.scope import FromBlock

ColumnOfCall = Callable[[AggregateCall], Expression]  # the column of a call
_FIRST = ("first", "first_value", "any_value", "min_by")
_BY_VALUE = ("min_by", "max_by")
_LAST = ("last", "last_value")
_JOINED = ("listagg", "string_agg")
_LISTS = {
    **dict.fromkeys(("collect_list", "array_agg", *_JOINED), "collect_list"),
    "collect_set": "collect_set",
}


def composed_aggregate(
    name: str, args: Sequence[Expression], distinct: bool, column: ColumnOfCall
) -> Expression:
    """The value of such an aggregate, over the columns of the calls that it needs."""
    if len(args) != 2:
        raise TypeMismatch(f"{name} takes two numbers", hint=f"{name.upper()}(y, x)")
    if distinct:
        raise TypeMismatch(f"{name} of DISTINCT values is not there", hint="use a sub-query with DISTINCT")
    return _Pairs(args[0], args[1], column).value(name)


class _Pairs:
    """Pairs of a dependent and an independent value, those with a NULL left out."""

    def __init__(self, y: Expression, x: Expression, column: ColumnOfCall) -> None:
        self._column = column
        self._pair = (y, x)
        self._y = resolve_call("case", [resolve_call("is_not_null", [x]), y])
        self._x = resolve_call("case", [resolve_call("is_not_null", [y]), x])

    def value(self, name: str) -> Expression:
        """The value of an aggregate by its name."""
        makers: dict[str, Callable[[], Expression]] = {
            "corr": self._correlation,
            "regr_count": partial(self._of, "count", *self._pair),
            "regr_avgx": partial(self._of, "avg", self._x),
            "regr_avgy": partial(self._of, "avg", self._y),
            "regr_sxx": partial(self._times_count, "var_pop", self._x),
            "regr_syy": partial(self._times_count, "var_pop", self._y),
            "regr_sxy": partial(self._times_count, "covar_pop", *self._pair),
            "regr_slope": self._slope,
            "regr_intercept": self._intercept,
            "regr_r2": self._determination,
        }
        return makers[name]()

    def _of(self, name: str, *args: Expression) -> Expression:
        return self._column(resolve_aggregate(name, args, False))

    def _times_count(self, name: str, *args: Expression) -> Expression:
        return resolve_call("mul", [self._of("count", *self._pair), self._of(name, *args)])

    def _correlation(self) -> Expression:
        spread = resolve_call("mul", [self._of("stddev_pop", self._x), self._of("stddev_pop", self._y)])
        return resolve_call("div", [self._of("covar_pop", *self._pair), spread])

    def _slope(self) -> Expression:
        return resolve_call("div", [self._of("covar_pop", *self._pair), self._of("var_pop", self._x)])

    def _intercept(self) -> Expression:
        along = resolve_call("mul", [self._slope(), self._of("avg", self._x)])
        return resolve_call("sub", [self._of("avg", self._y), along])

    def _determination(self) -> Expression:
        """The share of the variance of y that x explains: 1 of an y that never changes, NULL of such an x."""
        flat_x = resolve_call("eq", [self._of("var_pop", self._x), literal(0)])
        flat_y = resolve_call("eq", [self._of("var_pop", self._y), literal(0)])
        squared = resolve_call("mul", [self._correlation(), self._correlation()])
        return resolve_call("case", [flat_x, literal(None), flat_y, literal(1.0), squared])


def ordered_call(
    name: str, args: Sequence[Expression], distinct: bool, where: Expression | None, block: FromBlock
) -> AggregateCall:
    """The call that an ordered aggregate is made of; `ordered_result` makes its value of that."""
    value, ignores_nulls = _arguments(name, args)
    by = [args[1]] if name in _BY_VALUE else []
    if distinct and name not in _LISTS:
        raise TypeMismatch(f"{name} of DISTINCT values is the same without DISTINCT", hint="leave it out")
    packed = resolve_call(
        "concat", [_order_key(name, by, block), literal("|"), _written(value, name in _LISTS)]
    )
    conditions = [] if where is None else [where]
    if name in _LISTS or ignores_nulls:
        conditions.append(resolve_call("is_not_null", [value]))
    conditions += [resolve_call("is_not_null", [one]) for one in by]
    for condition in conditions:
        packed = resolve_call("case", [condition, packed])
    if name not in _LISTS:
        return resolve_aggregate("min" if name in _FIRST else "max", [packed], False)
    made = "collect_set" if distinct else _LISTS[name]
    quoted = value.type.is_text or value.type.is_temporal
    return AggregateCall(f"{made}_of_texts" if quoted else made, (packed,), JSON)


def ordered_result(name: str, args: Sequence[Expression], made: Expression) -> Expression:
    """The value of an ordered aggregate, given the result of its call."""
    if name in _JOINED:
        separator = literal("")  # also for NULL
        if len(args) == 2 and isinstance(args[1], Literal) and args[1].value is not None:
            separator = args[1]
        return resolve_call("array_join", [Call("json_field", (made,), TEXTS), separator])
    if name in _LISTS:
        return Call("coalesce", (made, Literal("[]", JSON)), JSON)
    start = resolve_call("add", [resolve_call("instr", [made, literal("|")]), literal(1)])
    flag = resolve_call("substring", [made, start, literal(1)])
    text = resolve_call("substring", [made, resolve_call("add", [start, literal(1)])])
    type_ = STRING if args[0].type.kind in (Kind.XML, Kind.NULL) else args[0].type
    return resolve_call("case", [resolve_call("eq", [flag, literal("1")]), resolve_cast(text, type_)])


def _arguments(name: str, args: Sequence[Expression]) -> tuple[Expression, bool]:
    """The value, and whether NULLs are passed over."""
    if name in _BY_VALUE:
        if len(args) != 2:
            raise TypeMismatch(f"{name} takes a value and what it goes by", hint=f"{name.upper()}(x, y)")
        return args[0], False
    if name in _JOINED:
        if len(args) > 2 or not all(isinstance(arg, Literal) for arg in args[1:]):
            raise TypeMismatch(
                f"{name} takes a value and a constant separator", hint=f"{name.upper()}(x, ', ')"
            )
        return resolve_cast(args[0], STRING), False
    ignores = args[1] if len(args) == 2 and name not in _LISTS else literal(False)
    if len(args) > 2 or (len(args) == 2 and name in _LISTS) or ignores not in (literal(True), literal(False)):
        raise TypeMismatch(f"{name} takes one value", hint=f"{name.upper()}(x)")
    return args[0], ignores == literal(True)


def _written(value: Expression, for_list: bool) -> Expression:
    """A value as text: 1 and the text, 0 for NULL; in a list, times as records have them."""
    text = resolve_cast(value, STRING)
    if for_list and value.type.kind is Kind.TIMESTAMP:
        text = resolve_call("replace", [text, literal(" "), literal("T")])
        micros = resolve_call("rpad", [text, literal(26), literal("0")])
        whole = resolve_call("contains", [text, literal(".")])
        text = resolve_call("concat", [resolve_call("if", [whole, micros, text]), literal("Z")])
    return resolve_call("coalesce", [resolve_call("concat", [literal("1"), text]), literal("0")])


def _order_key(name: str, by: Sequence[Expression], block: FromBlock) -> Call:
    """The place of a row of a block among others: what it goes by, if anything, its time, its columns."""
    starts = [sum(len(item.schema) for item in block.items[:place]) for place in range(len(block.items))]
    times: list[Expression] = []
    columns: list[Expression] = []
    for item, start in zip(block.items, starts, strict=True):
        if not isinstance(item, Scan | Lookup):
            hint = "use it over streams, or MIN and MAX"
            raise TypeMismatch(f"{name} goes by event time, which only tuples of streams have", hint=hint)
        fields = item.stream.declared if isinstance(item, Scan) else item.schema
        columns += [Column(start + place, field.type) for place, field in enumerate(fields)]
        if isinstance(item, Scan):
            times.append(Column(start + item.stream.time, item.schema[item.stream.time].type))
    if not times:
        raise TypeMismatch(
            f"{name} goes by event time, and there is no stream in FROM", hint="join a stream in FROM"
        )
    latest = reduce(lambda one, other: resolve_call("greatest", [one, other]), times)
    rest = columns if len(times) > 1 else [column for column in columns if column != latest]
    return Call("order_key", (*by, latest, *rest), STRING)
