"""Aggregates that are made of others: CORR, REGR_SLOPE and their like, of exact sums over pairs.

CORR(x, y) = COVAR_POP(x, y) / (STDDEV_POP(x) * STDDEV_POP(y)), over the rows in which neither is NULL
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from seine.algebra.expressions import Expression
from seine.algebra.functions import TypeMismatch, literal, resolve_aggregate, resolve_call
from seine.algebra.functions.aggregate_calls import COMPOSED
from seine.algebra.plan import AggregateCall

Column = Callable[[AggregateCall], Expression]  # the column of a call


def composed_aggregate(name: str, args: Sequence[Expression], distinct: bool, column: Column) -> Expression:
    """The value of such an aggregate, over the columns of the calls that it needs."""
    if len(args) != 2:
        raise TypeMismatch(f"{name} takes two numbers", hint=f"{name.upper()}(y, x)")
    if distinct:
        raise TypeMismatch(f"{name} of DISTINCT values is not there", hint="use a sub-query with DISTINCT")
    return _Pairs(args[0], args[1], column).value(name)


class _Pairs:
    """Pairs of a dependent and an independent value, those with a NULL left out."""

    def __init__(self, y: Expression, x: Expression, column: Column) -> None:
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
        assert set(makers) == set(COMPOSED)
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
