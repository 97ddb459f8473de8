"""Rule: group rows once where groups of groups say no more than that."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from seine.algebra.event_windows import needs_groups
from seine.algebra.expressions import Column, Expression, substitute
from seine.algebra.plan import Aggregate, AggregateCall, Distinct, Plan, Project, UnionAll
from seine.algebra.types import DOUBLE
from seine.optimizer.traverse import is_punctuated, rebuild, stays_small

_OF_THEMSELVES = ("min", "max", "bool_and", "bool_or")  # functions of all rows from those of groups
_COUNTS = ("count_all", "count")


def merge_groups(plan: Plan) -> Plan:
    """Write functions of finer groups' functions as functions of rows: a sum of counts is a count, the
    greatest of the greatest values the greatest of all, a count of distinct rows one of distinct values.

    Sums of sums stay: where one overflows is another matter than where the other does, and doubles are
    rounded. A sum over no groups is NULL, so a sum of counts needs keys. Streams with punctuations are
    left alone: which groups these close is judged by the groups as they are written.

    before: Aggregate(Aggregate(a, keys [k, d], calls [count, max(v)]), keys [k], calls [sum(#2), max(#3)])
    after:  Aggregate(a, keys [k], calls [count, max(v)])
    """
    return rebuild(plan, _merged)


def _merged(plan: Plan) -> Plan:
    if not isinstance(plan, Aggregate) or not plan.calls:
        return plan
    finer, outputs = _groups_beneath(plan)
    if finer is None or is_punctuated(finer) or any(map(needs_groups, (*plan.keys, *finer.keys))):
        return plan
    keys = [_over_keys(substitute(key, outputs), finer) for key in plan.keys]
    fixed = {key.index for key in (substitute(key, outputs) for key in plan.keys) if isinstance(key, Column)}
    calls = [_of_rows(call, outputs, finer, fixed, bool(keys)) for call in plan.calls]
    merged_keys = tuple(key for key in keys if key is not None)
    merged_calls = tuple(call for call in calls if call is not None)
    if len(merged_keys) < len(keys) or len(merged_calls) < len(calls):
        return plan
    return Aggregate(finer.input, merged_keys, merged_calls, plan.names)


def _groups_beneath(plan: Aggregate) -> tuple[Aggregate | None, Sequence[Expression]]:
    """The groups that others are made of, and what stands for the columns that these read."""
    below = plan.input
    outputs = tuple(Column(place, field.type) for place, field in enumerate(below.schema))
    read: Sequence[Expression] = outputs
    while isinstance(below, Project) and stays_small(read, below.expressions):
        read = [substitute(one, below.expressions) for one in read]
        below = below.input
    if isinstance(below, Distinct) and not _is_union(below.input):
        columns = tuple(Column(place, field.type) for place, field in enumerate(below.schema))
        return Aggregate(below.input, columns, (), tuple(field.name for field in below.schema)), read
    return (below if isinstance(below, Aggregate) and below.keys else None), read


def _is_union(plan: Plan) -> bool:
    while isinstance(plan, Project):
        plan = plan.input
    return isinstance(plan, UnionAll)


def _over_keys(expression: Expression, finer: Aggregate) -> Expression | None:
    """An expression over groups as one over their rows; None if it reads more than keys.

    A function of a DOUBLE may distinguish what one group holds, 0.0 and -0.0: of such a key, only itself.
    """
    read = [finer.keys[place] for place in expression.columns if place < len(finer.keys)]
    if len(read) < len(expression.columns):
        return None
    if not isinstance(expression, Column) and any(key.type == DOUBLE for key in read):
        return None
    return substitute(expression, finer.keys) if stays_small([expression], finer.keys) else None


def _of_rows(
    call: AggregateCall, outputs: Sequence[Expression], finer: Aggregate, fixed: Set[int], keyed: bool
) -> AggregateCall | None:
    """A function of groups as one of their rows; None if it is none.

    `fixed` are the keys of finer groups that are the same throughout a coarser one.
    """
    if call.distinct or call.function in _OF_THEMSELVES:
        args = [_over_keys(substitute(arg, outputs), finer) for arg in call.args]
        known = tuple(arg for arg in args if arg is not None)
        if len(known) == len(args):  # of keys, however often each is there
            return replace(call, args=known)
    value = substitute(call.args[0], outputs) if len(call.args) == 1 else None
    if call.distinct or not isinstance(value, Column):
        return None
    if value.index < len(finer.keys):
        is_once = call.function == "count" and {*range(len(finer.keys))} <= {*fixed, value.index}
        return replace(call, args=(finer.keys[value.index],), distinct=True) if is_once else None
    inner = finer.calls[value.index - len(finer.keys)]
    is_count = keyed and call.function == "sum" and inner.function in _COUNTS and not inner.distinct
    is_same = call.function in _OF_THEMSELVES and call.function == inner.function
    return inner if (is_count or is_same) and call.type == inner.type else None
