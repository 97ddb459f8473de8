"""Windows as values: pairs of a start and an end, whose parts are read as `window.start` and `window.end`.

A pair is one column only where it is shown; beneath an outer query it is two columns, so that the outer query
reads, compares and groups by plain times.

    SELECT t.w.start FROM (SELECT window(ts, 10) AS w, COUNT(*) AS n FROM bid GROUP BY window(ts, 10)) t
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seine.algebra.event_windows import PAIRS
from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.plan import Distinct, Plan, Project
from seine.algebra.types import JSON
from seine.frontends.sql.scope import NamedExpression

PARTS = ("start", "end")


def is_pair(expression: Expression) -> bool:
    """Whether an expression is a window, of which there are two parts."""
    return isinstance(expression, Call) and expression.name in PAIRS


def part_of(pair: Expression, name: str) -> Expression | None:
    """The part of a window with a name; None if it has none of this name."""
    if name not in PARTS or not isinstance(pair, Call) or not is_pair(pair):
        return None
    return pair.args[PARTS.index(name)]


def pairs_apart(plan: Plan) -> tuple[Plan, list[tuple[str, str | None]] | None]:
    """A plan with two columns for each window among its outputs, and of each output its name and, if it is a
    window, the name of its kind; None if there are no windows.
    """
    if not isinstance(plan, Project) or not any(map(is_pair, plan.expressions)):
        return plan, None
    values: list[Expression] = []
    columns: list[str] = []
    names: list[tuple[str, str | None]] = []
    for name, value in zip(plan.names, plan.expressions, strict=True):
        if isinstance(value, Call) and is_pair(value):
            values += value.args
            columns += [f"{name}.{part}" for part in PARTS]
            names.append((name, value.name))
        else:
            values.append(value)
            columns.append(name)
            names.append((name, None))
    return replace(plan, expressions=tuple(values), names=tuple(columns)), names


def distinct_rows(plan: Plan) -> Plan:
    """The distinct rows of a plan; windows are put together above, so that times tell rows apart."""
    apart, names = pairs_apart(plan)
    distinct = Distinct(apart)
    if names is None:
        return distinct
    columns = [NamedExpression(field.name, Column(i, field.type)) for i, field in enumerate(distinct.schema)]
    outputs = joined_pairs(names, columns)
    return Project(
        distinct, tuple(output.value for output in outputs), tuple(output.name for output in outputs)
    )


def joined_pairs(
    names: Sequence[tuple[str, str | None]], columns: Sequence[NamedExpression]
) -> list[NamedExpression]:
    """The outputs of a plan that `pairs_apart` took apart."""
    parts = iter(columns)
    outputs = []
    for name, kind in names:
        first = next(parts).value
        value = first if kind is None else Call(kind, (first, next(parts).value), JSON)
        outputs.append(NamedExpression(name, value))
    return outputs
